"""The command ``llise fit``, and fitted diagnosers for the commands that need one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llise.cli.options import (
    FILE,
    OUTPUT,
    examples,
    jobs_option,
    quiet_option,
    scheduler_option,
    seed_option,
)
from llise.cli.running import note, say, session

if TYPE_CHECKING:
    import numpy as np

    from llise.diagnosis import Diagnoser


@click.command(epilog=examples("llise fit original.png -o original.llise"))
@click.argument("reference", type=FILE)
@click.option("-o", "--out", type=OUTPUT, required=True, help="The model file to write.")
@jobs_option
@scheduler_option
@seed_option
@quiet_option
def fit(reference: Path, out: Path, jobs: int, scheduler: str | None, seed: int, quiet: bool) -> None:
    """Learn the manifold of an image and save it.

    REFERENCE is the pristine image. Verdicts need no manifold; it adds the nearest training images of each block
    and the map of whole images to the report. llise diagnose --model reads the file instead of the cache, for
    example on another machine. At 512 x 512 pixels it takes ten to fifteen seconds of processor time.
    """
    with session(quiet, jobs, scheduler):
        from llise.images import check_reference, read_image
        from llise.storage import models

        pixels = read_image(reference)
        check_reference(pixels, name=str(reference))
        models.save(fitted_diagnoser(pixels, seed, quiet, cached=False), out)
    say(f"{out}: model of {reference}, {out.stat().st_size / 1e6:.1f} MB")


def fitted_diagnoser(reference: np.ndarray, seed: int, quiet: bool, cached: bool = True) -> Diagnoser:
    """Learn the manifold of a reference, or take it from the cache.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w) or (h, w, 3)
        The reference.
    seed : int
        Seed for all random numbers.
    quiet : bool
        Show no progress.
    cached : bool
        Read from the cache and write to it.

    Returns
    -------
    Diagnoser
        With the manifold of this reference.

    Examples
    --------
    >>> fitted_diagnoser(reference, seed=0, quiet=True)  # doctest: +SKIP
    """
    from llise.diagnosis import Diagnoser
    from llise.images import as_uint8
    from llise.storage import cache

    settings: dict[str, Any] = {"random_state": seed}
    luma = as_uint8(reference)
    model = cache.lookup(luma, settings) if cached else None
    if model is not None:
        return model.with_colours(reference)
    note("learning the manifold of the reference", quiet)
    diagnoser = Diagnoser(reference, **settings).fit()
    if cached and cache.keep(diagnoser, luma, settings):
        note("the manifold is cached; the next run with this reference does not learn it again", quiet)
    return diagnoser
