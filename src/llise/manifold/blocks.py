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
from llise.engine.backend import namespace
from llise.manifold.block_values import Blocks, prepare

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
    """

    top: int
    bottom: int
    left: int
    right: int


@dataclass(frozen=True)
class BlockGrid:
    """How images of one shape are cut into blocks."""

    height: int
    width: int
    block_height: int
    block_width: int

    @classmethod
    def of_images(cls, shape: tuple[int, int], block_size: int | None) -> BlockGrid:
        """Return the grid of square blocks on an image, which must hold one; None makes the whole image one block."""
        height, width = shape
        if block_size is None:
            return cls(height, width, height, width)
        if min(height, width) < block_size:
            raise ValueError(
                f"image of {height}x{width} pixels is smaller than one block of {block_size}x{block_size}; "
                f"use block_size={min(height, width)} or less, or a larger image."
            )
        return cls(height, width, block_size, block_size)

    @classmethod
    def of_rows(cls, q: int) -> BlockGrid:
        """Return the grid of rows without an image shape: each row is one block."""
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
        """Split the blocks into chunks."""
        rows = max(1, n_blocks // self.cols)
        parts = -(-self.cols // n_blocks)
        cols = -(-self.cols // parts)
        return [
            Chunk(top, min(top + rows, self.rows), left, min(left + cols, self.cols))
            for top in range(0, self.rows, rows)
            for left in range(0, self.cols, cols)
        ]

    def positions(self, chunk: Chunk) -> slice:
        """Return the positions of a chunk's blocks among all blocks."""
        first = chunk.top * self.cols + chunk.left
        return slice(first, first + (chunk.bottom - chunk.top) * (chunk.right - chunk.left))

    def pixels(self, images: Array, chunk: Chunk) -> Array:
        """Return the pixels of a chunk: a view, which a memory map reads on use."""
        rows = slice(chunk.top * self.block_height, chunk.bottom * self.block_height)
        cols = slice(chunk.left * self.block_width, chunk.right * self.block_width)
        return images[:, rows, cols]

    def cut(self, images: Array) -> Array:
        """Cut images, or the pixels of a chunk, into blocks; the dtype is kept."""
        _, height, width = images.shape
        rows, cols = -(-height // self.block_height), -(-width // self.block_width)
        if uneven := rows * self.block_height - height:
            images = _edge_padded(images, uneven, axis=1)
        if uneven := cols * self.block_width - width:
            images = _edge_padded(images, uneven, axis=2)
        return engine.of(images).cut(images, rows, cols, self.block_height, self.block_width)

    def join(self, blocks: Array) -> Array:
        """Join blocks to images: the inverse of :meth:`cut`, with the padding cropped off."""
        xp = namespace(blocks)
        n = blocks.shape[1]
        parts = xp.reshape(blocks, (self.rows, self.cols, n, self.block_height, self.block_width))
        whole = xp.reshape(
            xp.permute_dims(parts, (2, 0, 3, 1, 4)),
            (n, self.rows * self.block_height, self.cols * self.block_width),
        )
        return whole[:, : self.height, : self.width]

    def spread(self, values: Array) -> np.ndarray:
        """Return a map that shows one value of each block on that block's pixels."""
        grid = np.asarray(values).reshape(self.rows, self.cols)
        tall = np.repeat(grid, self.block_height, axis=0)
        return np.repeat(tall, self.block_width, axis=1)[: self.height, : self.width]


def _edge_padded(images: Array, extra: int, axis: int) -> Array:
    xp = namespace(images)
    last = images[:, -1:, :] if axis == 1 else images[:, :, -1:]
    return xp.concat([images] + [last] * extra, axis=axis)
