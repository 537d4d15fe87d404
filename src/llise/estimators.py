"""LLISE and kernel LLISE as scikit-learn estimators: validate, call the steps, store."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from llise import engine
from llise.admm import ADMM
from llise.blocks import BlockGrid
from llise.engine.backend import as_input, blocks_at_once, namespace, to_device, to_numpy
from llise.engine.tasks import gather, run_chunks
from llise.gram import Kernel
from llise.pipeline import Fitted, Settings, fit_chunk, transform_chunk
from llise.validation import as_images, check_choice, check_integer, check_number, check_range, grey_range
from llise.weights import CONSTRAINTS, RIDGE

Array = Any
LEAST_RIDGE = 1e-6


class Learner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all learners share: images in, rows of coordinates out, the map of whole images."""

    def fit(self, X, y=None):
        """Learn the manifold of images X (n, h, w), or rows (n, h*w); y is ignored."""
        self._fit(X)
        return self

    def fit_transform(self, X, y=None):
        """Learn the manifold and return the training images' coordinates (n, b*p)."""
        self._fit(X)
        return self._rows(self.embedding_)

    def transform(self, X):
        """Coordinates (n, b*p) of new images, each by linear reconstruction from its training neighbours."""
        return self._rows(self.embed(X))

    def image_map(self, X=None):
        """Whole images in the plane: classical scaling of the squared distances summed over blocks.

        Block embeddings are defined up to a rotation, distances are not, and the sum over blocks of squared
        distances is the squared distance of the rows (n, b*p): scaling it to two dimensions is their PCA.

        Parameters
        ----------
        X : images, optional
            New images to place in the map of the training images; None gives the training images.
        """
        check_is_fitted(self, "embedding_")
        return self.place(self.embedding_ if X is None else self.embed(X))

    def place(self, coordinates):
        """Positions (m, 2) in the map of whole images from the coordinates (b, m, p) of all their blocks."""
        check_is_fitted(self, "embedding_")
        if not hasattr(self, "_map"):
            self._map = _principal_axes(to_numpy(self._rows(self.embedding_)))
        centre, axes = self._map
        return (to_numpy(self._rows(coordinates)) - centre) @ axes.T

    def _ridge(self) -> float:
        """Neighbours are duplicates or dependent as a rule: without a ridge their weights are not determined."""
        return check_number("ridge", self.ridge, LEAST_RIDGE)

    def _counts(self, n: int) -> tuple[int, int]:
        """k and p for n images: at most n - 1 neighbours, with a warning, and fewer coordinates than images."""
        p = check_integer("n_components", self.n_components, 1)
        k = check_integer("n_neighbors", self.n_neighbors, 1)
        if p >= n:
            raise ValueError(
                f"n_components={p} needs at least {p + 1} images for coordinates of zero mean and unit covariance, "
                f"got n_samples={n}: use n_components={n - 1} or less."
            )
        if n <= k:
            warnings.warn(
                f"n_neighbors={k} needs more than n_samples={n} images; {n - 1} neighbours are used.", stacklevel=5
            )
        return min(k, n - 1), p

    @property
    def _n_features_out(self) -> int:
        b, _, p = self.embedding_.shape
        return b * p

    def _rows(self, coordinates: Array) -> Array:
        xp = namespace(coordinates)
        b, n, p = coordinates.shape
        return xp.reshape(xp.permute_dims(coordinates, (1, 0, 2)), (n, b * p))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _principal_axes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and first two principal axes of rows that are few and long, by their Gram matrix."""
    centre = rows.mean(axis=0)
    centred = rows - centre
    values, vectors = np.linalg.eigh(centred @ centred.T)
    first = slice(None, -min(2, *rows.shape) - 1, -1)
    axes = vectors[:, first].T @ centred / np.sqrt(np.maximum(values[first, None], 1e-12))
    signs = np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1))
    return centre, axes * signs  # a sign is arbitrary: the largest entry is positive


class LLISE(Learner):
    r"""Locally linear image structural embedding.

    At every block position, with :math:`\|\cdot\|_S` the SSIM distance (docs/math.md, eq. 13 and 25):

    .. math:: \min_w \|x_j - \textstyle\sum_r w_r x_{(r)}\|_S,\quad \|w\| = 1 \qquad\text{then}\qquad
              \min_Y \sum_j \|y_j - (SY)_j\|_S,\quad Y'1 = 0,\; Y'Y = nI.

    Parameters
    ----------
    n_components : int, default 4
        p, coordinates of a block; below the number of images.
    n_neighbors : int, default 10
        k; with n images, at most n - 1 are taken (with a warning).
    block_size : int, default 8
        Side of a block; image sides that are no multiple are padded by edge replication.
    image_shape : (int, int), optional
        Height and width of images given as rows (n, h*w).  Rows without it are one block each.
    constraint : {"sphere", "affine"}, default "sphere"
        Weights of unit norm (the paper) or of unit sum (LLE's).
    solver : {"exact", "admm"} or ADMM, default "exact"
        Globally optimal weights and a stationary embedding, or the paper's iterations.
    as_published : bool, default False
        With ``solver="admm"``: follow the paper to the letter, its slips included.
    luminance : float, default 0.0
        Gain of the coordinate that lets LLISE see a block's luminance; 0 is the paper, 0.5 serves recognition.
    ridge : float, default 1e-2
        Regularisation of the affine weights, against the trace of the local Gram matrix; at least 1e-6.
    data_range : float, optional
        l: grey values lie in [0, l].  None infers it for uint8, uint16 and floats in [0, 1].
    store_weights : bool, default True
        Whether ``weights_`` and ``neighbors_`` are kept.
    device : str, optional
        "cuda" or another torch device to work on (extra ``gpu``); None works where the input lies.
    random_state : int, RandomState or None
        Starts of the iterative solver; the exact one is deterministic.
    n_jobs : int, optional
        Chunks worked on at once, as in joblib; results do not depend on it.
    verbose : int, default 0
        Above 0: a progress bar on a terminal.

    Attributes
    ----------
    embedding_ : array (b, n, p)
    weights_ : float32 array (b, n, k)
    neighbors_ : uint8 (up to 256 images) or int32 array (b, n, k)
    block_grid_ : (rows, cols)
    reconstruction_error_, embedding_error_ : float
        The two objectives, summed over images and blocks.
    constraint_violation_, stationarity_ : float
        The worst block's deviation from the constraints and relative Riemannian gradient (eq. 36).
    n_iter_ : int
        The most Hessian products (exact) or rounds (ADMM) that a block took.
    blocks_ : Fitted
        All of this block by block.
    data_range_ : float
    training_images_ : array (n, h, w)
    """

    def __init__(
        self,
        n_components=4,
        *,
        n_neighbors=10,
        block_size=8,
        image_shape=None,
        constraint="sphere",
        solver="exact",
        as_published=False,
        luminance=0.0,
        ridge=RIDGE,
        data_range=None,
        store_weights=True,
        device=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.block_size = block_size
        self.image_shape = image_shape
        self.constraint = constraint
        self.solver = solver
        self.as_published = as_published
        self.luminance = luminance
        self.ridge = ridge
        self.data_range = data_range
        self.store_weights = store_weights
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _kernel(self) -> Kernel:
        return Kernel("linear")

    def _fit(self, X) -> None:
        images, grid = as_images(self, X, reset=True)
        self.data_range_ = grey_range(images, self.data_range, rows=self.image_shape_ is None)
        settings = self._settings(images, grid)
        worked_on = self._on_device(images)
        strips = self._strips(worked_on, grid, 64)
        tasks = (
            (grid.pixels(worked_on, strip), grid, strip[0] * grid.cols, settings, self.store_weights)
            for strip in strips
        )
        parts = run_chunks(fit_chunk, tasks, len(strips), self._jobs(worked_on), self._progress("fit"))
        fitted = gather((self._as_input(vars(part), images) for part in parts), grid.n_blocks)
        self._keep(Fitted(**fitted), images, grid, settings)

    def embed(self, X, *, return_error=False):
        """Coordinates (b, m, p) of new images; with ``return_error`` also their reconstruction errors (b, m)."""
        check_is_fitted(self, "embedding_")
        images, grid = as_images(self, X, reset=False)
        check_range(images, self.data_range_, rows=self.image_shape_ is None)
        twins = twins_of(images, self.training_images_)
        worked_on = self._on_device(images)
        strips = self._strips(worked_on, grid, 256)

        needed = replace(self.blocks_, weights=None, neighbors=None)  # the largest arrays stay at home

        def tasks():
            for strip in strips:
                part = slice(strip[0] * grid.cols, strip[1] * grid.cols)
                slab = self._on_device(grid.pixels(self.training_images_, strip))
                fitted = needed[part].apply(self._on_device)
                yield (grid.pixels(worked_on, strip), slab, twins, grid, part.start, fitted, self._fitted_settings)

        jobs, progress = self._jobs(worked_on), self._progress("transform")
        parts = run_chunks(transform_chunk, tasks(), len(strips), jobs, progress)
        named = (self._as_input({"coordinates": y, "error": f}, images) for y, f in parts)
        placed = gather(named, grid.n_blocks)
        return (placed["coordinates"], placed["error"]) if return_error else placed["coordinates"]

    def _on_device(self, array: Array) -> Array:
        """NumPy arrays go to the torch device that was asked for; torch tensors stay where they are."""
        return to_device(array, self.device)

    def _settings(self, images: Array, grid: BlockGrid) -> Settings:
        n, q = images.shape[0], grid.q
        k, p = self._counts(n)
        check_choice("constraint", self.constraint, CONSTRAINTS)
        check_integer("block_size", self.block_size, 2)
        kernel = self._kernel().resolved(q)
        luminance = check_number("luminance", self.luminance)
        if luminance and not kernel.is_linear:
            raise ValueError(
                f"luminance={luminance:g} goes with the linear kernel only: {kernel.name!r} sees the blocks with "
                "their luminance anyway. Use luminance=0."
            )
        if q < 2:
            raise ValueError(f"X has n_features={q}: a block needs at least 2 values for its SSIM.")
        admm = self._admm(kernel)
        seed = 0 if admm is None else int(check_random_state(self.random_state).randint(2**31))
        return Settings(kernel, k, p, self.constraint, self._ridge(), luminance, self.data_range_, q, admm, seed)

    def _admm(self, kernel: Kernel) -> ADMM | None:
        if isinstance(self.solver, ADMM):
            chosen = self.solver
        elif check_choice("solver", self.solver, ("exact", "admm")) == "admm":
            chosen = ADMM()
        else:
            if self.as_published:
                raise ValueError("as_published=True goes with solver='admm': the exact solver has no slips to keep.")
            return None
        return replace(chosen, as_published=chosen.as_published or bool(self.as_published)).resolved(kernel.name)

    def _keep(self, fitted: Fitted, images: Array, grid: BlockGrid, settings: Settings) -> None:
        self.blocks_, self._fitted_settings, self.training_images_ = fitted, settings, images
        self.embedding_, self.weights_, self.neighbors_ = fitted.coordinates, fitted.weights, fitted.neighbors
        self.block_grid_ = (grid.rows, grid.cols)
        self.__dict__.pop("_map", None)
        if fitted.objective is not None:
            self.reconstruction_error_ = float(fitted.reconstruction_error.sum())
            self.embedding_error_ = float(fitted.objective.sum())
            self.constraint_violation_ = float(fitted.violation.max())
            self.stationarity_ = float(fitted.stationarity.max())
            self.n_iter_ = int(fitted.n_iter.max())

    def _resume(self, X, kept: dict[str, np.ndarray], data_range: float, seed: int = 0, measured: bool = True) -> LLISE:
        """As fitted on X before, from what was kept of ``blocks_``; checked, as compiled code trusts shapes.

        Coordinates and the statistics that new images need must be there, and measurements of the fit where
        ``measured``.
        """
        images, grid = as_images(self, X, reset=True)
        self.data_range_ = grey_range(images, data_range, rows=self.image_shape_ is None)
        settings = replace(self._settings(images, grid), seed=seed)
        b, n = grid.n_blocks, len(images)
        expected: dict[str, tuple[int, ...]] = {"coordinates": (b, n, settings.n_components)}
        if not settings.kernel.is_linear:
            expected |= {"norms": (b, n), "means": (b, n), "grand": (b,)}
        if settings.luminance:
            expected["level"] = (b,)
        for name in expected:
            if not np.isfinite(kept[name]).all():
                raise ValueError(f"{name} has NaN or infinity")
        if measured:
            names = ("reconstruction_error", "objective", "stationarity", "n_iter", "violation")
            expected |= dict.fromkeys(names, (b,)) | {"history": (b, *kept["history"].shape[1:])}
        for name, shape in expected.items():
            if kept[name].shape != shape:
                raise ValueError(f"{name} has shape {kept[name].shape}, expected {shape}")
        parts: dict[str, Any] = dict.fromkeys(part.name for part in fields(Fitted))
        self._keep(Fitted(**parts | {name: kept[name] for name in expected}), images, grid, settings)
        return self

    def _as_input(self, part: dict[str, Array], images: Array) -> dict[str, Array]:
        """A chunk's results where the images are; coordinates are float32 for float32 images, else float64."""
        part = {name: None if v is None else as_input(images, v) for name, v in part.items()}
        if str(images.dtype).endswith("float32"):
            xp = namespace(part["coordinates"])
            part["coordinates"] = xp.astype(part["coordinates"], xp.float32, copy=False)
        return part

    def _strips(self, images: Array, grid: BlockGrid, on_cpu: int) -> list[tuple[int, int]]:
        """The chunks: about ``on_cpu`` blocks each on a CPU, on a GPU as many as its memory holds."""
        n, k = images.shape[0], min(self.n_neighbors, images.shape[0])
        # about 16 arrays (n, n) and 12 of n problems (k + 1, k + 1) are alive at once in the array engine
        return grid.chunks(blocks_at_once(images, 8 * (16 * n * n + 12 * n * (k + 1) ** 2), on_cpu))

    def _jobs(self, images: Array) -> int | None:
        return engine.of(images).workers(self.n_jobs)

    def _progress(self, what: str) -> str | None:
        return f"{type(self).__name__} {what}" if self.verbose else None


class KernelLLISE(LLISE):
    r"""Kernel LLISE: neighbours and weights in the feature space of a kernel, the embedding as in LLISE.

    The kernel is normalised, :math:`k(x,y)/\sqrt{k(x,x)k(y,y)}`, and double-centred; new images are centred with
    the training images' statistics (docs/math.md, eq. 9-11).  ``kernel="linear"`` is LLISE itself.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid"} or callable, default "rbf"
        A callable takes blocks (m, q) and (n, q), scaled to [0, 1], and returns (m, n).
    gamma : float, optional
        None is 1/q.
    degree : int, default 3
    coef0 : float, default 1
    n_components, **others
        As in :class:`LLISE`.
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


def twins_of(images: Array, training: Array) -> np.ndarray:
    """For each new image the first training image that equals it everywhere, or -1."""
    new, old = (part.reshape((part.shape[0], -1)) for part in (images, training))
    some = np.linspace(0, new.shape[1] - 1, 64).astype(int)
    alike = (to_numpy(new[:, some])[:, None, :] == to_numpy(old[:, some])[None, :, :]).all(axis=-1)
    twins = np.full(new.shape[0], -1)
    for j, r in np.argwhere(alike):
        if twins[j] < 0 and np.array_equal(to_numpy(new[int(j)]), to_numpy(old[int(r)])):
            twins[j] = r
    return twins
