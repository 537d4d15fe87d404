"""Content: something in the copy that is not in the reference, such as lost blocks, patches, text or dead rows."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llise.kinds.base import Draw, GreyStatistics, Kind, Path
from llise.kinds.content_layers import block_ranks, draw_layer
from llise.kinds.fitting import Fit
from llise.kinds.grey import quantise


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

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        side = max(8, min(image.shape) // 128 * 8)
        ranks = block_ranks(image.shape, (side, side), rng)
        moved = np.roll(image, (image.shape[0] // 2, image.shape[1] // 3), (0, 1))
        quarter = np.floor(4 * block_ranks(image.shape, (side, side), rng))
        values = np.select([quarter == 0, quarter == 1, quarter == 2], [0.0, 128.0, 255.0], moved).astype(np.float32)
        return _in_order(image, ranks, values)

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        layer = draw_layer(image, rng)
        replaced = quantise(image + layer.opacity * (layer.values - image))

        def path(strength: float) -> np.ndarray:
            return np.where(layer.ranks < strength * strength, replaced, image)

        return Draw(path, 1.0, lambda strength: {"coverage": float(np.mean(path(strength) != image))})

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        from llise.kinds.content_fit import content_fit, find_content  # only here: ndimage is slow to import

        return content_fit(after, find_content(before, after, mask), mask)


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
