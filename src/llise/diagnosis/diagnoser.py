"""What is wrong with a degraded copy of a reference, where, and how strongly."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from llise import datasets, distortions
from llise.diagnosis import random_copies as synthesis
from llise.diagnosis.profiles import Profile
from llise.diagnosis.window_features import MARGIN, Statistics, choose_windows
from llise.images import as_uint8, check_reference, check_same_size
from llise.labels import KINDS, LABELS
from llise.recognition import nearest_images, nearest_labels

PRISTINE = 0.5
"""MSE below which a copy counts as the original: less than rounding twice leaves."""

N_NEAREST = 3


@dataclass
class Diagnosis:
    """The diagnosis of one image.

    Attributes
    ----------
    verdict : tuple of str
        ``("original",)``, one kind, or the two kinds of a mixture.
    confidence : float
        Probability of the verdict in [0, 1].
    shares : dict of str to float
        Share of the blocks that vote for each label of :data:`llise.LABELS`; sums to one.
    severity : dict of str to float
        Estimated MSE (0..255 scale) that each named distortion contributes.
    mse, psnr, ssim : float
        The usual full-reference measures (PSNR is infinite for a pristine copy).
    block_labels : ndarray of int8, shape (rows, cols)
        Kind of each block, as index into :data:`llise.LABELS`.
    block_severity : ndarray of float32, shape (rows, cols)
        Severity of each block: the MSE of the training blocks nearest to it.
    nearest : ndarray of int16, shape (rows, cols, m)
        Training images nearest to each block in the embedding, nearest first.
    position : ndarray of float, shape (2,)
        Place of the image in the manifold map of whole images.
    image : ndarray of uint8, shape (h, w)
        The image as it was judged.
    ssim_map : ndarray of float32, shape (h, w)
        Local SSIM.
    file : str or None
        Where the image came from.
    """

    verdict: tuple[str, ...]
    confidence: float
    shares: dict[str, float]
    severity: dict[str, float]
    mse: float
    psnr: float
    ssim: float
    block_labels: np.ndarray
    block_severity: np.ndarray
    nearest: np.ndarray
    position: np.ndarray
    image: np.ndarray = field(repr=False)
    ssim_map: np.ndarray = field(repr=False)
    file: str | None = None

    @property
    def block_grid(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        rows, cols = self.block_labels.shape
        return rows, cols


class Diagnoser:
    """Learns how copies of one reference look when distorted, and judges copies of it.

    Fitting makes the training images of the manifold (six kinds, both directions of contrast and
    luminance), learns the manifold of every block, draws random copies of all 21 sets of kinds and learns
    to tell their profiles and statistics apart.

    Parameters
    ----------
    reference : array (h, w)
        The pristine image; other than 8-bit grey is converted by the rules of :mod:`llise.images`.
    n_samples : int
        Random copies that the classifier learns from; more is better and slower.
    block_size : int
        Side of the manifold's blocks.
    n_components, n_neighbors, luminance
        Of the manifold, see :class:`llise.LLISE`.
    random_state : int, Generator, RandomState or None
        Seeds everything random; the same seed gives the same diagnosis.
    n_jobs : int or None
        Threads, as joblib counts them; results do not depend on it.

    Attributes
    ----------
    training_labels : list of str
        Labels of the manifold's training images.
    training_mse : ndarray, shape (n,)
        Their errors.
    map_positions : ndarray, shape (n, 2)
        Their places in the map of whole images.
    """

    def __init__(
        self,
        reference: np.ndarray,
        *,
        n_samples: int = 1650,
        block_size: int = 8,
        n_components: int = 8,
        n_neighbors: int = 20,
        luminance: float = 0.5,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.reference = as_uint8(reference, "reference")
        check_reference(self.reference, block_size)
        if n_samples < 2 * len(synthesis.SETS):
            raise ValueError(f"n_samples={n_samples}: expected {2 * len(synthesis.SETS)} or more, two of each set")
        self.n_samples = n_samples
        self.block_size = block_size
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.luminance = luminance
        self.random_state = distortions.as_seed(random_state)
        self.n_jobs = n_jobs

    def fit(self, progress: Callable[..., Iterable[Any]] | None = None) -> Diagnoser:
        """Make the training images, learn the manifold and the classifier.

        Parameters
        ----------
        progress : callable, optional
            Wraps an iterable given its ``total``, as ``tqdm`` does, around the longest part of the work.
        """
        with warnings.catch_warnings():
            # A kind that cannot reach the paper's errors on this image is respaced: nothing the user need do.
            warnings.simplefilter("ignore", distortions.UnreachableWarning)
            images = datasets.training_set(
                self.reference,
                direction="both",
                beyond_reach="respace",
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
        self._prepare()
        self._learn_manifold(images.images, images.labels.tolist(), images.mse)
        self._learn_classifier(*self._draw_samples(progress))
        return self

    def diagnose(self, images: Iterable[np.ndarray]) -> Iterator[Diagnosis]:
        """Judge images one after the other; only one is held at a time."""
        for image in images:
            yield self._judge(image)

    # Fitting

    def _learn_manifold(self, images: np.ndarray, labels: list[str], mse: np.ndarray) -> None:
        whole = self._learner().fit(images)
        part = self._learner().fit(np.stack([self._mosaic(image) for image in images]))
        self._use_manifold(images, labels, mse, _kept(whole), _kept(part))

    def _use_manifold(self, images: np.ndarray, labels: list[str], mse: np.ndarray, whole: Kept, part: Kept) -> None:
        """Take manifolds of the whole image and of the windows into use; `Kept` is what is saved of them."""
        self.training_images, self.training_labels, self.training_mse = images, labels, mse
        mosaics = np.stack([self._mosaic(image) for image in images])
        self.manifold_ = _restored(self._learner(), images, whole)
        self.window_manifold_ = _restored(self._learner(), mosaics, part)
        grid = self.manifold_.block_grid_
        self.block_mse_ = np.stack([self._by_block(self._square(image), grid) for image in images], axis=1)
        self.map_positions = self.manifold_.image_map()
        texture = self._block_deviation(self._mosaic(self.reference), self.window_manifold_.block_grid_)
        self._profile = Profile(self.window_manifold_.embedding_, labels, mse, texture)

    def _prepare(self) -> None:
        self.windows_ = choose_windows(self.reference)
        self._statistics = Statistics(self.reference, self.windows_)

    def _learner(self) -> Any:
        from llise.estimators import LLISE

        return LLISE(
            self.n_components,
            n_neighbors=self.n_neighbors,
            constraint="affine",
            luminance=self.luminance,
            block_size=self.block_size,
            store_weights=False,
            n_jobs=self.n_jobs,
        )

    def _draw_samples(
        self, progress: Callable[..., Iterable[Any]] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features (s, f), set codes (s,) and contributions of the kinds (s, 6) of random copies."""
        scene = synthesis.Scene(self.reference, self.windows_)
        chunks = np.array_split(np.arange(self.n_samples), max(self.n_samples // 32, 1))
        with threadpool_limits(1, user_api="blas"):  # the products are small, and the chunks run side by side
            made = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
                delayed(self._draw_chunk)(scene, chunk) for chunk in chunks
            )
            features, codes, parts = zip(*(progress(made, total=len(chunks)) if progress else made))
        return np.concatenate(features), np.concatenate(codes), np.concatenate(parts)

    def _draw_chunk(self, scene: synthesis.Scene, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        samples = [synthesis.draw_nth(scene, int(i), self.random_state) for i in chunk]
        inner = [sample.windows[:, MARGIN:-MARGIN, MARGIN:-MARGIN] for sample in samples]
        codes = np.array([synthesis.SETS.index(sample.kinds) for sample in samples], np.int16)
        parts = np.array([[sample.parts.get(kind, 0.0) for kind in KINDS] for sample in samples], np.float32)
        return self._features(inner), codes, parts

    def _features(self, windows: list[np.ndarray]) -> np.ndarray:
        """Statistics and manifold profile of copies, from their windows."""
        statistics = np.stack([self._statistics(stack) for stack in windows])
        mosaics = np.stack([_as_mosaic(stack) for stack in windows])
        coordinates, misfit = self.window_manifold_.embed(mosaics, return_error=True)
        return np.concatenate([statistics, self._profile(coordinates, misfit)], axis=1)

    def _learn_classifier(self, features: np.ndarray, codes: np.ndarray, parts: np.ndarray) -> None:
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        self.features_, self.codes_, self.parts_ = features, codes, parts
        options = {"random_state": self.random_state % 2**32, "n_jobs": self.n_jobs}
        self.classifier_ = ExtraTreesClassifier(400, max_features=0.3, **options).fit(features, codes)
        shares = parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-6)
        self.severity_ = ExtraTreesRegressor(100, max_features=0.3, min_samples_leaf=2, **options).fit(features, shares)

    # Judging

    def _judge(self, image: np.ndarray) -> Diagnosis:
        from skimage.metrics import structural_similarity

        image = as_uint8(image)
        check_same_size(self.reference, image)
        error = distortions.mse(self.reference, image)
        ssim, ssim_map = structural_similarity(self.reference, image, data_range=255, full=True)
        coordinates = self.manifold_.embed(image[None])
        labels, nearest = self._vote(coordinates)
        grid = self.manifold_.block_grid_
        verdict, confidence, severity = self._decide(image, error)
        return Diagnosis(
            verdict=verdict,
            confidence=confidence,
            shares={label: float(np.mean(labels == code)) for code, label in enumerate(LABELS)},
            severity=severity,
            mse=error,
            psnr=float(10 * np.log10(255**2 / error)) if error else float("inf"),
            ssim=float(ssim),
            block_labels=labels.reshape(grid).astype(np.int8),
            block_severity=self._block_severity(nearest).reshape(grid),
            nearest=nearest.reshape(*grid, -1),
            position=self.manifold_.place(coordinates)[0],
            image=image,
            ssim_map=ssim_map.astype(np.float32),
        )

    def _vote(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Code of each block's label, and the training images nearest to it."""
        codes = np.array([LABELS.index(label) for label in self.training_labels])
        embedding = self.manifold_.embedding_
        labels = nearest_labels(embedding, codes, len(LABELS), coordinates)[:, 0]
        return labels, nearest_images(embedding, coordinates, N_NEAREST)[:, 0]

    def _block_severity(self, nearest: np.ndarray) -> np.ndarray:
        return np.take_along_axis(self.block_mse_, nearest.astype(np.int64), axis=1).mean(axis=1, dtype=np.float32)

    def _decide(self, image: np.ndarray, error: float) -> tuple[tuple[str, ...], float, dict[str, float]]:
        if error < PRISTINE:
            return ("original",), 1.0, {}
        features = self._features([self.windows_.cut(image)])
        probabilities = self.classifier_.predict_proba(features)[0]
        best = int(np.argmax(probabilities))
        verdict = synthesis.SETS[self.classifier_.classes_[best]]
        shares = self.severity_.predict(features)[0][[KINDS.index(kind) for kind in verdict]] + 1e-3
        severity = {kind: float(error * share / shares.sum()) for kind, share in zip(verdict, shares)}
        return verdict, float(probabilities[best]), severity

    # Blocks and rows

    def _mosaic(self, image: np.ndarray) -> np.ndarray:
        return _as_mosaic(self.windows_.cut(image))

    def _square(self, image: np.ndarray) -> np.ndarray:
        return np.subtract(image, self.reference, dtype=np.float32) ** 2

    def _by_block(self, values: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
        """Mean of each block, its last row and column repeated where the image ends early: (b,)."""
        side = self.block_size
        pad = [(0, n * side - size) for n, size in zip(grid, values.shape)]
        padded = np.pad(values, pad, mode="edge")
        return padded.reshape(grid[0], side, grid[1], side).mean(axis=(1, 3), dtype=np.float32).ravel()

    def _block_deviation(self, image: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
        values = image.astype(np.float32)
        return np.sqrt(np.maximum(self._by_block(values**2, grid) - self._by_block(values, grid) ** 2, 0))

    # Saving

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what :meth:`from_state` needs: plain arrays, and settings that JSON can hold."""
        whole, part = _kept(self.manifold_), _kept(self.window_manifold_)
        arrays = {
            "reference": self.reference,
            "training_images": self.training_images,
            "training_mse": self.training_mse,
            "embedding": whole.embedding,
            "level": whole.level,
            "window_embedding": part.embedding,
            "window_level": part.level,
            "features": self.features_,
            "codes": self.codes_,
            "parts": self.parts_,
        }
        # Without the luminance coordinate there are no levels.
        kept = {name: values for name, values in arrays.items() if values is not None}
        return kept, {**self._parameters(), "training_labels": self.training_labels}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Diagnoser:
        """Build a fitted diagnoser from :meth:`to_state`; the classifier learns again, on all cores."""
        settings = dict(settings)
        labels = settings.pop("training_labels")
        model = cls(arrays["reference"], n_jobs=-1, **settings)
        model._prepare()
        model._check_state(arrays, labels)
        model._use_manifold(
            arrays["training_images"],
            labels,
            arrays["training_mse"],
            Kept(arrays["embedding"], arrays.get("level")),
            Kept(arrays["window_embedding"], arrays.get("window_level")),
        )
        known, kept = model._features([model.windows_.cut(model.reference)]).shape[1], arrays["features"].shape[1]
        if kept != known:
            raise ValueError(f"it has {kept} features, this version of llise knows {known}")
        model._learn_classifier(arrays["features"], arrays["codes"], arrays["parts"])
        return model

    def _check_state(self, arrays: dict[str, np.ndarray], labels: list[str]) -> None:
        """Refuse arrays that do not belong together: a file can be made by hand, and compiled code trusts shapes."""
        shape, n, samples = self.reference.shape, len(labels), len(arrays["codes"])
        expected: dict[str, tuple[type, tuple[int, ...]]] = {
            "training_images": (np.uint8, (n, *shape)),
            "training_mse": (np.float64, (n,)),
            "features": (np.float32, (samples, *arrays["features"].shape[1:])),
            "codes": (np.int16, (samples,)),
            "parts": (np.float32, (samples, len(KINDS))),
        }
        for prefix, image in (("", self.reference), ("window_", self._mosaic(self.reference))):
            blocks = prod(-(-length // self.block_size) for length in image.shape)
            expected[f"{prefix}embedding"] = (np.float32, (blocks, n, self.n_components))
            if self.luminance:
                expected[f"{prefix}level"] = (np.float64, (blocks,))
        for name, (dtype, size) in expected.items():
            array = arrays[name]
            if array.dtype != dtype or array.shape != size:
                raise ValueError(f"{name} is {array.dtype} {array.shape}, expected {np.dtype(dtype)} {size}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} has NaN or infinity")
        if not set(labels) <= set(LABELS):
            raise ValueError(f"labels are {sorted(set(labels))}, expected some of {LABELS}")
        if not np.isin(arrays["codes"], np.arange(len(synthesis.SETS))).all():
            raise ValueError(f"codes must lie in 0..{len(synthesis.SETS) - 1}")

    def _parameters(self) -> dict[str, Any]:
        names = ("n_samples", "block_size", "n_components", "n_neighbors", "luminance", "random_state")
        return {name: getattr(self, name) for name in names}


def diagnose(reference: np.ndarray, images: Iterable[np.ndarray], **options: Any) -> list[Diagnosis]:
    """Tell what is wrong with copies of a reference, where and how strongly.

    Parameters
    ----------
    reference : array (h, w)
        The pristine image.
    images : iterable of array (h, w)
        Copies of it, of the same size.
    **options
        Of :class:`Diagnoser`.

    Returns
    -------
    list of Diagnosis
        One for each image, in order.
    """
    return list(Diagnoser(reference, **options).fit().diagnose(images))


class Kept(NamedTuple):
    """What a saved manifold consists of besides its images: coordinates (b, n, p) and mean luminances (b,)."""

    embedding: np.ndarray
    level: np.ndarray | None


def _kept(manifold: Any) -> Kept:
    return Kept(manifold.embedding_.astype(np.float32), manifold.blocks_.level)


def _restored(learner: Any, images: np.ndarray, kept: Kept) -> Any:
    """Return the learner as fitted on `images` with the coordinates kept, in single precision as on disk."""
    arrays = {"training_images": images, "coordinates": kept.embedding.astype(np.float64)}
    if kept.level is not None:
        arrays["level"] = kept.level
    settings = {"parameters": learner.get_params(), "rows": False, "data_range": 255.0, "seed": 0, "measured": False}
    return type(learner).from_state(arrays, settings)


def _as_mosaic(windows: np.ndarray) -> np.ndarray:
    """Upper halves of the windows below one another: as many blocks as a profile needs."""
    rows = max(windows.shape[1] // 16 * 8, 8)
    return windows[:, :rows].reshape(-1, windows.shape[2])
