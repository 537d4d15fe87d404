"""Images -> blocks and back.

An image (h, w) is cut into non-overlapping ``block_size`` x ``block_size`` blocks in row-major order; sides that
are no multiples are padded by edge replication, and maps are cropped back.  Blocks are (b, n, q) with the block
position first, so that every later step is one batched operation and a run of positions is a unit of work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llise.engine.backend import namespace, uses_numba

Array = Any


@dataclass(frozen=True)
class BlockGrid:
    """How images of one shape are cut into blocks."""

    height: int
    width: int
    block_height: int
    block_width: int

    @classmethod
    def of_images(cls, shape: tuple[int, int], block_size: int) -> BlockGrid:
        """Square blocks on an image; an image smaller than one block is refused."""
        height, width = shape
        if min(height, width) < block_size:
            raise ValueError(
                f"image of {height}x{width} pixels is smaller than one block of {block_size}x{block_size}; "
                f"use block_size={min(height, width)} or less, or a larger image."
            )
        return cls(height, width, block_size, block_size)

    @classmethod
    def of_rows(cls, q: int) -> BlockGrid:
        """Rows without an image shape: each row is one block."""
        return cls(1, q, 1, q)

    @property
    def rows(self) -> int:
        """Rows of blocks."""
        return -(-self.height // self.block_height)

    @property
    def cols(self) -> int:
        """Columns of blocks."""
        return -(-self.width // self.block_width)

    @property
    def n_blocks(self) -> int:
        """Number of blocks b."""
        return self.rows * self.cols

    @property
    def q(self) -> int:
        """Values in a block."""
        return self.block_height * self.block_width

    def strips(self, n_blocks: int = 64) -> list[tuple[int, int]]:
        """Whole block rows, together at least about ``n_blocks`` blocks: the chunks that are worked on apart."""
        step = max(1, n_blocks // self.cols)
        return [(top, min(top + step, self.rows)) for top in range(0, self.rows, step)]

    def slab(self, images: Array, strip: tuple[int, int]) -> Array:
        """The pixels (n, rows, w) of the block rows ``strip``: a view, which a memory map reads on use."""
        top, bottom = strip
        return images[:, top * self.block_height : bottom * self.block_height, :]

    def cut(self, images: Array) -> Array:
        """Blocks (b, n, q) of images (n, h, w), or of a slab of them; the dtype is kept."""
        n, height, width = images.shape
        rows = -(-height // self.block_height)
        if uneven := rows * self.block_height - height:
            images = _edge_padded(images, uneven, axis=1)
        if uneven := self.cols * self.block_width - width:
            images = _edge_padded(images, uneven, axis=2)
        if uses_numba(images):
            return self._cut_runs(images, rows)
        xp = namespace(images)
        parts = xp.reshape(images, (n, rows, self.block_height, self.cols, self.block_width))
        return xp.reshape(xp.permute_dims(parts, (1, 3, 0, 2, 4)), (rows * self.cols, n, self.q))

    def _cut_runs(self, images: np.ndarray, rows: int) -> np.ndarray:
        """The same for NumPy, a block's run of pixels moved as one item."""
        n, dtype = len(images), images.dtype
        run = np.dtype((np.void, self.block_width * dtype.itemsize))
        if images.strides[-1] != dtype.itemsize:
            images = np.ascontiguousarray(images)
        parts = images.view(run).reshape(n, rows, self.block_height, self.cols)
        blocks = np.ascontiguousarray(parts.transpose(1, 3, 0, 2))
        return blocks.view(dtype).reshape(rows * self.cols, n, self.q)

    def join(self, blocks: Array) -> Array:
        """Images (n, h, w) from blocks (b, n, q): the inverse of :meth:`cut`, padding cropped off."""
        xp = namespace(blocks)
        n = blocks.shape[1]
        parts = xp.reshape(blocks, (self.rows, self.cols, n, self.block_height, self.block_width))
        whole = xp.reshape(
            xp.permute_dims(parts, (2, 0, 3, 1, 4)),
            (n, self.rows * self.block_height, self.cols * self.block_width),
        )
        return whole[:, : self.height, : self.width]

    def spread(self, values: Array) -> np.ndarray:
        """A map (h, w) that shows one value of each block (b,) on that block's pixels."""
        grid = np.asarray(values).reshape(self.rows, self.cols)
        tall = np.repeat(grid, self.block_height, axis=0)
        return np.repeat(tall, self.block_width, axis=1)[: self.height, : self.width]


def _edge_padded(images: Array, extra: int, axis: int) -> Array:
    xp = namespace(images)
    last = images[:, -1:, :] if axis == 1 else images[:, :, -1:]
    return xp.concat([images] + [last] * extra, axis=axis)


@dataclass(frozen=True)
class Blocks:
    """Blocks ready for inner products.

    ``values`` (b, n, q) are either grey values that are integers (in the narrowest float in which their inner
    products are *exact*, so that duplicates tie exactly and flat blocks are exactly zero) or floats.  Centring
    (math.md, eq. 4) is applied to inner products, :math:`x'y - s_x s_y / q`, with the sums ``sums`` (b, n); for
    floats it is done beforehand and the sums are zero.  ``luminance`` (b, n) is the optional extra coordinate
    (eq. 5), ``scale`` = 1 / data_range.
    """

    values: Array
    sums: Array
    scale: float
    luminance: Array | None = None

    def centre_products(self, products: Array, sums_a: Array, sums_b: Array) -> Array:
        """Inner products of centred, scaled blocks from those of the blocks as they are."""
        q, factor = self.factors()
        return (q * products - sums_a * sums_b) * factor

    def factors(self) -> tuple[float, float]:
        """q and what (q x'y - s_x s_y) is multiplied by (eq. 6)."""
        q = self.values.shape[-1]
        return q, self.scale**2 / q

    def scaled(self) -> Array:
        """The values scaled to [0, 1] as float64, for kernels given as a callable."""
        xp = namespace(self.values)
        return xp.astype(self.values, xp.float64, copy=False) * self.scale


def prepare(
    raw: Array, data_range: float, *, centre: bool, luminance: float = 0.0, mean: Array | None = None
) -> tuple[Blocks, Array | None]:
    """Blocks (b, n, q) of grey values made ready for inner products.

    Parameters
    ----------
    raw : array (b, n, q)
    data_range : float
        Grey values are divided by it.
    centre : bool
        Whether inner products of centred blocks will be asked for (LLISE), or of blocks as they are (kernels).
    luminance : float
        The gain g of the luminance coordinate :math:`g\\sqrt q\\,(\\mu_x - \\bar\\mu)` (eq. 5); 0 is the paper.
    mean : array (b,), optional
        :math:`\\bar\\mu`, the mean over the *training* images; None: these are the training images.

    Returns
    -------
    blocks : Blocks
    mean : array (b,) or None
        What to pass for new images.
    """
    xp = namespace(raw)
    q = raw.shape[-1]
    integer = not xp.isdtype(raw.dtype, "real floating")
    values = xp.astype(raw, _exact_dtype(raw, q) if integer else xp.float64, copy=False)
    sums = _sums(values)
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


def _sums(values: Array) -> Array:
    if uses_numba(values):
        from llise.engine import numba_gram as _numba_gram

        return _numba_gram.sums(np.ascontiguousarray(values))
    xp = namespace(values)
    return xp.astype(xp.sum(values, axis=-1), xp.float64, copy=False)  # exact in float32 as well: integers


def _exact_dtype(raw: Array, q: int) -> Any:
    """float32 where sums of q products of such integers stay below 2^24 (8-bit blocks up to 16x16), else float64."""
    xp = namespace(raw)
    largest = 255 if raw.dtype == xp.uint8 else 1 if xp.isdtype(raw.dtype, "bool") else None
    return xp.float32 if largest is not None and largest**2 * q < 2**24 else xp.float64
