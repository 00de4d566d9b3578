"""The command line; the module of a command is imported when the command is called.

`imprint serve` must start fast and without the `dev` extra, so it must not import `cli.dev`.
"""

from importlib import import_module

import click

from imprint import __version__

__all__ = ["main"]

COMMANDS = {
    "adopt": ("adopt", "adopt"),
    "backup": ("backup", "backup"),
    "check": ("check", "check"),
    "contract": ("contract", "contract"),
    "deploy": ("deploy", "deploy"),
    "dev": ("dev", "dev"),
    "events": ("events", "events"),
    "export": ("export", "export"),
    "gc": ("gc", "gc"),
    "import": ("export", "import_"),
    "migrate-catalog": ("migrate", "migrate_catalog"),
    "migrate-content": ("migrate", "migrate_content"),
    "reconcile": ("reconcile", "reconcile"),
    "repair": ("repair", "repair"),
    "restore": ("backup", "restore"),
    "rotate-key": ("rotate_key", "rotate_key"),
    "serve": ("serve", "serve"),
    "verify": ("export", "verify"),
}
"""The module and the function of each command."""


class _Commands(click.Group):
    """A group whose commands are imported on demand."""

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
