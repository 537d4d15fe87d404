"""Grey values of blocks, ready for inner products; ``llise.manifold.blocks`` has these names too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from llise import engine
from llise.engine.backend import namespace

Array = Any
PRODUCTS_AT_ONCE = 2**20  # of one image with another, for many images: 8 MB


@dataclass(frozen=True)
class Blocks:
    """Blocks ready for inner products; :func:`prepare` makes them.

    Centring (docs/math.md, eq. 4) is applied to inner products, :math:`x'y - s_x s_y / q`; for floats it is done
    beforehand and the sums are zero.
    """

    values: Array
    sums: Array
    scale: float
    luminance: Array | None = None

    def __repr__(self) -> str:
        return "Blocks(positions={}, images={}, values={}, dtype={})".format(*self.values.shape, self.values.dtype)

    def centre_products(self, products: Array, sums_a: Array, sums_b: Array) -> Array:
        """Return inner products of centred, scaled blocks from those of the blocks as they are."""
        q, factor = self.factors()
        return (q * products - sums_a * sums_b) * factor

    def factors(self) -> tuple[int, float]:
        """Return q and the factor of (q x'y - s_x s_y) in inner products of centred blocks (eq. 6)."""
        q = self.values.shape[-1]
        return q, self.scale**2 / q

    def parts(self) -> Iterator[tuple[slice, Blocks]]:
        """Yield some images at a time, so that products with all others take little memory."""
        n = self.values.shape[1]
        step = max(16, PRODUCTS_AT_ONCE // n)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            gain = None if self.luminance is None else self.luminance[:, rows]
            yield rows, Blocks(self.values[:, rows], self.sums[:, rows], self.scale, gain)

    def scaled(self) -> Array:
        """Return the values scaled to [0, 1] as float64, for kernels that are callables."""
        xp = namespace(self.values)
        return xp.astype(self.values, xp.float64, copy=False) * self.scale


def prepare(
    raw: Array, data_range: float, *, centre: bool, luminance: float = 0.0, mean: Array | None = None
) -> tuple[Blocks, Array | None]:
    """Make blocks of grey values ready for inner products."""
    xp = namespace(raw)
    q = raw.shape[-1]
    integer = not xp.isdtype(raw.dtype, "real floating")
    values = xp.astype(raw, _exact_dtype(raw, q) if integer else xp.float64, copy=False)
    sums = engine.of(values).sums(values)
    level = sums * (1.0 / (q * data_range))
    if centre and not integer:
        values = values - (sums / q)[..., None]
        sums = xp.zeros_like(sums)
    blocks = Blocks(values, sums, 1.0 / data_range)
    if not luminance:
        return blocks, None
    if mean is None:
        mean = xp.mean(level, axis=-1)
    return replace(blocks, luminance=luminance * math.sqrt(q) * (level - mean[:, None])), mean


def _exact_dtype(raw: Array, q: int) -> Any:
    """float32 where sums of q products of such integers stay below 2^24 (8-bit blocks up to 16x16), else float64."""
    xp = namespace(raw)
    largest = 255 if raw.dtype == xp.uint8 else 1 if xp.isdtype(raw.dtype, "bool") else None
    return xp.float32 if largest is not None and largest**2 * q < 2**24 else xp.float64
