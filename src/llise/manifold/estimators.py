"""LLISE as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from llise.engine.backend import as_input, check_device, to_numpy, working
from llise.manifold.admm import ADMM
from llise.manifold.base import Learner, training_input, with_tuples
from llise.manifold.blocks import BlockGrid
from llise.manifold.duplicates import landmarks
from llise.manifold.execution import Execution
from llise.manifold.gram import Kernel
from llise.manifold.pipeline import Fitted, Settings
from llise.manifold.planes import check_weights, colour_grid, laid_out
from llise.manifold.restoring import checked_blocks
from llise.manifold.validation import (
    as_images,
    check_choice,
    check_integer,
    check_jobs,
    check_number,
    check_range,
    grey_range,
)
from llise.manifold.weights import CONSTRAINTS, RIDGE

Array = Any


class LLISE(Learner):
    r"""Locally linear image structural embedding.

    At every block position, with :math:`\|\cdot\|_S` the SSIM distance (docs/math.md, eq. 13 and 25):

    .. math:: \min_w \|x_j - \textstyle\sum_r w_r x_{(r)}\|_S,\quad \|w\| = 1 \qquad\text{then}\qquad
              \min_Y \sum_j \|y_j - (SY)_j\|_S,\quad Y'1 = 0,\; Y'Y = nI.

    Parameters
    ----------
    n_components : int, default 4
        Number p of coordinates of a block; less than the number of images.
    n_neighbors : int, default 10
        Number k of neighbours; at most n - 1 of n images are used (with a warning).
    block_size : int or None, default 8
        Side of a block in pixels.  Images whose sides are no multiple of it are padded by repeating the edge.  None
        makes one manifold of whole images, of p coordinates, instead of one at each block position, of b*p.
    image_shape : tuple of int, optional
        Height and width of images passed as rows (n, h*w), and 3 for colour.  Without it, each row is one block.
    constraint : {"affine", "sphere"}, default "affine"
        Weights of unit sum (as in LLE) or of unit norm (the paper).
    solver : {"exact", "admm"} or ADMM, default "exact"
        "exact" finds globally optimal weights and a stationary embedding, "admm" runs the paper's iterations.
    as_published : bool, default False
        With ``solver="admm"``: follow the paper exactly, including its errors.
    luminance : float, optional
        Gain of an additional coordinate, the mean of a block; with 1 it counts like all else, with 0 (the paper) not at
        all.  None is 1 for the linear kernel; the others see the mean anyway.
    ridge : float, default 1.0
        Regularisation of the affine weights, relative to the trace of the local Gram matrix; at least 1e-6.
    data_range : float, optional
        Grey values lie in [0, data_range].  None infers it for uint8, uint16 and floats in [0, 1], and takes the span
        of the values of other rows; other images need it.
    plane_weights : (float, float, float), default (1, 1, 1)
        Weights of luma and the two chroma planes in the SSIM of colour images (docs/math.md, eq. 46).
    n_landmarks : int, optional
        Learn the manifold of that many images alone, and place all others on it as new images: for sets of more than
        some 20 000.  The landmarks are a uniform random sample of the different images that does not depend on their
        order (those with the smallest hashes of their pixels).  ``training_images_``, ``embedding_`` and all other
        fitted attributes are those of the landmarks; :meth:`fit_transform` returns coordinates of all images.
    store_weights : bool, default True
        Whether to store ``weights_`` and ``neighbors_``.
    device : {"cpu", "cuda", "cuda:1", ...}, optional
        Where to work; "cuda" is an NVIDIA GPU (needs the extra ``gpu``), None works where the images are.
        Arrays of CuPy and tensors of torch are taken and given back.
    random_state : int, RandomState or None
        Seed for the starting points of the ADMM solver; the exact solver is deterministic.
    n_jobs : int, optional
        Chunks worked on at once, as in joblib; results do not depend on it.
    verbose : int, default 0
        Above 0: show a progress bar on a terminal.

    Attributes
    ----------
    embedding_ : array (b, n, p)
        Coordinates of the training images at each block.
    weights_ : float32 array (b, n, k)
        Weights of the neighbours; None with ``store_weights=False``.
    neighbors_ : uint8 (up to 256 images) or int32 array (b, n, k)
        Indices of the neighbours; None with ``store_weights=False``.
    block_grid_ : (int, int)
        Rows and columns of blocks.
    reconstruction_error_, embedding_error_ : float
        The two objectives, summed over images and blocks.
    constraint_violation_, stationarity_ : float
        Largest deviation of a block from the constraints, and largest relative Riemannian gradient (eq. 36).
    n_iter_ : int
        Largest number of Hessian products (exact) or iterations (ADMM) of a block.
    blocks_ : Fitted
        All results block by block.
    data_range_ : float
        The range of grey values that was used.
    training_images_ : array (n, h, w) or (n, h, w, 3)
        The images passed to ``fit``, or the landmarks among them.
    landmarks_ : int ndarray (n_landmarks,) or None
        Indices of the landmarks; None without `n_landmarks`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import LLISE
    >>> images = np.random.default_rng(0).random((9, 8, 16))
    >>> learner = LLISE(2, n_neighbors=3).fit(images)
    >>> learner.embedding_.shape, learner.block_grid_
    ((2, 9, 2), (1, 2))
    >>> learner.transform(images[:4]).shape
    (4, 4)
    """

    def __init__(
        self,
        n_components=4,
        *,
        n_neighbors=10,
        block_size=8,
        image_shape=None,
        constraint="affine",
        solver="exact",
        as_published=False,
        luminance=None,
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
        self.plane_weights = plane_weights
        self.n_landmarks = n_landmarks
        self.store_weights = store_weights
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def as_in_paper(cls, n_components=4, **changes) -> Self:
        """A learner with the problem of the paper: weights of unit norm, no luminance, k = 10, blocks of 8 x 8.

        The solver is the exact one; ``solver="admm", as_published=True`` also follows the paper's iterations.

        Parameters
        ----------
        n_components : int, default 4
            The paper's p.
        **changes
            Other parameters of the constructor.

        Returns
        -------
        LLISE
            Not fitted.

        Examples
        --------
        >>> from llise import LLISE
        >>> LLISE.as_in_paper(n_jobs=2)
        LLISE(constraint='sphere', luminance=0.0, n_jobs=2)
        """
        paper = {"n_neighbors": 10, "block_size": 8, "constraint": "sphere", "luminance": 0.0}
        return cls(n_components, **(paper | changes))

    def embed(self, X, *, return_error=False):
        """Coordinates of new images, block by block.

        Parameters
        ----------
        X : array (m, h, w), (m, h, w, 3) or (m, h*w)
            Images of the size of the training images.
        return_error : bool, default False
            Whether to return the reconstruction errors as well.

        Returns
        -------
        coordinates : array (b, m, p)
        errors : array (b, m)
            Objective of each block's weights (docs/math.md, eq. 13); only with ``return_error=True``.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLISE
        >>> images = np.random.default_rng(0).random((9, 8, 16))
        >>> coordinates, errors = LLISE(2, n_neighbors=3).fit(images).embed(images[:1], return_error=True)
        >>> coordinates.shape, errors.shape
        ((2, 1, 2), (2, 1))
        """
        check_is_fitted(self, "embedding_")
        images, grid = self._images(X, reset=False)
        check_range(images, self.data_range_, rows=self.image_shape_ is None)
        execution = self._execution("transform")
        training, levels = self._planes(self.training_images_)
        new, _ = self._planes(images, levels)
        result = execution.embed(new, training, grid, self.blocks_, self._fitted_settings)
        coordinates, errors = (as_input(images, part) for part in result)
        return (coordinates, errors) if return_error else coordinates

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and settings from which :meth:`from_state` restores the fitted learner.

        The weights and the neighbours are left out, as with ``store_weights=False``: new images do not need them, and
        the state stays little larger than the training images.

        Returns
        -------
        arrays : dict of str to ndarray
            The training images and the arrays of ``blocks_``.
        settings : dict
            Parameters, data range, seed, and whether the measurements of the fit are in ``arrays``.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLISE
        >>> images = np.random.default_rng(0).random((9, 8, 8))
        >>> arrays, settings = LLISE(2, n_neighbors=3).fit(images).to_state()
        >>> arrays["coordinates"].shape, settings["data_range"]
        ((1, 9, 2), 1.0)
        """
        arrays, settings = super().to_state()
        needed = replace(self.blocks_, weights=None, neighbors=None)
        arrays |= {name: to_numpy(value) for name, value in vars(needed).items() if value is not None}
        measured = self.blocks_.objective is not None
        fitted = {"data_range": self.data_range_, "seed": self._fitted_settings.seed, "measured": measured}
        return arrays, settings | fitted

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Self:
        """Restore a fitted learner without fitting it again.

        Parameters
        ----------
        arrays : dict of str to ndarray
            As :meth:`to_state` returned them.
        settings : dict
            As :meth:`to_state` returned them, or the same after a way through JSON.  With ``measured=False`` the
            measurements of the fit (errors, stationarity, iterations) may be missing.

        Returns
        -------
        LLISE
            The fitted learner; ``weights_`` and ``neighbors_`` are None.

        Raises
        ------
        KeyError, ValueError
            Something is missing or does not belong together.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLISE
        >>> learner = LLISE(2, n_neighbors=3).fit(np.random.default_rng(0).random((9, 8, 8)))
        >>> restored = LLISE.from_state(*learner.to_state())
        >>> bool((restored.embedding_ == learner.embedding_).all())
        True
        """
        parameters = with_tuples(settings["parameters"])
        if isinstance(parameters["solver"], dict):
            parameters["solver"] = ADMM(**with_tuples(parameters["solver"]))
        learner = cls(**parameters)
        images, grid = learner._images(training_input(arrays, settings), reset=True)
        learner.landmarks_ = None
        learner.data_range_ = grey_range(images, settings["data_range"], rows=learner.image_shape_ is None)
        seed = check_integer("seed", settings["seed"], 0, 2**31 - 1)
        fit_settings = replace(learner._settings(images, grid), seed=seed)
        fitted = checked_blocks(arrays, grid.n_blocks, len(images), fit_settings, settings.get("measured", True))
        learner._store(fitted, images, grid, fit_settings)
        return learner

    def _fit(self, X) -> None:
        images, grid = self._images(X, reset=True)
        self.data_range_ = grey_range(images, self.data_range, rows=self.image_shape_ is None)
        self.landmarks_ = None
        if self.n_landmarks is not None and check_integer("n_landmarks", self.n_landmarks, 2) < len(images):
            self.landmarks_ = landmarks(working(images), self.n_landmarks)
            images = images[self.landmarks_]
        settings = self._settings(images, grid)
        fitted = self._execution("fit").fit(self._planes(images)[0], grid, settings, self.store_weights)
        self._store(fitted, images, grid, settings)

    def _execution(self, verb: str) -> Execution:
        progress = f"{type(self).__name__} {verb}" if self.verbose else None
        return Execution(self.device, self.n_jobs, progress)

    def _images(self, X, reset: bool) -> tuple[Array, BlockGrid]:
        """Checked images, and how they, or the planes of colour images side by side, are cut into blocks."""
        images, grid = as_images(self, X, reset=reset)
        if images.ndim == 4:
            grid = colour_grid(images.shape[1:], self.block_size, luminance=bool(self._luminance()))
        return images, grid

    def _planes(self, images: Array, levels: Array | None = None) -> tuple[Array, Array | None]:
        """Grey images as they are; the planes of colour images side by side, and their means over the training."""
        images = working(images)
        if images.ndim == 3:
            return images, None
        weights, linear = check_weights(self.plane_weights), self._kernel().is_linear
        luminance = self._luminance()
        return laid_out(images, self.block_size, weights, centre=linear, luminance=luminance, levels=levels)

    def _luminance(self) -> float:
        """The gain of the mean of a block; kernels other than the linear one see the mean anyway."""
        linear = self._kernel().is_linear
        gain = float(linear) if self.luminance is None else check_number("luminance", self.luminance)
        if gain and not linear:
            raise ValueError(
                f"luminance={gain:g} goes with the linear kernel only: the kernel {self._kernel().name!r} takes the "
                "luminance of blocks into account anyway. Use luminance=0."
            )
        return gain

    def _kernel(self) -> Kernel:
        return Kernel("linear")

    def _settings(self, images: Array, grid: BlockGrid) -> Settings:
        """The checked parameters as the pipeline takes them."""
        n, q = images.shape[0], grid.q
        if images.ndim == 4:
            q = BlockGrid.of_images(images.shape[1:3], self.block_size).q
        k, p = self._counts(n)
        check_jobs(self.n_jobs)
        check_device(self.device)
        check_choice("constraint", self.constraint, CONSTRAINTS)
        if self.block_size is not None:
            check_integer("block_size", self.block_size, 2)
        kernel = self._kernel().resolved(q)
        luminance = self._luminance() if images.ndim == 3 else 0.0  # colour has it in its planes
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
                raise ValueError(
                    "as_published=True goes with solver='admm': the exact solver does not repeat the paper's errors."
                )
            return None
        return replace(chosen, as_published=chosen.as_published or bool(self.as_published)).resolved(kernel.name)

    def _store(self, fitted: Fitted, images: Array, grid: BlockGrid, settings: Settings) -> None:
        """Set the fitted attributes."""
        self.blocks_, self._fitted_settings, self.training_images_ = fitted, settings, images
        self.embedding_, self.weights_, self.neighbors_ = (
            None if part is None else as_input(images, part)
            for part in (fitted.coordinates, fitted.weights, fitted.neighbors)
        )
        self.block_grid_ = (grid.rows, grid.cols)
        self._forget_map()
        if fitted.objective is not None:
            self.reconstruction_error_ = float(fitted.reconstruction_error.sum())
            self.embedding_error_ = float(fitted.objective.sum())
            self.constraint_violation_ = float(fitted.violation.max())
            self.stationarity_ = float(fitted.stationarity.max())
            self.n_iter_ = int(fitted.n_iter.max())
