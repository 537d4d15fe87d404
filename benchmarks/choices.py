"""Which choices of LLISE keep neighbourhoods and classes best, beside other methods on the same images.

    python benchmarks/choices.py                       # all tables in Markdown: about half an hour on one core
    python benchmarks/choices.py --sets digits video   # some sets only
    python benchmarks/choices.py --tables others       # one table

Measures, of the training images' own coordinates: trustworthiness and continuity (neighbourhoods of 5, Euclidean
distances of pixels), the share of images that a 5-NN classifier names rightly (five parts), and retrieval (mean average
precision of images of the same class). Sets come from image_sets.py.
UMAP is left out where umap-learn is not installed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from image_sets import SETS, image_sets
from llise import LLISE, KernelLLISE, continuity, trustworthiness

MEASURES = ("trustworthiness", "continuity", "5-NN", "retrieval")
PARTS = StratifiedKFold(5, shuffle=True, random_state=0)
FORMS = {"whole": None, "8": 8, "16": 16}
AFFINE: dict[str, Any] = {"constraint": "affine", "luminance": 1.0}
PAPER: dict[str, Any] = {"constraint": "sphere", "luminance": 0.0, "n_neighbors": 10}


def measures(images: np.ndarray, classes: np.ndarray, coordinates: np.ndarray) -> list[float]:
    """The four measures; all are 1 at best."""
    right = cross_val_score(KNeighborsClassifier(5), coordinates, classes, cv=PARTS)
    kept = trustworthiness(images, coordinates), continuity(images, coordinates)
    return [*kept, float(right.mean()), mean_average_precision(coordinates, classes)]


def mean_average_precision(coordinates: np.ndarray, classes: np.ndarray) -> float:
    """Mean over all images of the average precision with which others of its class are the nearest."""
    distances = pairwise_distances(coordinates)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, :-1]
    same = classes[order] == classes[:, None]
    precision = same.cumsum(axis=1) / np.arange(1, same.shape[1] + 1)
    return float(((precision * same).sum(axis=1) / np.maximum(same.sum(axis=1), 1)).mean())


class Blocks:
    """A learner of LLISE; the form is a block size (at most the side of the images), or "whole"."""

    def __init__(self, form: str, map_only: bool = False, **settings: Any) -> None:
        self.form, self.map_only, self.settings = form, map_only, settings

    def fit(self, images: np.ndarray) -> np.ndarray:
        """Learn the manifold of images, and return their coordinates."""
        size = FORMS[self.form] and min(FORMS[self.form], *images.shape[1:])
        kind = KernelLLISE if "kernel" in self.settings else LLISE
        self.learner = kind(block_size=size, store_weights=False, **self.settings)
        coordinates = self.learner.fit_transform(images)
        return self.learner.image_map() if self.map_only else coordinates

    def place(self, images: np.ndarray) -> np.ndarray:
        """Coordinates of new images."""
        return self.learner.transform(images)


class Rows:
    """A method of scikit-learn on rows of pixels in [0, 1]."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def fit(self, images: np.ndarray) -> np.ndarray:
        """Learn the manifold of images, and return their coordinates."""
        return self.method.fit_transform(images.reshape(len(images), -1) / 255.0)

    def place(self, images: np.ndarray) -> np.ndarray:
        """Coordinates of new images."""
        return self.method.transform(images.reshape(len(images), -1) / 255.0)


Method = Blocks | Rows


def new_images_right(method: Method, images: np.ndarray, classes: np.ndarray) -> float:
    """Share of images that 5-NN names rightly where each fifth is placed by a method fitted to the other four."""
    right = []
    for known, unknown in PARTS.split(images, classes):
        neighbors = KNeighborsClassifier(5).fit(method.fit(images[known]), classes[known])
        right.append(neighbors.score(method.place(images[unknown]), classes[unknown]))
    return float(np.mean(right))


def constraints() -> Iterator[tuple[str, Method]]:
    """Form, constraint and luminance or kernel, with k = 10, p = 4 and ridge 1."""
    for form, constraint, luminance in product(FORMS, ("sphere", "affine"), (0.0, 0.5, 1.0)):
        yield (
            f"{form}, {constraint}, luminance {luminance:g}",
            Blocks(form, n_neighbors=10, constraint=constraint, luminance=luminance, ridge=1.0),
        )
    for form, constraint, kernel in product(FORMS, ("sphere", "affine"), ("rbf", "poly", "sigmoid")):
        name = f"{form}, {constraint}, {kernel} kernel"
        yield name, Blocks(form, n_neighbors=10, kernel=kernel, constraint=constraint, ridge=1.0)


def sizes() -> Iterator[tuple[str, Method]]:
    """Form, k and p of affine weights with luminance 1 and ridge 1."""
    for form, k, p in product(FORMS, (5, 10, 20), (2, 4, 8, 16)):
        yield f"{form}, k = {k}, p = {p}", Blocks(form, n_components=p, n_neighbors=k, ridge=1.0, **AFFINE)


def ridges() -> Iterator[tuple[str, Method]]:
    """Form, k and ridge of affine weights with luminance 1, with p = 4."""
    for form, k, ridge in product(FORMS, (5, 10, 20), (0.001, 0.01, 0.1, 1.0, 10.0)):
        yield f"{form}, k = {k}, ridge {ridge:g}", Blocks(form, n_neighbors=k, ridge=ridge, **AFFINE)


def others() -> Iterator[tuple[str, Method]]:
    """In the plane: LLISE with its defaults, with the paper's problem, and other methods."""
    yield "LLISE, map of blocks of 8", Blocks("8", map_only=True)
    yield "LLISE, whole image", Blocks("whole", n_components=2)
    yield "LLISE, map of blocks of 8, the paper's problem", Blocks("8", map_only=True, **PAPER)
    yield "LLISE, whole image, the paper's problem", Blocks("whole", n_components=2, **PAPER)
    yield from rowwise(2)
    yield "t-SNE", Rows(TSNE(random_state=0))


def new() -> Iterator[tuple[str, Method]]:
    """With more coordinates; new images: 5-NN of each fifth, placed by a method that was fitted to the others."""
    yield "LLISE, blocks of 8, p = 4", Blocks("8")
    yield "LLISE, blocks of 16, p = 4", Blocks("16")
    yield "LLISE, whole image, p = 8", Blocks("whole", n_components=8)
    yield "LLISE, blocks of 8, p = 4, the paper's problem", Blocks("8", **PAPER)
    for name, method in rowwise(8):
        yield f"{name}, p = 8", method


def rowwise(p: int) -> Iterator[tuple[str, Method]]:
    """Methods of scikit-learn, and UMAP."""
    for k, ridge in ((5, 0.001), (10, 0.001), (10, 1.0)):
        lle = LocallyLinearEmbedding(n_neighbors=k, n_components=p, reg=ridge, eigen_solver="dense")
        yield f"LLE, k = {k}, ridge {ridge:g}", Rows(lle)
    for k in (5, 10):
        yield f"Isomap, k = {k}", Rows(Isomap(n_neighbors=k, n_components=p))
    yield "PCA", Rows(PCA(p, random_state=0))
    try:
        from umap import UMAP
    except ImportError:
        return
    yield "UMAP", Rows(UMAP(n_components=p, random_state=0, n_jobs=1))


TABLES = {"constraints": constraints, "sizes": sizes, "ridges": ridges, "others": others, "new": new}


def table(
    ways: Iterable[tuple[str, Method]], sets: list[tuple[str, np.ndarray, np.ndarray]], with_new: bool
) -> Iterator[str]:
    """Lines of a table: the mean of each measure over the sets, the mean of all by set, seconds."""
    extra = ["5-NN, new images"] if with_new else []
    head = ["", *MEASURES, "mean", *extra, *(name for name, _, _ in sets), "seconds"]
    yield f"| {' | '.join(head)} |\n|---|{'---|' * (len(head) - 1)}"
    for name, method in ways:
        start, rows, new_right = time.perf_counter(), [], []
        for _, images, classes in sets:
            rows.append(measures(images, classes, np.asarray(method.fit(images), dtype=float)))
            if with_new:
                new_right.append(new_images_right(method, images, classes))
        values = np.array(rows)
        cells = [*values.mean(axis=0), values.mean(), *([np.mean(new_right)] if with_new else []), *values.mean(axis=1)]
        yield f"| {name} | {' | '.join(f'{cell:.3f}' for cell in cells)} | {time.perf_counter() - start:.0f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, help="image sets; all if left out")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="tables; all if left out")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = list(image_sets(chosen.sets))
    for name, images, classes in sets:
        print(f"- {name}: {SETS[name].__doc__} {images.shape}, {len(np.unique(classes))} classes")
    for name in chosen.tables:
        print(f"\n{TABLES[name].__doc__}\n")
        for line in table(TABLES[name](), sets, name == "new"):
            print(line, flush=True)


if __name__ == "__main__":
    main()
