"""`imprint contract`: the ABI and bytecode, for operators who deploy their own marketplace."""

import json

import click

from imprint.marketplace import artifact


@click.command()
def contract() -> None:
    """Print the contract's ABI and bytecode as JSON."""
    built = artifact()
    click.echo(json.dumps({"abi": built.abi, "bytecode": built.bytecode}))
