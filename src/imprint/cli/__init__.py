"""The command line. The module of a command is imported when the command runs.

`imprint serve` must start fast and without the `dev` extra, so it must not import `cli.dev`.
Listing and completing command names imports no command at all.
"""

from importlib import import_module
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from imprint import __version__

__all__ = ["main"]


class Command(NamedTuple):
    """A command's module and function, and the first sentence of its help."""

    module: str
    function: str
    summary: str


COMMANDS = {
    "adopt": Command("content", "adopt", "Assign the content store to this catalog."),
    "backup": Command("backup", "backup", "Back up all records and documents as of one moment."),
    "check": Command("check", "check", "Check whether the service would run, and what to fix."),
    "completion": Command("completion", "completion", "Print the completion script of a shell."),
    "contract": Command("deploy", "contract", "Print the contract's ABI and bytecode as JSON."),
    "deploy": Command("deploy", "deploy", "Deploy the marketplace or its adapter."),
    "dev": Command("dev", "dev", "Run the service with its own chain, to try it out."),
    "erase": Command("moderate", "erase", "Erase all data about a person or a document."),
    "events": Command("events", "events", "List the outcomes of the chain's events."),
    "export": Command("export", "export", "Write drafts, posts and thumbnails to a CAR file."),
    "export-site": Command("export", "export_site", "Write the public site as static files."),
    "gc": Command("gc", "gc", "Show or delete documents that nothing references."),
    "import": Command("export", "import_", "Import the files of an export."),
    "import-pinata": Command(
        "export", "import_pinata", "Import drafts and posts that InkDAO stored on Pinata."
    ),
    "migrate-catalog": Command(
        "migrate", "migrate_catalog", "Move all records from SQLite to PostgreSQL."
    ),
    "migrate-content": Command(
        "migrate", "migrate_content", "Copy all documents to another content store."
    ),
    "moderate": Command("moderate", "moderate", "Hide posts and authors, and list reports."),
    "reconcile": Command(
        "events", "reconcile", "Read the chain's events again, starting at a block."
    ),
    "repair": Command("repair", "repair", "Report damage, and restore it from a backup."),
    "restore": Command("backup", "restore", "Create a data folder from a backup."),
    "rotate-key": Command(
        "content", "rotate_key", "Wrap the keys of all documents with a new master key."
    ),
    "serve": Command("serve", "serve", "Run the service."),
    "site": Command("dev", "site", "Preview the site that the settings describe."),
    "upgrade": Command(
        "upgrade", "upgrade", "Bring records and documents up to this version's schema."
    ),
    "verify": Command("export", "verify", "Verify an export, or the proof of a post."),
}
"""Every command by name. A summary fits on one line of 80 columns."""


class _Commands(click.Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"imprint.cli.{module}"), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.summary) for name, each in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        named = [
            CompletionItem(name, help=each.summary)
            for name, each in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="imprint")
def main() -> None:
    """Imprint: a publishing service for work that readers own."""
