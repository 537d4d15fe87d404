"""Faults of no named kind, by families. Each family lies whole on one side of a split: the held-out ones are never
trained on, so that copies of theirs show what the network makes of faults that it has not met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import features

from training import faults_coders as coders
from training import faults_filters as filters
from training import faults_geometry as geometry
from training import faults_noise as noises

Maker = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""Takes a picture, float32 (h, w, 3) from 0 to 255, and returns its faulty copy."""


@dataclass(frozen=True)
class Family:
    name: str
    makers: tuple[Maker, ...]
    held_out: bool = False
    in_colour: bool = False  # changes colours alone, so that a grey picture does not show it


FAMILIES = (
    Family("webp", (coders.webp,)),
    Family("avif", (coders.avif,), held_out=True),
    Family("block_transform", (coders.block_transform,)),
    Family("wavelet_shrinkage", (coders.shrunk_wavelets,)),
    Family("texture_coder", (coders.two_levels, coders.codebook)),
    Family("prediction", (coders.predicted,), held_out=True),
    Family("damaged_data", (coders.damaged_stream, coders.damaged_bytes)),
    Family("white_noise", (noises.white,)),
    Family("correlated_noise", (noises.correlated,)),
    Family("film_grain", (noises.grain,), held_out=True),
    Family("line_noise", (noises.line_noise,)),
    Family("waves", (noises.waves,)),
    Family("moire", (noises.moire,), held_out=True),
    Family("tiled_pattern", (noises.tiled_pattern,)),
    Family("uneven_cells", (noises.uneven_cells,)),
    Family("spots", (noises.spots,)),
    Family("noisy_edges", (noises.noisy_edges,)),
    Family("weather", (noises.rain, noises.snow), held_out=True),
    Family("screen", (noises.scan_lines, noises.screen_dots)),
    Family("halftone", (noises.halftone,), held_out=True),
    Family("vignette", (noises.vignette, noises.shading)),
    Family("shadow", (noises.shadow,)),
    Family("flare", (noises.flare,)),
    Family("haze", (noises.haze,), held_out=True),
    Family("flicker", (noises.flicker,), held_out=True),
    Family("rank", (filters.rank,)),
    Family("edge_preserving", (filters.guided, filters.diffused)),
    Family("painting", (filters.kuwahara, filters.oil)),
    Family("denoising", (filters.bilateral, filters.least_variation)),
    Family("superpixels", (filters.superpixels,), held_out=True),
    Family("relief", (filters.emboss, filters.edges)),
    Family("local_contrast", (filters.local_contrast, filters.equalized_tiles)),
    Family("odd_frequencies", (filters.odd_frequencies,)),
    Family("bent_curve", (filters.bent_curve,), held_out=True),
    Family("threshold", (filters.thrown,)),
    Family("false_colours", (filters.false_colours,), held_out=True, in_colour=True),
    Family("other_colours", (filters.other_colours,), in_colour=True),
    Family("toning", (filters.toned,), in_colour=True),
    Family("warp", (geometry.warped, geometry.swirl)),
    Family("frosted", (geometry.frosted, geometry.edges_jagged)),
    Family("glass_tiles", (geometry.glass_tiles,), held_out=True),
    Family("rows_moved", (geometry.rows_moved,)),
    Family("interlace", (geometry.interlaced,), held_out=True),
    Family("ghost", (geometry.ghost,)),
    Family("shuffled", (geometry.shuffled,)),
    Family("fringes", (geometry.fringes,), in_colour=True),
    Family("colour_mosaic", (geometry.mosaic_of_colours,), held_out=True, in_colour=True),
)


def families(held_out: bool, in_colour: bool = True) -> tuple[Family, ...]:
    """Families of one side of the split that this machine can draw."""
    return tuple(
        family
        for family in FAMILIES
        if family.held_out == held_out
        and (in_colour or not family.in_colour)
        and (family.name != "avif" or features.check("avif"))
    )


def make_unlisted(family: Family, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Copy of a picture of uint8, grey or in colour, with a fault of a family; three in ten are weakened."""
    base = (image if image.ndim == 3 else image[..., None].repeat(3, 2)).astype(np.float32)
    copy = family.makers[int(rng.integers(len(family.makers)))](base, rng)
    if rng.random() < 0.3:
        copy = base + np.float32(rng.uniform(0.3, 0.9)) * (copy - base)
    copy = np.clip(np.rint(copy), 0, 255).astype(np.uint8)
    return copy if image.ndim == 3 else np.ascontiguousarray(copy[..., 1])
