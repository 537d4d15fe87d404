"""Kernel LLISE as a scikit-learn estimator."""

from __future__ import annotations

from llise.manifold.estimators import LLISE
from llise.manifold.gram import Kernel
from llise.manifold.weights import RIDGE


class KernelLLISE(LLISE):
    r"""Kernel LLISE: neighbours and weights in the feature space of a kernel, the embedding as in LLISE.

    The kernel is normalised, :math:`k(x,y)/\sqrt{k(x,x)k(y,y)}`, and double-centred; new images are centred with
    the training images' statistics (docs/math.md, eq. 9-11).  ``kernel="linear"`` is the same as LLISE.

    Parameters
    ----------
    n_components : int, default 4
        As in :class:`LLISE`.
    kernel : {"linear", "poly", "rbf", "sigmoid"} or callable, default "rbf"
        A callable takes blocks (m, q) and (n, q), scaled to [0, 1], and returns (m, n).
    gamma : float, optional
        Factor in the kernel; None is 1/q, with q the number of pixels of a block.
    degree : int, default 3
        Degree of the polynomial kernel.
    coef0 : float, default 1
        Constant of the polynomial and the sigmoid kernel.
    n_neighbors, block_size, image_shape, constraint, solver, as_published, luminance, ridge
        As in :class:`LLISE`.
    data_range, plane_weights, n_landmarks, store_weights, device, random_state, n_jobs, verbose
        As in :class:`LLISE`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import KernelLLISE
    >>> images = np.random.default_rng(0).random((9, 8, 8))
    >>> KernelLLISE(2, kernel="poly", n_neighbors=3).fit_transform(images).shape
    (9, 2)
    """

    def __init__(
        self,
        n_components=4,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1,
        n_neighbors=10,
        block_size=8,
        image_shape=None,
        constraint="sphere",
        solver="exact",
        as_published=False,
        luminance=0.0,
        ridge=RIDGE,
        data_range=None,
        plane_weights=(1.0, 1.0, 1.0),
        n_landmarks=None,
        store_weights=True,
        device=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            block_size=block_size,
            image_shape=image_shape,
            constraint=constraint,
            solver=solver,
            as_published=as_published,
            luminance=luminance,
            ridge=ridge,
            data_range=data_range,
            plane_weights=plane_weights,
            n_landmarks=n_landmarks,
            store_weights=store_weights,
            device=device,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0)
