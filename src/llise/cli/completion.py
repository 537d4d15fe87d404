"""The command ``llise completion``."""

from __future__ import annotations

import click

from llise.cli.options import examples


@click.command(
    epilog=examples('eval "$(llise completion bash)"', "llise completion fish > ~/.config/fish/completions/llise.fish")
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script for completion in your shell."""
    from click.shell_completion import get_completion_class

    completer = get_completion_class(shell)
    assert completer is not None
    commands = click.get_current_context().find_root().command
    click.echo(completer(commands, {}, "llise", "_LLISE_COMPLETE").source())
