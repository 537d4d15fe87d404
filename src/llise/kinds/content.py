"""Content: something in the copy that is not in the reference, such as lost blocks, patches, text or dead rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llise.kinds.base import Draw, Kind, Path, drawn
from llise.kinds.content_layers import block_ranks, covered, draw_cover
from llise.kinds.fitting import Fit, in_colour
from llise.kinds.programs import draw_seed


@dataclass(frozen=True)
class ContentSettings:
    """The first `share` of the pixels of the layer that `seed` draws; its seam is blurred by `seam` pixels.

    `coverage` is the share of the pixels that differ then.
    """

    share: float
    seed: int = 0
    seam: float = 0.0
    coverage: float = 0.0

    def words(self) -> dict[str, float]:
        return {"coverage": self.coverage}


class Content(Kind):
    """Blocks at random places are replaced: by black, grey, white, or what stands elsewhere in the image.

    The strength is the share of pixels replaced. At random it is one of lost blocks, a patch, overlaid text, drawn
    shapes, scratches, dead rows or columns, and an erased object (:mod:`llise.kinds.content_layers`); the strength of
    a draw is the root of the share of its pixels that are replaced, since the error grows in proportion to the share.
    Pixels that are not replaced keep their grey level exactly, so that the damaged places are those where the
    copy differs. The parameter of a draw is ``coverage``, the share of pixels that differ.
    """

    name = "content"
    title = "content that is not in the reference"
    short_title = "content"
    strongest = 1.0
    Settings = ContentSettings
    units: ClassVar = {"coverage": (" % of the pixels", 100.0)}
    narrow = ("coverage", "{}% pixels", 100.0)
    letter, page_color = "X", "#661100"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        side = max(8, min(image.shape) // 128 * 8)
        ranks = block_ranks(image.shape, (side, side), rng)
        moved = np.roll(image, (image.shape[0] // 2, image.shape[1] // 3), (0, 1))
        quarter = np.floor(4 * block_ranks(image.shape, (side, side), rng))
        values = np.select([quarter == 0, quarter == 1, quarter == 2], [0.0, 128.0, 255.0], moved).astype(np.float32)
        return _in_order(image, ranks, values)

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        seam = float(rng.uniform(0.5, 3)) if rng.random() < 0.3 else 0.0
        start = ContentSettings(0.0, draw_seed(rng), seam)
        layer = draw_cover(image, np.random.default_rng(start.seed))

        def path(strength: float) -> np.ndarray:
            return covered(image, layer, strength * strength, seam)

        def settings(strength: float) -> ContentSettings:
            differs = (path(strength) != image).reshape(*image.shape[:2], -1).any(axis=2)
            return replace(start, share=strength * strength, coverage=float(differs.mean()))

        return drawn(self, image, settings, 1.0, lambda e: min((e / 9000) ** 0.5, 0.9), path)

    def apply(self, image: np.ndarray, settings: ContentSettings) -> np.ndarray:
        layer = draw_cover(image, np.random.default_rng(settings.seed))
        return covered(image, layer, settings.share, settings.seam)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        from llise.kinds.content_fit import Cover, find_content  # only here: ndimage is slow to import

        before, after = in_colour(reference), in_colour(copy)
        differs = mask & (np.abs(after - before) > 0.5).any(axis=2)
        if not differs.any():
            return None
        grey = not any((image != image[..., :1]).any() for image in (before, after))
        damaged = np.zeros(mask.shape, bool)
        for channel in range(1 if grey else before.shape[2]):
            damaged |= find_content(before[..., channel], after[..., channel], mask)
        cover = Cover.of(before, after, mask, damaged)
        size = max(int(np.count_nonzero(mask)), 1)
        share, most = np.count_nonzero(cover.covered & mask) / size, np.count_nonzero(differs) / size
        if not share:
            return None

        def apply(image: np.ndarray) -> np.ndarray:
            return cover.over(in_colour(image)).reshape(image.shape)

        # A pixel of the cover may have the level that was there; what differs besides may be the edge of the cover.
        return Fit({"coverage": share}, apply, intervals={"coverage": (0.98 * share, max(most, 1.02 * share))})


def _in_order(image: np.ndarray, ranks: np.ndarray, values: np.ndarray) -> Path:
    """Replace pixels in the order of their ranks, and of equal ranks row by row; the last one only in part."""
    order = np.argsort(ranks, axis=None, kind="stable")
    base = image.astype(np.float32)

    def path(strength: float) -> np.ndarray:
        share, count = np.modf(strength * image.size)
        copy = base.copy()
        whole = order[: int(count)]
        copy.flat[whole] = values.flat[whole]
        if share > 0:
            last = order[int(count)]
            copy.flat[last] += np.float32(share) * (values.flat[last] - copy.flat[last])
        return copy

    return path
