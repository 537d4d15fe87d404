"""Options that several commands share, and the examples at the end of a help text."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from llise.cli.places import Input, Output

FILE = Input()
"""A file or folder that the command reads; whether it exists is checked when it is read."""

OUTPUT = Output()
"""A file that the command writes.

It is refused before any work if it is one of the files that the command reads, or cannot be written.
"""


def examples(*lines: str) -> str:
    """Write the end of a help text: commands to copy."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _not_zero(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 cores cannot compute anything; use 1 or more, or -1 for all")
    return value


def _registered(context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Register the kinds of the files until the command ends."""
    if not files or context.resilient_parsing:
        return files
    from llise.diagnosis.kind_files import register_file
    from llise.kinds.own import unregister

    for file in files:
        for name in register_file(file):
            context.find_root().call_on_close(partial(unregister, name))  # also where the rest is wrong usage
    return files


def _color(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int, int] | None:
    if value is None:
        return None
    from llise.picture_files.decoding import color_of

    try:
        return color_of(value)
    except ValueError as error:
        raise click.BadParameter(f"is {value!r}; {error}") from None


BACKGROUND = "Lay transparent pixels on this colour, such as white."
background_option = click.option("--background", metavar="COLOR", callback=_color, help=BACKGROUND)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show errors only: no progress, notes or warnings.")
NO_ALIGN = "Judge copies as they lie, also where they are shifted, turned or scaled."
no_align_option = click.option("--no-align", is_flag=True, help=NO_ALIGN)
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed for all random numbers."
)
jobs_option = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(max=1024),
    default=-1,
    show_default=True,
    help="Number of processor cores to use; -1 for all.",
    callback=_not_zero,
)
kinds_option = click.option(
    "--kinds",
    "kind_files",
    type=FILE,
    multiple=True,
    is_eager=True,  # --allow and --kind may name the kinds of these files
    callback=_registered,
    help="Name these kinds too: a .kind file of llise teach, or a Python file, which is run. May be repeated.",
)
scheduler_option = click.option("--scheduler", metavar="ADDRESS", help="Compute on the Dask cluster at this address.")
