"""The way from blocks to coordinates, for one chunk of block positions; and chunks side by side.

Block positions are independent, so a chunk (some rows of blocks) is the unit of work: what it needs travels with
it, and nothing of size (b, n, n) exists for more than a few blocks at a time.  Chunks run through joblib, in
threads by default (the kernels release the GIL) or on whatever backend ``joblib.parallel_config`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from joblib import Parallel
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from llise.admm import ADMM, embedding_start, weight_start
from llise.blocks import BlockGrid, Blocks, prepare
from llise.embedding import Embedding, admm_embedding, content_start, exact_embedding, reconstruct
from llise.engine.backend import like, namespace, to_numpy, uses_numba
from llise.engine.tasks import task
from llise.gram import GramStatistics, Kernel, linear_problems, local_gram, new_gram, take_local, training_gram
from llise.neighbors import new_neighbors, training_neighbors
from llise.objectives import reconstruction_value, ssim_constant
from llise.weights import admm_weights, exact_weights, semidefinite

Array = Any
BATCH = 16  # blocks that go from step to step together: few enough for the cache, enough for the calls
KEPT = 2**24  # bytes, more than any array of a batch
SAME = 1e-12  # squared distance, against the block's scale, below which two blocks are equal


@dataclass(frozen=True)
class Settings:
    """Everything that decides a result, and nothing that does not."""

    kernel: Kernel
    n_neighbors: int
    n_components: int
    constraint: str
    ridge: float
    luminance: float
    data_range: float
    q: int
    admm: ADMM | None
    seed: int
    history: int = 0

    @property
    def c(self) -> float:
        """The constant of the SSIM distance; grey values are scaled to [0, 1], so l = 1."""
        return ssim_constant(self.q)

    @property
    def needs_semidefinite(self) -> bool:
        """Indefinite kernels are mended locally, unless the paper is followed to the letter."""
        return not self.kernel.is_definite and not (self.admm is not None and self.admm.as_published)


@dataclass
class Fitted:
    """What a fit leaves for each block position; the first axis is b.

    ``weights`` and ``neighbors`` may be None.  ``norms``, ``means`` and ``grand`` are the kernel's statistics
    (None for the linear one), ``level`` the mean luminance over training images (None without that coordinate).
    """

    coordinates: Array
    weights: Array | None
    neighbors: Array | None
    norms: Array | None
    means: Array | None
    grand: Array | None
    level: Array | None
    reconstruction_error: np.ndarray
    objective: np.ndarray
    stationarity: np.ndarray
    n_iter: np.ndarray
    violation: np.ndarray
    history: np.ndarray

    def statistics(self) -> GramStatistics | None:
        """Kernel statistics as the Gram step takes them."""
        return None if self.means is None else GramStatistics(self.norms, self.means, self.grand)

    def apply(self, function: Callable) -> Fitted:
        """The same with ``function`` of every array."""
        values: dict[str, Any] = {name: None if v is None else function(v) for name, v in vars(self).items()}
        return Fitted(**values)

    def __getitem__(self, chunk: slice) -> Fitted:
        return self.apply(lambda v: v[chunk])


# ----------------------------------------------------------------------------------------------- one chunk


def fit_chunk(slab: Array, grid: BlockGrid, first: int, settings: Settings, keep_weights: bool = True) -> Fitted:
    """Images' slab (n, rows, w) -> everything fitted on its blocks; ``first`` is the first block's position."""
    _keep_memory()
    raw = grid.cut(slab)
    batches = _batches(raw.shape[0], BATCH if uses_numba(raw) else raw.shape[0])
    parts = (_fit_batch(raw[part], first + part.start, settings, keep_weights) for part in batches)
    return Fitted(**gather((vars(part) for part in parts), raw.shape[0]))


def _fit_batch(raw: Array, first: int, settings: Settings, keep_weights: bool) -> Fitted:
    blocks, level = prepare(raw, settings.data_range, centre=settings.kernel.is_linear, luminance=settings.luminance)
    positions = np.arange(first, first + raw.shape[0])
    n, k, p, c = raw.shape[1], settings.n_neighbors, settings.n_components, settings.c
    xp = namespace(raw)

    neighbors, K, kv, norms, statistics = _training_problems(blocks, settings.kernel, k)
    if settings.needs_semidefinite:
        K, kv, norms = semidefinite(K, kv, norms)
    if settings.admm is None:
        weights = exact_weights(K, kv, norms, c, settings.constraint, settings.ridge)
        start = content_start(blocks.values, p)
        embedding = exact_embedding(weights, neighbors, c, start, history=settings.history)
    else:
        start = like(raw, weight_start(settings.seed, positions, n, k))
        weights, _ = _admm(K, kv, norms, settings, start, settings.admm.max_iter[0])  # type: ignore[index]
        start = like(raw, embedding_start(settings.seed, positions, n, p))
        embedding = admm_embedding(weights, neighbors, c, settings.admm, start, history=settings.history)
    error = xp.sum(reconstruction_value(weights, K, kv, norms, c), axis=-1)
    return _fitted(embedding, weights, neighbors, statistics, level, to_numpy(error), keep_weights, n)


def _training_problems(
    blocks: Blocks, kernel: Kernel, k: int
) -> tuple[Array, Array, Array, Array, GramStatistics | None]:
    """Neighbours and local problems K, kv, a of the training images, and the kernel's statistics."""
    if kernel.is_linear and uses_numba(blocks.values):
        return *linear_problems(blocks, k), None
    gram, statistics = training_gram(blocks, kernel)
    neighbors = training_neighbors(gram, k)
    xp = namespace(gram)
    kv = xp.take_along_axis(gram, neighbors, axis=-1)
    return neighbors, take_local(gram, neighbors), kv, xp.linalg.diagonal(gram), statistics


def transform_chunk(
    new_slab: Array, slab: Array, twins: np.ndarray, grid: BlockGrid, first: int, fitted: Fitted, settings: Settings
) -> tuple[Array, Array]:
    """Coordinates (b, m, p) of new images' blocks, and how badly their neighbours reconstruct them (b, m)."""
    _keep_memory()
    raw, raw_new = grid.cut(slab), grid.cut(new_slab)
    parts = [
        _transform_batch(raw_new[part], raw[part], twins, first + part.start, fitted[part], settings)
        for part in _batches(raw.shape[0], 8 * BATCH if uses_numba(raw) else raw.shape[0])
    ]
    xp = namespace(raw)
    return xp.concat([y for y, _ in parts]), xp.concat([f for _, f in parts])


def _transform_batch(
    raw_new: Array, raw: Array, twins: np.ndarray, first: int, fitted: Fitted, settings: Settings
) -> tuple[Array, Array]:
    how = {"centre": settings.kernel.is_linear, "luminance": settings.luminance, "mean": fitted.level}
    training, _ = prepare(raw, settings.data_range, **how)  # type: ignore[arg-type]
    new, _ = prepare(raw_new, settings.data_range, **how)  # type: ignore[arg-type]
    statistics, k, c = fitted.statistics(), settings.n_neighbors, settings.c
    xp = namespace(raw)

    products, a, norms = new_gram(new, training, settings.kernel, statistics)
    neighbors = new_neighbors(products, norms, k, twins)
    K = local_gram(training, neighbors, settings.kernel, statistics)
    kv = xp.take_along_axis(products, neighbors, axis=-1)
    distance = a + K[..., 0, 0] - 2 * kv[..., 0]  # to the nearest neighbour
    if settings.needs_semidefinite:
        K, kv, a = semidefinite(K, kv, a)
    if settings.admm is None:
        weights = exact_weights(K, kv, a, c, settings.constraint, settings.ridge)
    else:
        positions = np.arange(first, first + raw.shape[0])
        start = like(raw, weight_start(settings.seed, positions, raw_new.shape[1], k, new=True))
        weights, _ = _admm(K, kv, a, settings, start, settings.admm.max_iter[2])  # type: ignore[index]
    if settings.admm is None or not settings.admm.as_published:
        weights = _own_embedding(weights, distance, a + c)
    return reconstruct(weights, neighbors, fitted.coordinates), reconstruction_value(weights, K, kv, a, c)


def _own_embedding(weights: Array, distance: Array, scale: Array) -> Array:
    """A new block that equals its nearest training block takes that block's place: w = e_1 (eq. 39)."""
    xp = namespace(weights)
    k = weights.shape[-1]
    unit = like(weights, np.eye(1, k)[0])
    return xp.where((distance <= SAME * scale)[..., None], unit, weights)


def _admm(K: Array, kv: Array, a: Array, settings: Settings, start: Array, max_iter: int) -> tuple[Array, np.ndarray]:
    xp = namespace(kv)
    start = xp.permute_dims(start, (1, 0, 2, 3))  # (b, 3, m, k) -> (3, b, m, k)
    if uses_numba(kv):
        start = np.ascontiguousarray(start)
    assert settings.admm is not None
    return admm_weights(K, kv, a, settings.c, settings.constraint, settings.admm, start, max_iter)


def _fitted(
    embedding: Embedding,
    weights: Array,
    neighbors: Array,
    statistics: GramStatistics | None,
    level: Array | None,
    error: np.ndarray,
    keep_weights: bool,
    n: int,
) -> Fitted:
    xp = namespace(weights)
    norms, means, grand = (statistics.norms, statistics.means, statistics.grand) if statistics else (None,) * 3
    return Fitted(
        coordinates=embedding.coordinates,
        weights=xp.astype(weights, xp.float32) if keep_weights else None,
        neighbors=xp.astype(neighbors, xp.uint8 if n <= 256 else xp.int32) if keep_weights else None,
        norms=norms,
        means=means,
        grand=grand,
        level=level,
        reconstruction_error=error,
        objective=embedding.objective,
        stationarity=embedding.stationarity,
        n_iter=embedding.n_iter,
        violation=embedding.violation,
        history=embedding.history,
    )


@cache
def _keep_memory() -> None:
    """Let the memory that a batch gives back stay with the process for the next one.

    glibc returns it to the system when there is more than twice the largest array freed so far; taken again, it costs
    a page fault every 4 kB, some 30 a block.  So one large array is freed, once, that was never written to.
    """
    np.empty(KEPT, np.uint8)


def _batches(b: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, b)) for start in range(0, b, size)]


# -------------------------------------------------------------------------------------------- all the chunks


def run_chunks(
    function: Callable, tasks: Iterable[tuple], n_tasks: int, n_jobs: int | None, progress: str | None
) -> Iterator[Any]:
    """Results of ``function(*task)`` in order, worked out side by side; BLAS keeps to one thread a chunk."""
    bar = tqdm(total=n_tasks, desc=progress, leave=False, disable=None if progress else True)
    with _blas().limit(limits=1), bar:
        workers = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", batch_size=1)
        for result in workers(task(function, *arguments) for arguments in tasks):
            bar.update()
            yield result


@cache
def _blas() -> ThreadpoolController:
    """NumPy's and SciPy's BLAS, looked for once: that takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def gather(parts: Iterable[dict[str, Array]], b: int) -> dict[str, Array]:
    """Arrays of all ``b`` blocks, filled piece by piece, so that no piece is held twice."""
    whole: dict[str, Array] = {}
    at = 0
    for part in parts:
        size = next(v.shape[0] for v in part.values() if v is not None)
        for name, v in part.items():
            if name not in whole:
                whole[name] = None if v is None else _room(v, b)
            if v is not None:
                whole[name][at : at + size] = v
        at += size
    return whole


def _room(v: Array, b: int) -> Array:
    where = {} if isinstance(v, np.ndarray) else {"device": v.device}
    return namespace(v).empty((b, *v.shape[1:]), dtype=v.dtype, **where)
