"""The pipeline on all blocks of the images: cut into chunks, moved to the device, worked on, put together.

A chunk is a run of block rows or a part of one.  Nothing in this file changes a result: it decides only where and in
which portions the work is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from llise import engine
from llise.engine.backend import (
    blocks_at_once,
    explained_device_errors,
    like,
    namespace,
    on_device_of,
    to_numpy,
    working,
)
from llise.engine.tasks import gather, run_chunks
from llise.engine.tolerances import MOST_DENSE
from llise.manifold.blocks import BlockGrid, Chunk
from llise.manifold.duplicates import identical_training_image
from llise.manifold.pipeline import Fitted, Settings, fit_chunk, transform_chunk

Array = Any
BLOCKS_PER_FIT_CHUNK = 32
BLOCKS_PER_TRANSFORM_CHUNK = 128
PRODUCTS_AT_ONCE = 2**22  # of new images with training images, in a task of a transform


@dataclass(frozen=True)
class Execution:
    """How the work is done: on which device, by how many workers, with which progress bar."""

    device: str | None = None
    n_jobs: int | None = None
    progress: str | None = None

    @explained_device_errors()
    def fit(self, images: Array, grid: BlockGrid, settings: Settings, store_weights: bool = True) -> Fitted:
        """Fit every block of the training images."""
        pixels = working(images, self.device)
        chunks = _chunks(pixels, len(images), grid, settings, BLOCKS_PER_FIT_CHUNK if len(images) <= MOST_DENSE else 1)
        tasks = (
            (grid.pixels(pixels, chunk), grid, grid.positions(chunk).start, settings, store_weights) for chunk in chunks
        )
        parts = self._run(fit_chunk, tasks, len(chunks), pixels)
        with on_device_of(pixels):
            return Fitted(**gather((_like_images(vars(part), images) for part in parts), grid.n_blocks))

    @explained_device_errors()
    def embed(
        self, images: Array, training: Array, grid: BlockGrid, fitted: Fitted, settings: Settings
    ) -> tuple[Array, Array]:
        """Embed new images among the training images."""
        identical = identical_training_image(images, training)
        some = working(images[:1], self.device)
        m, n, xp = len(images), len(training), namespace(images)
        step = max(256, PRODUCTS_AT_ONCE // n)
        portions = [slice(start, min(start + step, m)) for start in range(0, m, step)]
        chunks = _chunks(some, n, grid, settings, BLOCKS_PER_TRANSFORM_CHUNK)
        needed = replace(fitted, weights=None, neighbors=None)  # these large arrays are not sent to the workers

        def tasks() -> Iterator[tuple]:
            for chunk in chunks:
                blocks = grid.positions(chunk)
                old_pixels = like(some, grid.pixels(training, chunk))
                part = needed[blocks].apply(partial(like, some))
                for portion in portions:
                    new_pixels = like(some, grid.pixels(images[portion], chunk))
                    yield new_pixels, old_pixels, identical[portion], grid, blocks.start, part, settings

        places = ((grid.positions(chunk), portion) for chunk in chunks for portion in portions)
        with on_device_of(some):
            errors = xp.empty((grid.n_blocks, m))
            dtype = np.float32 if images.dtype == np.float32 else np.float64
            coordinates = xp.empty((grid.n_blocks, m, settings.n_components), dtype=dtype)
            results = self._run(transform_chunk, tasks(), len(chunks) * len(portions), some)
            for place, (y, f) in zip(places, results):
                coordinates[place], errors[place] = like(images, y), like(images, f)
        return coordinates, errors

    def _run(self, function: Any, tasks: Iterable[tuple], n_tasks: int, pixels: Array) -> Iterator[Any]:
        return run_chunks(function, tasks, n_tasks, engine.of(pixels).workers(self.n_jobs), self.progress)


def _chunks(images: Array, n: int, grid: BlockGrid, settings: Settings, on_cpu: int) -> list[Chunk]:
    """Chunks of about ``on_cpu`` blocks on a CPU, of what the memory holds on a GPU."""
    k = min(settings.n_neighbors, n)
    # about 16 arrays (n, n) and 12 of n problems (k + 1, k + 1) are alive at once on a GPU
    return grid.chunks(blocks_at_once(images, 8 * (16 * n * n + 12 * n * (k + 1) ** 2), on_cpu))


def _like_images(part: dict[str, Array], images: Array) -> dict[str, Array]:
    """A chunk's results where the images are; coordinates are float32 for float32 images, else float64."""
    if isinstance(images, np.ndarray):
        part = {name: None if value is None else to_numpy(value) for name, value in part.items()}
    if images.dtype == np.float32:
        xp = namespace(part["coordinates"])
        part["coordinates"] = xp.astype(part["coordinates"], xp.float32, copy=False)
    return part
