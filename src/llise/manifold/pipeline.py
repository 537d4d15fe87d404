"""All steps from pixels to coordinates for one chunk of block rows.

Block positions are independent, so a chunk is the unit of work: its task carries all that it needs.  Within a chunk a
batch of blocks at a time goes through the steps, so that nothing of size (b, n, n) exists for more than a few blocks.
Many chunks run in parallel through ``llise.engine.tasks.run_chunks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from llise import engine
from llise.engine.backend import like, namespace, on_device_of, to_numpy
from llise.engine.tasks import gather
from llise.engine.tolerances import MOST_DENSE
from llise.manifold.admm import ADMM, embedding_start, weight_start
from llise.manifold.blocks import BlockGrid, Blocks, prepare
from llise.manifold.embedding import Embedding, admm_embedding, content_start, exact_embedding, reconstruct
from llise.manifold.gram import (
    GramStatistics,
    Kernel,
    kernel_statistics,
    linear_problems,
    local_gram,
    new_gram,
    take_local,
    training_gram,
)
from llise.manifold.neighbors import new_neighbors, other_neighbors, training_neighbors
from llise.manifold.objectives import reconstruction_value, ssim_constant
from llise.manifold.weights import admm_weights, exact_weights, semidefinite

Array = Any
Problem = tuple[slice, Array, Array, Array, Array]  # images, their neighbours, K, kv, a
BATCH = 16  # blocks: few enough for the processor's cache, enough to make up for the calls
LARGEST = 2**24  # bytes, more than any array of a batch has
SAME = 1e-12  # squared distance, against the block's scale, below which two blocks are equal


@dataclass(frozen=True)
class Settings:
    """All settings that decide a result."""

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
        """Whether local Gram matrices are made semidefinite: those of indefinite kernels, unless as published."""
        return not self.kernel.is_definite and not (self.admm is not None and self.admm.as_published)


@dataclass
class Fitted:
    """Results of a fit for each block position; the first axis is b."""

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
        """Return the kernel's statistics, None for the linear kernel."""
        return None if self.means is None else GramStatistics(self.norms, self.means, self.grand)

    def apply(self, function: Callable) -> Fitted:
        """Return the results with a function applied to every array."""
        values: dict[str, Any] = {name: None if v is None else function(v) for name, v in vars(self).items()}
        return Fitted(**values)

    def __repr__(self) -> str:
        return "Fitted(positions={}, images={}, coordinates={})".format(*self.coordinates.shape)

    def __getitem__(self, part: slice) -> Fitted:
        return self.apply(lambda v: v[part])


def fit_chunk(pixels: Array, grid: BlockGrid, first: int, settings: Settings, keep_weights: bool = True) -> Fitted:
    """Fit all blocks of a chunk."""
    _keep_memory()
    with on_device_of(pixels):
        raw = grid.cut(pixels)
        batches = engine.of(raw).batches(raw.shape[0], BATCH if raw.shape[1] <= MOST_DENSE else 1)
        parts = (_fit_batch(raw[part], first + part.start, settings, keep_weights) for part in batches)
        return Fitted(**gather((vars(part) for part in parts), raw.shape[0]))


def _fit_batch(raw: Array, first: int, settings: Settings, keep_weights: bool) -> Fitted:
    blocks, level = prepare(raw, settings.data_range, centre=settings.kernel.is_linear, luminance=settings.luminance)
    positions = np.arange(first, first + raw.shape[0])
    n, p, c = raw.shape[1], settings.n_components, settings.c
    of_some = _many_problems if n > MOST_DENSE else _training_problems
    statistics, problems = of_some(blocks, settings.kernel, settings.n_neighbors)
    parts = [_training_weights(problem, positions, settings, n) for problem in problems]
    neighbors, weights, errors = (
        part[0] if len(part) == 1 else namespace(raw).concat(part, axis=1) for part in zip(*parts)
    )
    if settings.admm is None:
        start = content_start(blocks.values, p)
        embedding = exact_embedding(weights, neighbors, c, start, history=settings.history)
    else:
        start = like(raw, embedding_start(settings.seed, positions, n, p))
        embedding = admm_embedding(weights, neighbors, c, settings.admm, start, history=settings.history)
    _check_finite(settings, weights, embedding.coordinates, embedding.objective, embedding.violation)
    error = to_numpy(namespace(raw).sum(errors, axis=-1))
    return _fitted(embedding, weights, neighbors, statistics, level, error, keep_weights, n)


def _training_weights(problem: Problem, positions: np.ndarray, settings: Settings, n: int) -> tuple[Array, ...]:
    """Neighbours, weights and reconstruction errors of some training images."""
    rows, neighbors, K, kv, norms = problem
    if settings.needs_semidefinite:
        K, kv, norms = semidefinite(K, kv, norms)
    if settings.admm is None:
        weights = exact_weights(K, kv, norms, settings.c, settings.constraint, settings.ridge)
    else:
        start = like(kv, weight_start(settings.seed, positions, n, kv.shape[-1])[:, :, rows])
        weights, _ = _admm(K, kv, norms, settings, start, settings.admm.max_iter[0])  # type: ignore[index]
    return neighbors, weights, reconstruction_value(weights, K, kv, norms, settings.c)


def _training_problems(blocks: Blocks, kernel: Kernel, k: int) -> tuple[GramStatistics | None, Iterable[Problem]]:
    """The kernel's statistics, and neighbours and local problems K, kv, a of the training images."""
    rows = slice(None)
    if kernel.is_linear:
        return None, [(rows, *linear_problems(blocks, k))]
    gram, statistics = training_gram(blocks, kernel)
    neighbors = training_neighbors(gram, k)
    xp = namespace(gram)
    kv = xp.take_along_axis(gram, neighbors, axis=-1)
    norms = xp.diagonal(gram, axis1=-2, axis2=-1)
    return statistics, [(rows, neighbors, take_local(gram, neighbors), kv, norms)]


def _many_problems(blocks: Blocks, kernel: Kernel, k: int) -> tuple[GramStatistics | None, Iterable[Problem]]:
    """The same some images at a time, so that no matrix of all pairs is ever in memory."""
    statistics = kernel_statistics(blocks, kernel)

    def problems() -> Iterator[Problem]:
        for rows, some in blocks.parts():
            products, own, norms = new_gram(some, blocks, kernel, statistics)
            neighbors = other_neighbors(products, norms, k, np.arange(rows.start, rows.stop))
            kv = namespace(products).take_along_axis(products, neighbors, axis=-1)
            yield rows, neighbors, local_gram(blocks, neighbors, kernel, statistics), kv, own

    return statistics, problems()


def transform_chunk(
    new_pixels: Array,
    pixels: Array,
    identical: np.ndarray,
    grid: BlockGrid,
    first: int,
    fitted: Fitted,
    settings: Settings,
) -> tuple[Array, Array]:
    """Embed all blocks of a chunk of new images."""
    _keep_memory()
    with on_device_of(pixels):
        raw, raw_new = grid.cut(pixels), grid.cut(new_pixels)
        parts = [
            _transform_batch(raw_new[part], raw[part], identical, first + part.start, fitted[part], settings)
            for part in engine.of(raw).batches(raw.shape[0], _transform_batch_size(raw_new.shape[1] * raw.shape[1]))
        ]
        xp = namespace(raw)
        return xp.concat([y for y, _ in parts]), xp.concat([f for _, f in parts])


def _transform_batch_size(products: int) -> int:
    """Blocks that are transformed at once, so that products with many images take 32 MB at the most."""
    return min(8 * BATCH, max(1, LARGEST // 4 // products))


def _transform_batch(
    raw_new: Array, raw: Array, identical: np.ndarray, first: int, fitted: Fitted, settings: Settings
) -> tuple[Array, Array]:
    how = {"centre": settings.kernel.is_linear, "luminance": settings.luminance, "mean": fitted.level}
    training, _ = prepare(raw, settings.data_range, **how)  # type: ignore[arg-type]
    new, _ = prepare(raw_new, settings.data_range, **how)  # type: ignore[arg-type]
    statistics, k, c = fitted.statistics(), settings.n_neighbors, settings.c
    xp = namespace(raw)

    products, a, norms = new_gram(new, training, settings.kernel, statistics)
    neighbors = new_neighbors(products, norms, k, identical)
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
    _check_finite(settings, weights)
    return reconstruct(weights, neighbors, fitted.coordinates), reconstruction_value(weights, K, kv, a, c)


def _check_finite(settings: Settings, *results: Array) -> None:
    """Refuse results that are not finite: iterations that diverged, or a kernel whose values are out of range."""
    if all(bool(namespace(values).all(namespace(values).isfinite(values))) for values in results):
        return
    if settings.admm is not None:
        raise ValueError(
            f"the iterations of {settings.admm} diverged; use smaller steps (eta, eta_embedding), a smaller rho, fewer "
            "iterations, or solver='exact'."
        )
    raise ValueError(f"the weights are not finite with {settings.kernel}; use another kernel, gamma or coef0.")


def _own_embedding(weights: Array, distance: Array, scale: Array) -> Array:
    """A new block that equals its nearest training block gets that block's coordinates: w = e_1 (eq. 39)."""
    xp = namespace(weights)
    k = weights.shape[-1]
    unit = like(weights, np.eye(1, k)[0])
    return xp.where((distance <= SAME * scale)[..., None], unit, weights)


def _admm(K: Array, kv: Array, a: Array, settings: Settings, start: Array, max_iter: int) -> tuple[Array, np.ndarray]:
    xp = namespace(kv)
    start = xp.permute_dims(start, (1, 0, 2, 3))  # (b, 3, m, k) -> (3, b, m, k)
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
    """Keep the memory that a batch frees with the process, for the next batch."""
    np.empty(LARGEST, np.uint8)
