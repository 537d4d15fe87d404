"""Images -> blocks and back.

An image (h, w) is cut into non-overlapping ``block_size`` x ``block_size`` blocks in row-major order; sides that
are no multiples are padded by edge replication, and maps are cropped back.  Blocks are (b, n, q) with the block
position first, so that every later step is one batched operation.  A *chunk* is a run of block rows, or a part of one,
that is worked on together; a *batch* is the blocks inside a chunk that go through the steps together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from llise import engine
from llise.block_values import Blocks, prepare
from llise.engine.backend import namespace

__all__ = ["BlockGrid", "Blocks", "Chunk", "prepare"]

Array = Any


class Chunk(NamedTuple):
    """A run of block rows, or a part of one block row.

    Attributes
    ----------
    top, bottom : int
        First block row, and the one after the last.
    left, right : int
        First block column, and the one after the last.

    Examples
    --------
    >>> from llise.blocks import BlockGrid
    >>> BlockGrid.of_images((8, 40), 8).chunks(3)
    [Chunk(top=0, bottom=1, left=0, right=3), Chunk(top=0, bottom=1, left=3, right=5)]
    """

    top: int
    bottom: int
    left: int
    right: int


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

    def chunks(self, n_blocks: int = 64) -> list[Chunk]:
        """Split the blocks into chunks.

        Parameters
        ----------
        n_blocks : int, default 64
            About how many blocks a chunk has.

        Returns
        -------
        list of Chunk
            Runs of whole block rows; where a block row has more than ``n_blocks`` blocks, equal parts of block rows.

        Examples
        --------
        >>> from llise.blocks import BlockGrid
        >>> [tuple(chunk) for chunk in BlockGrid.of_images((40, 16), 8).chunks(4)]
        [(0, 2, 0, 2), (2, 4, 0, 2), (4, 5, 0, 2)]
        """
        rows = max(1, n_blocks // self.cols)
        parts = -(-self.cols // n_blocks)
        cols = -(-self.cols // parts)
        return [
            Chunk(top, min(top + rows, self.rows), left, min(left + cols, self.cols))
            for top in range(0, self.rows, rows)
            for left in range(0, self.cols, cols)
        ]

    def positions(self, chunk: Chunk) -> slice:
        """Return the positions of a chunk's blocks among all blocks.

        Parameters
        ----------
        chunk : Chunk
            One of :meth:`chunks`.

        Returns
        -------
        slice

        Examples
        --------
        >>> from llise.blocks import BlockGrid
        >>> grid = BlockGrid.of_images((40, 16), 8)
        >>> grid.positions(grid.chunks(4)[1])
        slice(4, 8, None)
        """
        first = chunk.top * self.cols + chunk.left
        return slice(first, first + (chunk.bottom - chunk.top) * (chunk.right - chunk.left))

    def pixels(self, images: Array, chunk: Chunk) -> Array:
        """Return the pixels of a chunk: a view, which a memory map reads on use.

        Parameters
        ----------
        images : array (n, h, w)
        chunk : Chunk
            One of :meth:`chunks`.

        Returns
        -------
        array (n, rows, columns)

        Examples
        --------
        >>> import numpy as np
        >>> from llise.blocks import BlockGrid
        >>> grid = BlockGrid.of_images((40, 16), 8)
        >>> grid.pixels(np.zeros((3, 40, 16)), grid.chunks(4)[1]).shape
        (3, 16, 16)
        """
        rows = slice(chunk.top * self.block_height, chunk.bottom * self.block_height)
        cols = slice(chunk.left * self.block_width, chunk.right * self.block_width)
        return images[:, rows, cols]

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
        rows, cols = -(-height // self.block_height), -(-width // self.block_width)
        if uneven := rows * self.block_height - height:
            images = _edge_padded(images, uneven, axis=1)
        if uneven := cols * self.block_width - width:
            images = _edge_padded(images, uneven, axis=2)
        return engine.of(images).cut(images, rows, cols, self.block_height, self.block_width)

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
