"""The command line: one module for each command."""

import click

from imprint import __version__
from imprint.cli.contract import contract
from imprint.cli.dev import dev
from imprint.cli.serve import serve

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="imprint")
def main() -> None:
    """Imprint: a publishing service for work that readers own."""


main.add_command(serve)
main.add_command(dev)
main.add_command(contract)
