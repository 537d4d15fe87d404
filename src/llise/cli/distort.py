"""The command ``llise distort``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llise.cli.options import FILE, OUTPUT, background_option, examples, kinds_option, quiet_option, seed_option
from llise.cli.running import one_line_warnings, say
from llise.kinds.sources import sources
from llise.labels import COLOR_KINDS, MISALIGNMENT, NAMED_KINDS

if TYPE_CHECKING:
    from llise.picture_files.decoding import Background

FORMATS = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF", ".bmp": "BMP", ".pgm": "PPM", ".ppm": "PPM"}
"""Pillow's name of each lossless format, by the file's suffix."""

TOLERANCE = 0.1
"""Largest deviation from the wanted error, as a share of it."""


def _not_nan(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if value != value:
        raise click.BadParameter("not a number")
    return value


class KindName(click.Choice):
    """One of the built-in kinds, or a kind of one's own that a function makes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a value to the name of a kind."""
        for source in sources():
            if source.name == value:
                if hasattr(source, "function"):
                    return value
                self.fail(f"{value} was taught by examples; only a kind with a function can be made", param, ctx)
        return super().convert(value, param, ctx)


@click.command(
    epilog=examples(
        "llise distort original.png --kind jpeg --mse 300 -o copy.png",
        "llise distort original.png --kind blur --kind gaussian_noise --mse 500 -o copy.png",
        "llise distort original.png --kinds my_kinds.py --kind fog --mse 300 -o copy.png",
        "llise distort original.png --kind saturation --mse 200 -o copy.png",
    )
)
@click.argument("image", type=FILE)
@click.option(
    "--kind",
    "kinds",
    type=KindName((*NAMED_KINDS, MISALIGNMENT, *COLOR_KINDS)),
    multiple=True,
    required=True,
    help="Kind of distortion; repeat the option for a mixture.",
)
@click.option(
    "--mse",
    type=click.FloatRange(0, 255**2, min_open=True),
    callback=_not_nan,
    required=True,
    help="Mean squared error to reach, on the scale 0..255.",
)
@click.option("-o", "--out", type=OUTPUT, required=True, help="The image to write: .png, .tif, .bmp, .pgm or .ppm.")
@background_option
@kinds_option
@seed_option
@quiet_option
def distort(
    image: Path,
    kinds: tuple[str, ...],
    mse: float,
    out: Path,
    background: Background | None,
    kind_files: tuple[Path, ...],
    seed: int,
    quiet: bool,
) -> None:
    """Make a distorted copy with a given error.

    A colour image stays in colour: the error is then the mean over red, green and blue, and kinds that are not of
    colour change the three alike. Several kinds are applied in the order given and share the error between them.
    """
    with one_line_warnings(quiet):
        from llise import datasets
        from llise.images import ImageError, read_image
        from llise.storage.files import atomic_write

        if out.suffix.lower() not in FORMATS:
            raise click.UsageError(f"{out}: this format would change the pixels; use {', '.join(FORMATS)}")
        pixels = read_image(image, color=True, background=background)
        if pixels.ndim == 2 and (of_colour := set(kinds) & set(COLOR_KINDS)):
            raise ImageError(f"{image}: is grey, so {', '.join(sorted(of_colour))} changes nothing; use a colour image")
        copy = datasets.mixture(pixels, kinds, mse, seed, warn=False)[-1]
        if abs(copy.measured - mse) > TOLERANCE * mse:
            raise ImageError(
                f"{image}: the nearest that {' and '.join(kinds)} comes to an MSE of {mse:g} is {copy.measured:.1f}; "
                "ask for that"
            )
        from PIL import Image

        with atomic_write(out) as file:
            Image.fromarray(copy.image).save(file, FORMATS[out.suffix.lower()])
    nearest = "" if copy.reached else f", the nearest to {mse:g}"
    say(f"{out}: {' + '.join(kinds)}, MSE {copy.measured:.1f}{nearest}")
