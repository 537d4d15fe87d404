"""Blocks -> Gram: inner products of blocks, linear or in the feature space of a kernel.

Everything downstream (neighbours, weights, recognition) sees blocks only through inner products, so the same code
serves LLISE and kernel LLISE, training and new images (docs/math.md, section 3).

Shapes: block position first, ``blocks`` (b, n, q); a Gram matrix between ``m`` and ``n`` images is (b, m, n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llise import engine
from llise.engine.backend import in_float64, namespace
from llise.engine.tolerances import MOST_DENSE
from llise.manifold.blocks import Blocks
from llise.manifold.kernels import Kernel, refuse_unnormalisable

Array = Any


@dataclass(frozen=True)
class GramStatistics:
    """Statistics of the training images' kernel values that new images are normalised and centred with (eq. 11).

    As they come from the training images only, the result of a new image does not depend on the other images in the
    batch.
    """

    norms: Array
    means: Array
    grand: Array

    def __repr__(self) -> str:
        return "GramStatistics(positions={}, images={})".format(*self.norms.shape)


def training_gram(blocks: Blocks, kernel: Kernel) -> tuple[Array, GramStatistics | None]:
    """Return the Gram matrices of the training blocks, and the statistics that new images are centred with."""
    if kernel.is_linear:
        return _centred_products(blocks, blocks), None
    xp = namespace(blocks.values)
    values = _kernel_values(blocks, blocks, kernel)
    norms = xp.diagonal(values, axis1=-2, axis2=-1) + 0.0
    refuse_unnormalisable(norms, kernel)
    values = values / xp.sqrt(norms[:, :, None] * norms[:, None, :])
    means = xp.mean(values, axis=-1)
    grand = xp.mean(means, axis=-1)
    return _double_centred(values, means, means, grand), GramStatistics(norms, means, grand)


def linear_problems(blocks: Blocks, k: int) -> tuple[Array, Array, Array, Array]:
    """Return neighbours and local problems of the training images for the linear kernel."""
    steps = engine.of(blocks.values)
    return steps.training_problems(_products(blocks, blocks), *blocks.factors(), blocks.sums, blocks.luminance, k)


def new_gram(
    new: Blocks, training: Blocks, kernel: Kernel, statistics: GramStatistics | None
) -> tuple[Array, Array, Array]:
    """Return the inner products of new with training blocks, and the squared norms of both."""
    if kernel.is_linear:
        return _centred_products(new, training), _centred_norms(new), _centred_norms(training)
    assert statistics is not None
    xp = namespace(new.values)
    values = _kernel_values(new, training, kernel)
    own = _kernel_diagonal(new, kernel)
    refuse_unnormalisable(own, kernel)
    values = values / xp.sqrt(own[:, :, None] * statistics.norms[:, None, :])
    means = xp.mean(values, axis=-1)
    centred = _double_centred(values, means, statistics.means, statistics.grand)
    # after normalising every k(x, x) is 1
    squared = 1.0 - 2 * means + statistics.grand[:, None]
    training_squared = 1.0 - 2 * statistics.means + statistics.grand[:, None]
    return centred, squared, training_squared


def local_gram(training: Blocks, neighbors: Array, kernel: Kernel, statistics: GramStatistics | None) -> Array:
    """Return the Gram matrices of each new block's training neighbours, without those of all training blocks."""
    xp = namespace(training.values)
    if callable(kernel.name):
        return _local_gram_of_callable(training, neighbors, kernel, statistics)
    steps = engine.of(training.values)
    products = steps.local_products(training.values, neighbors)
    if kernel.is_linear:
        factors = training.factors()
        return steps.centred_local_products(products, neighbors, *factors, training.sums, training.luminance)
    assert statistics is not None
    products = products * training.scale**2
    values = kernel.of_products(products, *_pairs(xp.diagonal(products, axis1=-2, axis2=-1)))
    return _normalised(values, neighbors, statistics)


def _local_gram_of_callable(
    training: Blocks, neighbors: Array, kernel: Kernel, statistics: GramStatistics | None
) -> Array:
    if neighbors.shape[1] <= training.values.shape[1] <= MOST_DENSE:
        return take_local(training_gram(training, kernel)[0], neighbors)
    assert statistics is not None
    xp = namespace(training.values)
    values = xp.stack(
        [
            xp.stack([kernel.of_blocks(x[near], x[near]) for near in index])
            for x, index in zip(training.scaled(), neighbors)
        ]
    )
    return _normalised(values, neighbors, statistics)


def _normalised(values: Array, neighbors: Array, statistics: GramStatistics) -> Array:
    """Kernel values among neighbours, normalised and double-centred (eq. 9-11)."""
    left, right = _pairs(_take(statistics.norms, neighbors))
    values = values / namespace(values).sqrt(left * right)
    left, right = _pairs(_take(statistics.means, neighbors))
    return values - left - right + statistics.grand[:, None, None, None]


def kernel_statistics(blocks: Blocks, kernel: Kernel) -> GramStatistics | None:
    """Return what :func:`training_gram` returns besides, some rows of the kernel's values at a time."""
    if kernel.is_linear:
        return None
    xp = namespace(blocks.values)
    norms = _kernel_diagonal(blocks, kernel)
    refuse_unnormalisable(norms, kernel)
    means = xp.concat(
        [
            xp.mean(
                _kernel_values(some, blocks, kernel) / xp.sqrt(norms[:, rows, None] * norms[:, None, :]),
                axis=-1,
            )
            for rows, some in blocks.parts()
        ],
        axis=1,
    )
    return GramStatistics(norms, means, xp.mean(means, axis=-1))


def take_local(gram: Array, neighbors: Array) -> Array:
    """Take from Gram matrices the part over each image's neighbours."""
    return engine.of(gram).take_local(gram, neighbors)


def _products(a: Blocks, b: Blocks) -> Array:
    """x'y (b, m, n) of the blocks as they are; in float32 there are only integers, whose products are exact."""
    xp = namespace(a.values)
    x, y = a.values, b.values
    if x.dtype != y.dtype:
        x, y = (xp.astype(v, xp.float64, copy=False) for v in (x, y))
    return engine.of(x).products(x, y)


def _centred_products(a: Blocks, b: Blocks) -> Array:
    products = _products(a, b)
    steps = engine.of(products)
    return steps.centred_products(products, *b.factors(), a.sums, b.sums, a.luminance, b.luminance)


def _squares(blocks: Blocks) -> Array:
    """x'x (b, n) of the blocks as they are."""
    return engine.of(blocks.values).squares(blocks.values)


def _centred_norms(blocks: Blocks) -> Array:
    norms = blocks.centre_products(_squares(blocks), blocks.sums, blocks.sums)
    return norms if blocks.luminance is None else norms + blocks.luminance**2


def _kernel_diagonal(blocks: Blocks, kernel: Kernel) -> Array:
    xp = namespace(blocks.values)
    if callable(kernel.name):
        return xp.stack([_diagonal_of_callable(x, kernel) for x in blocks.scaled()])
    squares = _squares(blocks) * blocks.scale**2
    return kernel.of_products(squares, squares, squares)


def _diagonal_of_callable(x: Array, kernel: Kernel) -> Array:
    xp = namespace(x)
    return xp.stack([kernel.of_blocks(row[None, :], row[None, :])[0, 0] for row in x])


def _kernel_values(a: Blocks, b: Blocks, kernel: Kernel) -> Array:
    xp = namespace(a.values)
    if callable(kernel.name):
        return xp.stack([kernel.of_blocks(x, y) for x, y in zip(a.scaled(), b.scaled())])
    squares = [_squares(z) * z.scale**2 for z in (a, b)]
    products = in_float64(_products(a, b)) * a.scale**2
    return kernel.of_products(products, squares[0][:, :, None], squares[1][:, None, :])


def _double_centred(values: Array, means_a: Array, means_b: Array, grand: Array) -> Array:
    return values - means_a[:, :, None] - means_b[:, None, :] + grand[:, None, None]


def _take(values: Array, neighbors: Array) -> Array:
    """Values (b, n) at neighbours (b, m, k)."""
    b, m, k = neighbors.shape
    flat = namespace(values).take_along_axis(values, neighbors.reshape(b, m * k), axis=1)
    return flat.reshape(b, m, k)


def _pairs(values: Array) -> tuple[Array, Array]:
    """Vectors as columns and as rows, which broadcast to all pairs of their entries."""
    return values[..., :, None], values[..., None, :]
