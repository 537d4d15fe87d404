"""The program: all commands, and what becomes of errors.

Results go to standard output, everything else to standard error.  Exit status: 0 done, 1 a file or run failed, 2 wrong
usage, 128 and the number of a signal (130 for Ctrl-C) interrupted.  Where standard output cannot be written to its end,
files are still written and the status is 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import llise
from llise.cli import signals, streams
from llise.cli.check import check
from llise.cli.completion import completion
from llise.cli.demo import demo
from llise.cli.diagnose import diagnose
from llise.cli.distort import distort
from llise.cli.embed import embed
from llise.cli.options import examples
from llise.cli.reproduce import reproduce
from llise.cli.running import complain
from llise.cli.serve import serve
from llise.cli.teach import teach

INTERRUPTED = "interrupted; no file was left incomplete"


class Interrupted(Exception):
    """Ctrl-C, as an exception that click passes on."""


class Commands(click.Group):
    """A group that lists its commands in the order in which a new user meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of their registration."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C becomes :class:`Interrupted`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version, which takes longer to look up than all of the commands, only where it is asked for."""
    if wanted and not ctx.resilient_parsing:
        click.echo(f"llise {llise.__version__}")
        ctx.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "llise demo",
        "llise diagnose original.png copies/ --html report.html",
        "llise check original.png copy.png --min-psnr 35",
    ),
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Show the version and exit.",
)  # fmt: skip
def commands() -> None:
    """See what went wrong with an image, and where.

    llise compares degraded copies with their reference block by block and names the distortion, its severity
    and its place: noise, blur, JPEG, contrast, colour, added content and more, up to three in one place.
    """


for _command in (demo, diagnose, check, serve, embed, teach, distort, reproduce, completion):
    commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn every error into an exit status and one line."""
    try:
        status = commands.main(arguments, prog_name="llise", standalone_mode=False)
        sys.stdout.flush()
    except (Interrupted, KeyboardInterrupt, click.Abort):
        status = complain(INTERRUPTED, signals.status())
    except Exception as error:
        # A library that was interrupted while it was imported may turn that into an error of its own.
        status = complain(INTERRUPTED, signals.status()) if signals.received() else _report(error)
    if lost := streams.failure():
        # A program that reads our output and has seen enough, such as head, is no error to speak of.
        if not isinstance(lost, BrokenPipeError):
            complain(f"cannot write standard output: {lost.strerror}; the results there are incomplete")
        status = status or 1
    sys.exit(status if isinstance(status, int) else 0)


def _report(error: Exception) -> int:
    """Print an error as one line; return the exit status."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return 2
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "llise"
        return complain(f"{error.format_message()} (see {command} --help)", 2)
    if isinstance(error, MemoryError):
        return complain("out of memory; use a smaller image or fewer jobs", 1)
    _traceback_if_wanted()
    if isinstance(error, click.ClickException):
        return complain(error.format_message(), error.exit_code)
    if isinstance(error, ValueError | OSError | ImportError):
        return complain(str(error) or type(error).__name__, 1)
    return complain(f"{type(error).__name__}: {error}; set LLISE_TRACEBACK=1 and report what it shows", 1)


def _traceback_if_wanted() -> None:
    if os.environ.get("LLISE_TRACEBACK"):
        import traceback

        traceback.print_exc()
