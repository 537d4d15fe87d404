"""Faulty copies, and what must hold of every diagnosis, whatever the judge says."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from llise import distortions
from llise.look import Diagnosis, diagnose
from llise.look.measures import measure_copy
from llise.look.result import BLOCK_LABELS
from llise.look.sets import SETS, code_of


def judge(reference: np.ndarray, copy: np.ndarray) -> Diagnosis:
    return diagnose(reference, [copy])[0]


def coded(image: np.ndarray, quality: int = 15) -> np.ndarray:
    """A copy coded as JPEG by Pillow."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=quality)
    return np.asarray(Image.open(stream))


def certain(*kinds: str) -> np.ndarray:
    """Probabilities of a part that surely has some kinds."""
    return np.eye(len(SETS))[code_of(*kinds)]


def distorted(image: np.ndarray, kind: str, mse: float, box=(slice(None), slice(None)), seed: int = 0) -> np.ndarray:
    """A copy with a distortion in a box, whose error is ``mse`` there."""
    copy = image.copy()
    copy[box] = distortions.apply(image[box], kind, mse, random_state=seed)
    return copy


def blocks_of(shape: tuple[int, int], *boxes: tuple[slice, slice]) -> np.ndarray:
    """Blocks that boxes of pixels touch."""
    touched = np.zeros(tuple(-(-n // 8) for n in shape), bool)
    for rows, cols in boxes:
        (top, bottom, _), (left, right, _) = rows.indices(shape[0]), cols.indices(shape[1])
        touched[top // 8 : -(-bottom // 8), left // 8 : -(-right // 8)] = True
    return touched


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union."""
    return np.count_nonzero(one & other) / np.count_nonzero(one | other)


def squared_errors(reference: np.ndarray, copy: np.ndarray) -> list[list[np.ndarray]]:
    """Squared errors of the pixels of each block."""
    error = (copy.astype(int) - reference.astype(int)) ** 2
    rows, cols = (range(0, n, 8) for n in error.shape)
    return [[error[top : top + 8, left : left + 8] for left in cols] for top in rows]


def check_measured(found: Diagnosis, reference: np.ndarray, copy: np.ndarray) -> None:
    """What holds of every diagnosis, whatever the judge says."""
    errors = squared_errors(reference, copy)
    differs = np.array([[block.any() for block in row] for row in errors])
    means = np.array([[block.mean() for block in row] for row in errors])
    assert not found.block_labels[~differs].any()
    assert_allclose(found.block_severity, means, rtol=1e-6)
    assert_array_equal(found.block_severity > 0, differs)
    assert found.mse == pytest.approx(np.mean((copy.astype(float) - reference) ** 2))
    assert sum(found.shares.values()) == pytest.approx(1) and found.shares["original"] >= np.mean(~differs)
    assert (found.verdict == ("original",)) == (not found.faults)
    check_faults(found, errors)
    check_labels(found, differs, measure_copy(reference, copy).changed)


def check_faults(found: Diagnosis, errors: list[list[np.ndarray]]) -> None:
    """Each fault fits its region, and all of its numbers are numbers."""
    for fault in found.faults:
        rows, cols = np.nonzero(fault.region)
        height, width = found.image.shape
        bottom, right = min(8 * rows.max() + 8, height), min(8 * cols.max() + 8, width)
        assert fault.box == (8 * rows.min(), 8 * cols.min(), bottom, right)
        assert fault.area == pytest.approx(fault.region.mean())
        inside = np.concatenate([errors[row][col].ravel() for row, col in zip(rows, cols)])
        assert set(fault.severity) == set(fault.kinds)
        assert all(error >= 0 for error in fault.severity.values())
        # Of faults that lie over one another, each has the share that it contributes.
        if not any((fault.region & other.region).any() for other in found.faults if other is not fault):
            assert sum(fault.severity.values()) == pytest.approx(inside.mean(), rel=1e-6)
        assert 0 <= fault.confidence <= 1 and 0 <= fault.explained <= 1
        for kind, parameters in fault.estimate.items():
            assert kind in fault.kinds
            for interval in parameters.values():
                assert np.isfinite(interval.value) and interval.low <= interval.value <= interval.high


def check_labels(found: Diagnosis, differs: np.ndarray, changed: np.ndarray) -> None:
    """A block has a kind of a fault there, if it differs; each block beyond rounding lies in a fault."""
    covered = np.zeros(differs.shape, bool)
    allowed = np.zeros((*differs.shape, len(BLOCK_LABELS)), bool)
    for fault in found.faults:
        covered |= fault.region
        for kind in fault.kinds:
            allowed[..., BLOCK_LABELS.index(kind)] |= fault.region
    assert covered[changed].all()
    labelled = found.block_labels > 0
    assert_array_equal(labelled, covered & differs)
    assert np.take_along_axis(allowed, found.block_labels[..., None].astype(int), -1)[..., 0][labelled].all()
