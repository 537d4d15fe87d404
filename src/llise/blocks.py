"""Images -> blocks and back.

An image (h, w) is cut into non-overlapping ``block_size`` x ``block_size`` blocks in row-major order; sides that
are no multiples are padded by edge replication, and maps are cropped back.  Blocks are (b, n, q) with the block
position first, so that every later step is one batched operation.  A *chunk* is a run of block rows that are worked on
together; a *batch* is the blocks inside a chunk that go through the steps together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llise import engine
from llise.engine.backend import namespace

Array = Any


@dataclass(frozen=True)
class BlockGrid:
    """How images of one shape are cut into blocks.

    Parameters
    ----------
    height, width : int
        Of the images, in pixels.
    block_height, block_width : int
        Of a block, in pixels.

    Examples
    --------
    >>> from llise.blocks import BlockGrid
    >>> grid = BlockGrid.of_images((28, 20), 8)
    >>> grid.rows, grid.cols, grid.n_blocks, grid.q
    (4, 3, 12, 64)
    """

    height: int
    width: int
    block_height: int
    block_width: int

    @classmethod
    def of_images(cls, shape: tuple[int, int], block_size: int) -> BlockGrid:
        """Return the grid of square blocks on an image; an image smaller than one block is refused.

        Parameters
        ----------
        shape : tuple of int
            Height and width of the images.
        block_size : int
            Side of a block.

        Returns
        -------
        BlockGrid

        Examples
        --------
        >>> from llise.blocks import BlockGrid
        >>> BlockGrid.of_images((16, 16), 8).n_blocks
        4
        """
        height, width = shape
        if min(height, width) < block_size:
            raise ValueError(
                f"image of {height}x{width} pixels is smaller than one block of {block_size}x{block_size}; "
                f"use block_size={min(height, width)} or less, or a larger image."
            )
        return cls(height, width, block_size, block_size)

    @classmethod
    def of_rows(cls, q: int) -> BlockGrid:
        """Return the grid of rows without an image shape: each row is one block.

        Parameters
        ----------
        q : int
            Values in a row.

        Returns
        -------
        BlockGrid

        Examples
        --------
        >>> from llise.blocks import BlockGrid
        >>> BlockGrid.of_rows(30).n_blocks
        1
        """
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

    def chunks(self, n_blocks: int = 64) -> list[tuple[int, int]]:
        """Split the block rows into chunks.

        Parameters
        ----------
        n_blocks : int, default 64
            About how many blocks a chunk has; at least one block row.

        Returns
        -------
        list of tuple of int
            First block row of each chunk, and the one after its last.

        Examples
        --------
        >>> from llise.blocks import BlockGrid
        >>> BlockGrid.of_images((40, 16), 8).chunks(4)
        [(0, 2), (2, 4), (4, 5)]
        """
        step = max(1, n_blocks // self.cols)
        return [(top, min(top + step, self.rows)) for top in range(0, self.rows, step)]

    def pixels(self, images: Array, chunk: tuple[int, int]) -> Array:
        """Return the pixels of a chunk: a view, which a memory map reads on use.

        Parameters
        ----------
        images : array (n, h, w)
        chunk : tuple of int
            One of :meth:`chunks`.

        Returns
        -------
        array (n, rows, w)

        Examples
        --------
        >>> import numpy as np
        >>> from llise.blocks import BlockGrid
        >>> grid = BlockGrid.of_images((40, 16), 8)
        >>> grid.pixels(np.zeros((3, 40, 16)), (2, 4)).shape
        (3, 16, 16)
        """
        top, bottom = chunk
        return images[:, top * self.block_height : bottom * self.block_height, :]

    def cut(self, images: Array) -> Array:
        """Cut images, or the pixels of a chunk, into blocks; the dtype is kept.

        Parameters
        ----------
        images : array (n, h, w)

        Returns
        -------
        array (b, n, q)

        Examples
        --------
        >>> import numpy as np
        >>> from llise.blocks import BlockGrid
        >>> images = np.arange(16).reshape(1, 4, 4)
        >>> BlockGrid.of_images((4, 4), 2).cut(images)[0]
        array([[0, 1, 4, 5]])
        """
        _, height, width = images.shape
        rows = -(-height // self.block_height)
        if uneven := rows * self.block_height - height:
            images = _edge_padded(images, uneven, axis=1)
        if uneven := self.cols * self.block_width - width:
            images = _edge_padded(images, uneven, axis=2)
        return engine.of(images).cut(images, rows, self.cols, self.block_height, self.block_width)

    def join(self, blocks: Array) -> Array:
        """Join blocks to images: the inverse of :meth:`cut`, with the padding cropped off.

        Parameters
        ----------
        blocks : array (b, n, q)

        Returns
        -------
        array (n, h, w)

        Examples
        --------
        >>> import numpy as np
        >>> from llise.blocks import BlockGrid
        >>> grid, images = BlockGrid.of_images((5, 7), 2), np.arange(70).reshape(2, 5, 7)
        >>> np.array_equal(grid.join(grid.cut(images)), images)
        True
        """
        xp = namespace(blocks)
        n = blocks.shape[1]
        parts = xp.reshape(blocks, (self.rows, self.cols, n, self.block_height, self.block_width))
        whole = xp.reshape(
            xp.permute_dims(parts, (2, 0, 3, 1, 4)),
            (n, self.rows * self.block_height, self.cols * self.block_width),
        )
        return whole[:, : self.height, : self.width]

    def spread(self, values: Array) -> np.ndarray:
        """Return a map that shows one value of each block on that block's pixels.

        Parameters
        ----------
        values : array (b,)

        Returns
        -------
        numpy.ndarray (h, w)

        Examples
        --------
        >>> from llise.blocks import BlockGrid
        >>> BlockGrid.of_images((2, 3), 2).spread([5, 7])
        array([[5, 5, 7],
               [5, 5, 7]])
        """
        grid = np.asarray(values).reshape(self.rows, self.cols)
        tall = np.repeat(grid, self.block_height, axis=0)
        return np.repeat(tall, self.block_width, axis=1)[: self.height, : self.width]


def _edge_padded(images: Array, extra: int, axis: int) -> Array:
    xp = namespace(images)
    last = images[:, -1:, :] if axis == 1 else images[:, :, -1:]
    return xp.concat([images] + [last] * extra, axis=axis)


@dataclass(frozen=True)
class Blocks:
    """Blocks ready for inner products; :func:`prepare` makes them.

    Centring (docs/math.md, eq. 4) is applied to inner products, :math:`x'y - s_x s_y / q`; for floats it is done
    beforehand and the sums are zero.

    Parameters
    ----------
    values : array (b, n, q)
        Grey values: integers in the narrowest float type in which their inner products are *exact*, so that
        duplicates tie exactly and flat blocks are exactly zero; or floats.
    sums : array (b, n)
        Sum of each block.
    scale : float
        1 / data_range.
    luminance : array (b, n), optional
        The additional luminance coordinate (eq. 5).

    Examples
    --------
    >>> import numpy as np
    >>> from llise.blocks import prepare
    >>> blocks, _ = prepare(np.array([[[0, 2], [4, 0]]], np.uint8), 255.0, centre=True)
    >>> blocks, blocks.sums
    (Blocks(positions=1, images=2, values=2, dtype=float32), array([[2., 4.]]))
    """

    values: Array
    sums: Array
    scale: float
    luminance: Array | None = None

    def __repr__(self) -> str:
        return "Blocks(positions={}, images={}, values={}, dtype={})".format(*self.values.shape, self.values.dtype)

    def centre_products(self, products: Array, sums_a: Array, sums_b: Array) -> Array:
        """Return inner products of centred, scaled blocks from those of the blocks as they are.

        Parameters
        ----------
        products : array
            x'y.
        sums_a, sums_b : array
            Sums of x and y, broadcast.

        Returns
        -------
        array

        Examples
        --------
        >>> import numpy as np
        >>> from llise.blocks import prepare
        >>> blocks, _ = prepare(np.array([[[0, 2, 4]]]), 1.0, centre=True)
        >>> float(blocks.centre_products(20.0, 6.0, 6.0))  # (-2)**2 + 0 + 2**2
        8.0
        """
        q, factor = self.factors()
        return (q * products - sums_a * sums_b) * factor

    def factors(self) -> tuple[int, float]:
        """Return q and the factor of (q x'y - s_x s_y) in inner products of centred blocks (eq. 6).

        Returns
        -------
        tuple

        Examples
        --------
        >>> import numpy as np
        >>> from llise.blocks import prepare
        >>> prepare(np.array([[[0, 2, 4, 8]]]), 1.0, centre=True)[0].factors()
        (4, 0.25)
        """
        q = self.values.shape[-1]
        return q, self.scale**2 / q

    def scaled(self) -> Array:
        """Return the values scaled to [0, 1] as float64, for kernels that are callables.

        Returns
        -------
        array (b, n, q)

        Examples
        --------
        >>> import numpy as np
        >>> from llise.blocks import prepare
        >>> prepare(np.array([[[0, 2, 4, 8]]]), 8.0, centre=False)[0].scaled()
        array([[[0.  , 0.25, 0.5 , 1.  ]]])
        """
        xp = namespace(self.values)
        return xp.astype(self.values, xp.float64, copy=False) * self.scale


def prepare(
    raw: Array, data_range: float, *, centre: bool, luminance: float = 0.0, mean: Array | None = None
) -> tuple[Blocks, Array | None]:
    """Make blocks of grey values ready for inner products.

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
        :math:`\\bar\\mu`, the mean over the *training* images; None if these are the training images.

    Returns
    -------
    blocks : Blocks
    mean : array (b,) or None
        The argument ``mean`` for new images.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.blocks import prepare
    >>> blocks, mean = prepare(np.uint8([[[0, 255], [255, 255]]]), 255.0, centre=True)
    >>> blocks.sums
    array([[255., 510.]])
    """
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
