"""`imprint completion`: shell completion of commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
"""Shells with a completion script."""

_VARIABLE = "_IMPRINT_COMPLETE"
"""Environment variable with which the scripts request completions. Click derives its name."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash, add to ~/.bashrc: eval "$(imprint completion bash)". For zsh, add to ~/.zshrc:
    eval "$(imprint completion zsh)". For fish, write the script to
    ~/.config/fish/completions/imprint.fish.
    """
    found = get_completion_class(shell)
    if found is None:  # pragma: no cover - click has all of them
        raise click.BadParameter(shell)
    click.echo(found(ctx.find_root().command, {}, "imprint", _VARIABLE).source())
