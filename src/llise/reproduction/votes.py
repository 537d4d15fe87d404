"""The votes of the paper's method on images, for those who want to see them beside something else."""

from __future__ import annotations

import numpy as np

from llise import datasets
from llise.labels import LABELS
from llise.manifold.estimators import LLISE
from llise.manifold.recognition import DistortionRecognizer

N_TOP = 2
"""Votes of an image that the paper prints."""


def paper_votes(
    reference: np.ndarray, images: np.ndarray, *, seed: int = 0, n_jobs: int | None = None
) -> list[list[tuple[str, float]]]:
    """The top votes of the blocks of each image: labels and shares, by LLISE on the reference's 121 training images."""
    training = datasets.training_set(reference, random_state=seed, n_jobs=n_jobs, warn=False)
    manifold = LLISE.as_in_paper(store_weights=False, n_jobs=n_jobs)
    recognizer = DistortionRecognizer(manifold).fit(training.images, training.labels)
    classes = [str(label) for label in recognizer.classes_]
    assert set(classes) <= set(LABELS)
    votes = []
    for shares in recognizer.predict_shares(images):
        order = np.argsort(-shares, kind="stable")[:N_TOP]
        votes.append([(classes[i], float(shares[i])) for i in order if shares[i] > 0])
    return votes
