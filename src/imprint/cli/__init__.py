"""The command line; the module of a command is loaded when it is called.

`serve` must start fast and without the development extra, so it never loads what `dev` needs.
"""

from importlib import import_module

import click

from imprint import __version__

__all__ = ["main"]

COMMANDS = {
    "backup": ("backup", "backup"),
    "check": ("check", "check"),
    "contract": ("contract", "contract"),
    "dev": ("dev", "dev"),
    "events": ("events", "events"),
    "export": ("export", "export"),
    "import": ("export", "import_"),
    "migrate-catalog": ("migrate", "migrate_catalog"),
    "migrate-content": ("migrate", "migrate_content"),
    "reconcile": ("reconcile", "reconcile"),
    "restore": ("backup", "restore"),
    "rotate-key": ("rotate_key", "rotate_key"),
    "serve": ("serve", "serve"),
    "verify": ("export", "verify"),
}
"""Commands, each with the module of this package and the function that hold it."""


class _Commands(click.Group):
    """The commands, by the names of their modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"imprint.cli.{module}"), function)
        return command


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="imprint")
def main() -> None:
    """Imprint: a publishing service for work that readers own."""
