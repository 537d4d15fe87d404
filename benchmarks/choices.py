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
from collections.abc import Callable, Iterable, Iterator
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

Coordinates = Callable[[np.ndarray], np.ndarray]
MEASURES = ("trustworthiness", "continuity", "5-NN", "retrieval")
PARTS = StratifiedKFold(5, shuffle=True, random_state=0)
FORMS = {"whole": None, "8": 8, "16": 16}
WELL_POSED: dict[str, Any] = {"constraint": "affine", "luminance": 1.0}


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


def llise(form: str, map_only: bool = False, **settings: Any) -> Coordinates:
    """A learner as a function of images; the form is a block size (at most the side of the images), or "whole"."""

    def coordinates(images: np.ndarray) -> np.ndarray:
        size = FORMS[form] and min(FORMS[form], *images.shape[1:])
        kind = KernelLLISE if "kernel" in settings else LLISE
        learner = kind(block_size=size, store_weights=False, **settings).fit(images)
        return learner.image_map() if map_only else learner._rows(learner.embedding_)

    return coordinates


def rowwise(method: Any) -> Coordinates:
    """A method of scikit-learn on rows of pixels in [0, 1]."""
    return lambda images: method.fit_transform(images.reshape(len(images), -1) / 255.0)


def constraints() -> Iterator[tuple[str, Coordinates]]:
    """Constraint, luminance, kernel and form, with k = 5 and p = 4."""
    for form, constraint, luminance in product(FORMS, ("sphere", "affine"), (0.0, 0.5, 1.0)):
        name = f"{form}, {constraint}, luminance {luminance:g}"
        yield name, llise(form, n_neighbors=5, constraint=constraint, luminance=luminance)
    for form, constraint, kernel in product(FORMS, ("sphere", "affine"), ("rbf", "poly", "sigmoid")):
        name = f"{form}, {constraint}, {kernel} kernel"
        yield name, llise(form, n_neighbors=5, kernel=kernel, constraint=constraint)


def sizes() -> Iterator[tuple[str, Coordinates]]:
    """Form, k and p of affine weights with luminance 1."""
    for form, k, p in product(FORMS, (3, 5, 10, 20), (2, 4, 8, 16)):
        name = f"{form}, k = {k}, p = {p}"
        yield name, llise(form, n_components=p, n_neighbors=k, **WELL_POSED)


def ridges() -> Iterator[tuple[str, Coordinates]]:
    """Ridge of the affine weights, with luminance 1, k = 5 and p = 4."""
    for form, k, ridge in product(FORMS, (5, 10), (1e-3, 1e-2, 1e-1, 1.0)):
        yield f"{form}, k = {k}, ridge {ridge:g}", llise(form, n_neighbors=k, ridge=ridge, **WELL_POSED)


def others() -> Iterator[tuple[str, Coordinates]]:
    """Methods side by side, in the plane and with eight coordinates."""
    paper: dict[str, Any] = {"constraint": "sphere", "luminance": 0.0, "n_neighbors": 10}
    for p in (2, 8):
        for k in (5, 10):
            yield f"{p}: LLISE, whole image, k = {k}", llise("whole", n_components=p, n_neighbors=k, **WELL_POSED)
        if p == 2:
            blocks = llise("8", map_only=True, n_components=4, n_neighbors=5, **WELL_POSED)
            yield "2: LLISE, map of blocks of 8", blocks
            yield (
                "2: LLISE, map of blocks of 8, the paper's problem",
                llise("8", map_only=True, n_components=4, **paper),
            )
        yield f"{p}: LLISE, whole image, the paper's problem", llise("whole", n_components=p, **paper)
        for k in (5, 10):
            lle = LocallyLinearEmbedding(n_neighbors=k, n_components=p, eigen_solver="dense")
            yield f"{p}: LLE, k = {k}", rowwise(lle)
            yield f"{p}: Isomap, k = {k}", rowwise(Isomap(n_neighbors=k, n_components=p))
        yield f"{p}: PCA", rowwise(PCA(p, random_state=0))
        try:
            from umap import UMAP
        except ImportError:
            pass
        else:
            yield f"{p}: UMAP", rowwise(UMAP(n_components=p, random_state=0, n_jobs=1))
        if p == 2:
            yield "2: t-SNE", rowwise(TSNE(random_state=0))


TABLES = {"constraints": constraints, "sizes": sizes, "ridges": ridges, "others": others}


def table(ways: Iterable[tuple[str, Coordinates]], sets: list[tuple[str, np.ndarray, np.ndarray]]) -> Iterator[str]:
    """Lines of a table: the mean of each measure over the sets, the mean of all by set, seconds."""
    head = ["", *MEASURES, "mean", *(name for name, _, _ in sets), "seconds"]
    yield f"| {' | '.join(head)} |\n|---|{'---|' * (len(head) - 1)}"
    for name, way in ways:
        start, rows = time.perf_counter(), []
        for _, images, classes in sets:
            rows.append(measures(images, classes, np.asarray(way(images), dtype=float)))
        values = np.array(rows)
        cells = [*values.mean(axis=0), values.mean(), *values.mean(axis=1)]
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
        for line in table(TABLES[name](), sets):
            print(line, flush=True)


if __name__ == "__main__":
    main()
