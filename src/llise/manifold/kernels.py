"""Kernels between blocks: their names, settings and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from numbers import Real
from typing import Any

from llise.engine.backend import namespace

Array = Any
KERNELS = ("linear", "poly", "rbf", "sigmoid")


@dataclass(frozen=True)
class Kernel:
    r"""A kernel :math:`k(x, y)` between blocks with values scaled to [0, 1].

    ``linear`` is :math:`x'y` of the *centred* blocks, so that it is LLISE itself.  The others see the blocks as
    they are, and are normalised and double-centred in feature space (math.md, eq. 9-11): ``poly``
    :math:`(\gamma x'y + c_0)^d`, ``rbf`` :math:`\exp(-\gamma\|x-y\|^2)`, ``sigmoid`` :math:`\tanh(\gamma x'y + c_0)`.
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
        """Return the kernel with :math:`\\gamma = 1/q` filled in; a wrong setting is an error."""
        if not callable(self.name) and self.name not in KERNELS:
            raise ValueError(f"kernel={self.name!r} is unknown; use one of {', '.join(KERNELS)}, or a callable.")
        gamma: Any = 1.0 / q if self.gamma is None else self.gamma
        if not (_is_finite(gamma) and gamma > 0):
            raise ValueError(f"gamma must be a positive number (None stands for 1/q), got {self.gamma!r}.")
        if not (_is_finite(self.degree) and self.degree > 0):
            raise ValueError(f"degree must be a positive number, got {self.degree!r}.")
        if not _is_finite(self.coef0):
            raise ValueError(f"coef0 must be a finite number, got {self.coef0!r}.")
        gamma = float(gamma)
        return replace(self, gamma=gamma)

    def of_products(self, products: Array, norms_a: Array, norms_b: Array) -> Array:
        """Return kernel values from inner products and squared norms of blocks."""
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
        """Return the values of a kernel that is a callable; values that are not finite are an error."""
        assert callable(self.name)
        xp = namespace(x)
        try:
            values = xp.asarray(self.name(x, y), dtype=xp.float64)
        except Exception as error:
            raise ValueError(
                f"the kernel {self.name!r} failed for blocks of shapes {tuple(x.shape)} and {tuple(y.shape)}: "
                f"{type(error).__name__}: {error}; it must return an array of shape {(len(x), len(y))}."
            ) from error
        if values.shape != (len(x), len(y)) or not bool(xp.all(xp.isfinite(values))):
            raise ValueError(
                f"the kernel {self.name!r} must return a finite array of shape {(len(x), len(y))} for blocks of "
                f"shapes {tuple(x.shape)} and {tuple(y.shape)}; got shape {tuple(values.shape)}, "
                f"{int(xp.sum(xp.astype(~xp.isfinite(values), xp.int64)))} values not finite."
            )
        return values


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def refuse_unnormalisable(norms: Array, kernel: Kernel) -> None:
    """Raise an error where a kernel cannot be normalised: k(x, x) must be positive for every block."""
    xp = namespace(norms)
    usable = (norms > 0) & xp.isfinite(norms)
    if not bool(xp.all(usable)):
        bad = float(norms[~usable][0])
        raise ValueError(
            f"kernel={kernel.name!r} cannot be normalised: k(x, x) = {bad:g} for some block, but it must be "
            "positive and finite. Choose another kernel, or gamma and coef0 that make k(x, x) > 0."
        )
