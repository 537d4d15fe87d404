"""The program: all commands, and what becomes of errors.

Results go to standard output, everything else to standard error.  Exit status: 0 done, 1 a file or run failed, 2 wrong
usage, 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from llise import __version__
from llise.cli.completion import completion
from llise.cli.demo import demo
from llise.cli.diagnose import diagnose
from llise.cli.distort import distort
from llise.cli.fit import fit
from llise.cli.info import info
from llise.cli.options import examples
from llise.cli.reproduce import reproduce
from llise.cli.running import complain


class Interrupted(Exception):
    """Ctrl-C, as an exception that click passes on."""


class Commands(click.Group):
    """A group that lists its commands in the order in which a new user meets them.

    Examples
    --------
    >>> commands.list_commands(click.Context(commands))[:3]
    ['demo', 'diagnose', 'fit']
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of their registration.

        Parameters
        ----------
        ctx : click.Context
            Not used.

        Returns
        -------
        list of str
            Their names.
        """
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C becomes :class:`Interrupted`.

        Parameters
        ----------
        ctx : click.Context
            Holds the arguments.

        Returns
        -------
        int or None
            The exit status; None for 0.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples("llise demo", "llise diagnose original.png copies/ --html report.html"),
)
@click.version_option(__version__, prog_name="llise", message="%(prog)s %(version)s")
def commands() -> None:
    """See what went wrong with an image, and where.

    llise compares degraded copies with their reference block by block and names the distortion, its severity
    and its place: contrast, Gaussian noise, luminance, blur, impulse noise, JPEG, and mixtures of two.
    """


for _command in (demo, diagnose, fit, distort, info, reproduce, completion):
    commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn every error into an exit status and one line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its arguments; those of the process if left out.

    Examples
    --------
    >>> main(["--version"])  # doctest: +SKIP
    llise 0.1.0
    """
    # SIGTERM ends the program like an error, so that temporary files are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        status = commands.main(arguments, prog_name="llise", standalone_mode=False)
        sys.stdout.flush()
    except (Interrupted, KeyboardInterrupt, click.Abort):
        status = complain("interrupted; no file was left incomplete", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        status = 2
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "llise"
        status = complain(f"{error.format_message()} (see {command} --help)", 2)
    except click.ClickException as error:
        status = complain(error.format_message(), 1)
    except BrokenPipeError:
        # The program that reads our output, such as head, has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except (ValueError, OSError, ImportError) as error:
        _traceback_if_wanted()
        status = complain(str(error) or type(error).__name__, 1)
    except MemoryError:
        status = complain("out of memory; use a smaller image or fewer jobs", 1)
    except Exception as error:
        _traceback_if_wanted()
        status = complain(f"{type(error).__name__}: {error}; set LLISE_TRACEBACK=1 and report what it shows", 1)
    sys.exit(status if isinstance(status, int) else 0)


def _traceback_if_wanted() -> None:
    if os.environ.get("LLISE_TRACEBACK"):
        import traceback

        traceback.print_exc()
