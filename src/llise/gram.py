"""Blocks -> Gram: inner products of blocks, linear or in the feature space of a kernel.

Everything downstream (neighbours, weights, recognition) sees blocks only through inner products, so one code
serves LLISE and kernel LLISE, training and new images (docs/math.md, section 3).  The functions are written in
the array namespace of their input: NumPy, torch, or any other that follows the array API standard.

Shapes: block position first, ``blocks`` (b, n, q); a Gram matrix between ``m`` and ``n`` images is (b, m, n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llise.blocks import Blocks
from llise.engine.backend import namespace, uses_numba

Array = Any
KERNELS = ("linear", "poly", "rbf", "sigmoid")


@dataclass(frozen=True)
class Kernel:
    r"""A kernel :math:`k(x, y)` between blocks with values scaled to [0, 1].

    ``linear`` is :math:`x'y` of the *centred* blocks, so that it is LLISE itself.  The others see the blocks as
    they are, and are normalised and double-centred in feature space (math.md, eq. 9-11): ``poly``
    :math:`(\gamma x'y + c_0)^d`, ``rbf`` :math:`\exp(-\gamma\|x-y\|^2)`, ``sigmoid`` :math:`\tanh(\gamma x'y + c_0)`.
    A callable takes two arrays (m, q) and (n, q) and returns (m, n).
    """

    name: str | Callable = "linear"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    @property
    def is_linear(self) -> bool:
        """Whether features are the centred blocks themselves: nothing to normalise or to centre."""
        return self.name == "linear"

    @property
    def is_definite(self) -> bool:
        """Whether every Gram matrix of this kernel is positive semidefinite, as far as is known."""
        return self.name in ("linear", "rbf") or (self.name == "poly" and self.coef0 >= 0)

    def resolved(self, q: int) -> Kernel:
        """The kernel with :math:`\\gamma = 1/q` filled in, or an error that names a bad setting."""
        if not callable(self.name) and self.name not in KERNELS:
            raise ValueError(f"kernel={self.name!r} is unknown; use one of {', '.join(KERNELS)}, or a callable.")
        gamma = 1.0 / q if self.gamma is None else float(self.gamma)
        if not gamma > 0:
            raise ValueError(f"gamma must be positive (None stands for 1/q), got {self.gamma!r}.")
        return replace(self, gamma=gamma)

    def of_products(self, products: Array, norms_a: Array, norms_b: Array) -> Array:
        """Kernel values from inner products x'y and the squared norms x'x, y'y (broadcast)."""
        xp = namespace(products)
        if self.name == "linear":
            return products
        assert self.gamma is not None  # resolved
        if self.name == "poly":
            return (self.gamma * products + self.coef0) ** self.degree
        if self.name == "sigmoid":
            return xp.tanh(self.gamma * products + self.coef0)
        return xp.exp(-self.gamma * (norms_a + norms_b - 2 * products))

    def of_blocks(self, x: Array, y: Array) -> Array:
        """What a callable says of blocks (m, q) and (n, q): finite values (m, n), or an error."""
        assert callable(self.name)
        xp = namespace(x)
        values = xp.asarray(self.name(x, y), dtype=xp.float64)
        if values.shape != (len(x), len(y)) or not bool(xp.all(xp.isfinite(values))):
            raise ValueError(
                f"the kernel {self.name!r} must return a finite array of shape {(len(x), len(y))} for blocks of "
                f"shapes {tuple(x.shape)} and {tuple(y.shape)}; got shape {tuple(values.shape)}, "
                f"{int(xp.sum(xp.astype(~xp.isfinite(values), xp.int64)))} values not finite."
            )
        return values


@dataclass(frozen=True)
class GramStatistics:
    """What new images need of the training Gram: squared norms before, and means after normalising.

    ``norms`` (b, n) are :math:`k(x_r, x_r)`, ``means`` (b, n) the row means of the normalised kernel and ``grand``
    (b,) their mean.  A new image is centred with these, so its result does not depend on its company (eq. 11).
    """

    norms: Array
    means: Array
    grand: Array


def training_gram(blocks: Blocks, kernel: Kernel) -> tuple[Array, GramStatistics | None]:
    """Gram matrix (b, n, n) of the training blocks, and the statistics new images are centred with."""
    if kernel.is_linear:
        return _centred_products(blocks, blocks), None
    xp = namespace(blocks.values)
    values = _kernel_values(blocks, blocks, kernel)
    norms = xp.linalg.diagonal(values) + 0.0
    refuse_unnormalisable(norms, kernel)
    values = values / xp.sqrt(norms[:, :, None] * norms[:, None, :])
    means = xp.mean(values, axis=-1)
    grand = xp.mean(means, axis=-1)
    return _double_centred(values, means, means, grand), GramStatistics(norms, means, grand)


def linear_problems(blocks: Blocks, k: int) -> tuple[Array, Array, Array, Array]:
    """Neighbours (b, n, k) of the training images and their local problems K, kv, a, for NumPy and the linear kernel.

    The same as :func:`training_gram`, ``training_neighbors`` and :func:`take_local` in one pass over the blocks.
    """
    from llise.engine import numba_gram as _numba_gram

    products = _products(blocks, blocks)
    b, n, _ = products.shape
    neighbors = np.zeros((b, n, k), np.int64)
    K, kv, norms = np.empty((b, n, k, k)), np.empty((b, n, k)), np.empty((b, n))
    _numba_gram.training_problems(products, *blocks.factors(), blocks.sums, _light(blocks), neighbors, K, kv, norms)
    return neighbors, K, kv, norms


def new_gram(
    new: Blocks, training: Blocks, kernel: Kernel, statistics: GramStatistics | None
) -> tuple[Array, Array, Array]:
    """Products of new with training blocks (b, m, n), and the squared norms of the new and of the training ones."""
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
    """Gram matrices (b, m, k, k) among each new block's training neighbours, without the whole (b, n, n)."""
    xp = namespace(training.values)
    if callable(kernel.name):
        return take_local(training_gram(training, kernel)[0], neighbors)
    products = _local_products(training.values, neighbors)
    if kernel.is_linear:
        return _centred_local(products, training, neighbors)
    assert statistics is not None
    products = products * training.scale**2
    values = kernel.of_products(products, *_pairs(xp.linalg.diagonal(products)))
    left, right = _pairs(_take(statistics.norms, neighbors))
    values = values / xp.sqrt(left * right)
    left, right = _pairs(_take(statistics.means, neighbors))
    return values - left - right + statistics.grand[:, None, None, None]


def take_local(gram: Array, neighbors: Array) -> Array:
    """K = the k x k part of a Gram matrix (b, n, n) over each image's neighbours (b, m, k) -> (b, m, k, k)."""
    if uses_numba(gram):
        from llise.engine import numba_gram as _numba_gram

        K = np.empty((*neighbors.shape, neighbors.shape[-1]))
        _numba_gram.take_local(gram, neighbors, K)
        return K
    xp = namespace(gram)
    b, m, k = neighbors.shape
    n = gram.shape[-1]
    index = neighbors[..., :, None] * n + neighbors[..., None, :]
    flat = xp.take_along_axis(xp.reshape(gram, (b, n * n)), xp.reshape(index, (b, m * k * k)), axis=-1)
    return xp.reshape(flat, (b, m, k, k))


def _local_products(values: Array, neighbors: Array) -> Array:
    if uses_numba(values):
        from llise.engine import numba_gram as _numba_gram

        return _numba_gram.local_products(values, neighbors)
    xp = namespace(values)
    b, m, k = neighbors.shape
    index = xp.reshape(neighbors, (b, m * k))[:, :, None]
    rows = xp.take_along_axis(values, xp.broadcast_to(index, (b, m * k, values.shape[-1])), axis=1)
    rows = xp.reshape(rows, (b, m, k, values.shape[-1]))
    return _doubled(xp.matmul(rows, xp.matrix_transpose(rows)))


def _centred_local(products: Array, training: Blocks, neighbors: Array) -> Array:
    if uses_numba(products):
        from llise.engine import numba_gram as _numba_gram

        _numba_gram.centre_local(products, neighbors, *training.factors(), training.sums, _light(training))
        return products
    gram = training.centre_products(products, *_pairs(_take(training.sums, neighbors)))
    if training.luminance is not None:
        left, right = _pairs(_take(training.luminance, neighbors))
        gram = gram + left * right
    return gram


def _light(blocks: Blocks) -> np.ndarray:
    """The luminance coordinate, which is zero where there is none."""
    return np.zeros_like(blocks.sums) if blocks.luminance is None else blocks.luminance


def _take(values: Array, neighbors: Array) -> Array:
    """Values (b, n) at the neighbours (b, m, k)."""
    xp = namespace(values)
    b, m, k = neighbors.shape
    return xp.reshape(xp.take_along_axis(values, xp.reshape(neighbors, (b, m * k)), axis=-1), (b, m, k))


def _pairs(v: Array) -> tuple[Array, Array]:
    return v[..., :, None], v[..., None, :]


def _products(a: Blocks, b: Blocks) -> Array:
    """x'y (b, m, n) of the blocks as they are; in float32 there are only integers, whose products are exact."""
    xp = namespace(a.values)
    x, y = a.values, b.values
    if x.dtype != y.dtype:
        x, y = (xp.astype(v, xp.float64, copy=False) for v in (x, y))
    if uses_numba(x) and x.dtype == np.float64:
        from llise.engine import numba_gram as _numba_gram

        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
        return _numba_gram.own_products(x) if a is b else _numba_gram.cross_products(x, y)
    if x.shape[1] < y.shape[1]:  # BLAS likes the larger matrix first
        return xp.matrix_transpose(xp.matmul(y, xp.matrix_transpose(x)))
    return xp.matmul(x, xp.matrix_transpose(y))


def _centred_products(a: Blocks, b: Blocks) -> Array:
    products = _products(a, b)
    if uses_numba(products):
        from llise.engine import numba_gram as _numba_gram

        gram = np.empty(products.shape)
        _numba_gram.centred(products, *b.factors(), a.sums, b.sums, _light(a), _light(b), gram)
        return gram
    gram = b.centre_products(_doubled(products), a.sums[:, :, None], b.sums[:, None, :])
    if a.luminance is not None and b.luminance is not None:
        gram = gram + a.luminance[:, :, None] * b.luminance[:, None, :]
    return gram


def _squares(blocks: Blocks) -> Array:
    """x'x (b, n) of the blocks as they are."""
    if uses_numba(blocks.values):
        from llise.engine import numba_gram as _numba_gram

        return _numba_gram.squares(np.ascontiguousarray(blocks.values))
    xp = namespace(blocks.values)
    return _doubled(xp.sum(blocks.values * blocks.values, axis=-1))


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
        pairs = zip(a.scaled(), b.scaled())
        return xp.stack([kernel.of_blocks(x, y) for x, y in pairs])
    squares = [_squares(z) * z.scale**2 for z in (a, b)]
    products = _doubled(_products(a, b)) * a.scale**2
    return kernel.of_products(products, squares[0][:, :, None], squares[1][:, None, :])


def _doubled(values: Array) -> Array:
    """The same in float64."""
    xp = namespace(values)
    return xp.astype(values, xp.float64, copy=False)


def _double_centred(values: Array, means_a: Array, means_b: Array, grand: Array) -> Array:
    return values - means_a[:, :, None] - means_b[:, None, :] + grand[:, None, None]


def refuse_unnormalisable(norms: Array, kernel: Kernel) -> None:
    """A kernel is normalised by k(x, x), which must be positive for every block."""
    xp = namespace(norms)
    usable = (norms > 0) & xp.isfinite(norms)
    if not bool(xp.all(usable)):
        bad = float(norms[~usable][0])
        raise ValueError(
            f"kernel={kernel.name!r} cannot be normalised: k(x, x) = {bad:g} for some block, but it must be "
            "positive and finite. Choose another kernel, or gamma and coef0 that make k(x, x) > 0."
        )
