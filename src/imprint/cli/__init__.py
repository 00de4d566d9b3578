"""The command line: one module for each command, loaded when it is called.

`serve` must start fast and without the development extra, so it never loads what `dev` needs.
"""

from importlib import import_module
from keyword import iskeyword

import click

from imprint import __version__

__all__ = ["main"]

COMMANDS = (
    "backup",
    "check",
    "contract",
    "dev",
    "events",
    "export",
    "import",
    "migrate-catalog",
    "migrate-content",
    "reconcile",
    "restore",
    "rotate-key",
    "serve",
    "verify",
)
"""The modules of this package that hold a command of the same name."""


class _Commands(click.Group):
    """The commands, by the names of their modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        # A word of Python itself can name neither a module nor a function.
        name = cmd_name.replace("-", "_") + ("_" if iskeyword(cmd_name) else "")
        command: click.Command = getattr(import_module(f"imprint.cli.{name}"), name)
        return command


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="imprint")
def main() -> None:
    """Imprint: a publishing service for work that readers own."""
