"""How good an embedding is on the paper's data: the way back to images, kept neighbourhoods, images added later.

    python benchmarks/manifold_quality.py              # the built-in image, 512 x 512: some minutes
    python benchmarks/manifold_quality.py --side 256   # its middle

The 121 training images are divided into five parts at random; each part is embedded by a learner that was fitted to the
other four, so that every image is once new. Prints Markdown.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold

import llise
from llise import LLE, LLISE, KernelLLISE, continuity, trustworthiness
from llise.manifold.blocks import BlockGrid
from llise.manifold.inverse import images_of

LEARNERS = {
    "LLISE, sphere (the paper)": LLISE.as_in_paper(),
    "LLISE, affine": LLISE(luminance=0.0, ridge=0.01),
    "LLISE, affine, luminance 0.5": LLISE(luminance=0.5, ridge=0.01),
    "LLISE, affine, luminance 0.5, p = 8": LLISE(8, luminance=0.5, ridge=0.01),
    "kernel LLISE, RBF, affine": KernelLLISE(ridge=0.01),
    "LLE": LLE(),
}
FOLDS = KFold(5, shuffle=True, random_state=0)


def root_error(images: np.ndarray, truth: np.ndarray) -> float:
    """Root mean squared error in grey levels, averaged over the images."""
    return float(np.sqrt(((images - truth.astype(np.float64)) ** 2).mean(axis=(1, 2))).mean())


def folds(images: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Known and new images of each division."""
    for known, new in FOLDS.split(images):
        yield images[known], images[new]


def nearest(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The known image that is nearest to each new one."""
    rows, others = (stack.reshape(len(stack), -1).astype(np.float32) for stack in (new, known))
    squared = (others**2).sum(axis=1) - 2 * rows @ others.T
    return known[squared.argmin(axis=1)]


def by_pca(known: np.ndarray, new: np.ndarray, p: int) -> np.ndarray:
    """New images through p principal components of the known ones and back."""
    rows, others = (stack.reshape(len(stack), -1).astype(np.float32) for stack in (new, known))
    pca = PCA(p, svd_solver="full").fit(others)
    return pca.inverse_transform(pca.transform(rows)).reshape(new.shape)


def moved(learner: LLISE | LLE, known: np.ndarray, new: np.ndarray) -> float:
    """Median distance between where transform places new images and where a fit with them does, after alignment."""
    placed = learner.fit(known).embed(new)
    before = learner.embedding_
    after = learner.fit(np.concatenate([known, new])).embedding_
    distances = []
    for old, first, late in zip(before, after[:, : len(known)], zip(placed, after[:, len(known) :])):
        rotation, _ = orthogonal_procrustes(old, first)
        distances.append(np.linalg.norm(late[0] @ rotation - late[1], axis=1))
    return float(np.median(distances))


def quality_table(images: np.ndarray, test: np.ndarray) -> Iterator[str]:
    """Lines of the table on the way back, neighbourhoods and images added later."""
    head = [
        "learner",
        "training images",
        "new images",
        "the paper's test images",
        "trustworthiness",
        "continuity",
        "moved",
    ]
    yield f"| {' | '.join(head)} |\n|---|{'---|' * 6}"
    for name, learner in LEARNERS.items():
        divisions = list(folds(images))
        errors, kept, torn = [], [], []
        for known, new in divisions:
            coordinates = learner.fit(known).transform(new)
            errors.append(root_error(learner.inverse_transform(coordinates), new))
            kept.append(trustworthiness(new, coordinates))
            torn.append(continuity(new, coordinates))
        distance = moved(learner, *divisions[0])
        learner.fit(images)
        own = root_error(learner.inverse_transform(learner.transform(images)), images)
        foreign = root_error(learner.inverse_transform(learner.transform(test)), test)
        cells = [own, np.mean(errors), foreign]
        measures = [f"{cell:.1f}" for cell in cells] + [
            f"{np.mean(kept):.3f}",
            f"{np.mean(torn):.3f}",
            f"{distance:.2f}",
        ]
        yield f"| {name} | {' | '.join(measures)} |"
    divisions = list(folds(images))
    for name, way in {
        "nearest training image": nearest,
        "PCA of whole images, 4 components": lambda known, new: by_pca(known, new, 4),
    }.items():
        errors = [root_error(way(known, new), new) for known, new in divisions]
        cells = [root_error(way(images, images), images), np.mean(errors), root_error(way(images, test), test)]
        yield f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} | | | |"


def ridge_table(images: np.ndarray) -> Iterator[str]:
    """Lines of the table of errors of new images by the number of neighbours and the ridge of the way back."""
    counts, ridges = (1, 3, 5, 10), (0.001, 0.01, 0.1, 1.0)
    learner = LLISE(luminance=0.5, ridge=0.01)
    grid = BlockGrid.of_images(images.shape[1:], learner.block_size)
    errors = {(k, ridge): [] for k in counts for ridge in ridges}
    for known, new in folds(images):
        coordinates = learner.fit(known).embed(new)
        for k, ridge in errors:
            back = images_of(coordinates, learner.embedding_, known, grid, k, ridge)
            errors[k, ridge].append(root_error(back, new))
    yield f"| error | {' | '.join(f'ridge {ridge:g}' for ridge in ridges)} |\n|---|{'---|' * len(ridges)}"
    for k in counts:
        yield f"| k = {k} | {' | '.join(f'{np.mean(errors[k, ridge]):.1f}' for ridge in ridges)} |"


def search_table(images: np.ndarray) -> Iterator[str]:
    """Lines of the table of scores by k and p, by GridSearchCV."""
    counts, dimensions = (5, 10, 20), (2, 4, 8)
    search = GridSearchCV(
        LLISE(luminance=0.5, ridge=0.01, store_weights=False),
        {"n_neighbors": counts, "n_components": dimensions},
        cv=FOLDS,
        refit=False,
    ).fit(images)
    scores = dict(
        zip([tuple(sorted(row.items())) for row in search.cv_results_["params"]], search.cv_results_["mean_test_score"])
    )
    yield f"| score | {' | '.join(f'p = {p}' for p in dimensions)} |\n|---|{'---|' * len(dimensions)}"
    for k in counts:
        cells = [f"{scores[('n_components', p), ('n_neighbors', k)]:.3f}" for p in dimensions]
        yield f"| k = {k} | {' | '.join(cells)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=512, help="side of the square in the middle of the image")
    side = parser.parse_args().side
    reference = llise.datasets.reference()
    top, left = ((length - side) // 2 for length in reference.shape)
    reference = np.ascontiguousarray(reference[top : top + side, left : left + side])
    images = llise.datasets.training_set(reference).images
    test = llise.datasets.test_set(reference, mse=500).images
    warnings.simplefilter("ignore")
    print(
        f"{len(images)} training images and {len(test)} test images of {side} x {side}, k = 10, p = 4; "
        "errors in grey levels.\n"
    )
    for line in quality_table(images, test):
        print(line, flush=True)
    print()
    for line in ridge_table(images):
        print(line, flush=True)
    print()
    for line in search_table(images):
        print(line, flush=True)


if __name__ == "__main__":
    main()
