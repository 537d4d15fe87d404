"""Faulty copies, and what must hold of every diagnosis, whatever the model says."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from llise import Diagnosis, diagnose, distortions


def judge(reference: np.ndarray, copy: np.ndarray, **options) -> Diagnosis:
    return diagnose(reference, [copy], **options)[0]


def rounded(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def coded(image: np.ndarray, quality: int = 15, **options) -> np.ndarray:
    """A copy coded as JPEG by Pillow."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=quality, **options)
    return np.asarray(Image.open(stream))


def distorted(image: np.ndarray, kind: str, mse: float, box=(slice(None), slice(None)), seed: int = 0) -> np.ndarray:
    """A copy with a distortion in a box, whose error is ``mse`` there."""
    copy = image.copy()
    copy[box] = distortions.apply(np.ascontiguousarray(image[box]), kind, mse, random_state=seed, warn=False)
    return copy


def blocks_of(shape: tuple[int, ...], *boxes: tuple[slice, slice]) -> np.ndarray:
    """Blocks that boxes of pixels touch."""
    touched = np.zeros(tuple(-(-n // 8) for n in shape[:2]), bool)
    for rows, cols in boxes:
        (top, bottom, _), (left, right, _) = rows.indices(shape[0]), cols.indices(shape[1])
        touched[top // 8 : -(-bottom // 8), left // 8 : -(-right // 8)] = True
    return touched


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union."""
    return np.count_nonzero(one & other) / np.count_nonzero(one | other)


def signature(found: Diagnosis) -> tuple:
    """Everything that a diagnosis says."""
    faults = [(f.kinds, f.confidence, f.region.tobytes(), f.severity, f.estimate, f.explained) for f in found.faults]
    return found.verdict, faults, found.block_labels.tobytes(), found.block_severity.tobytes(), found.ssim


def block_means(reference: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """Mean squared error of each block, over all channels."""
    error = (copy.astype(float) - reference) ** 2
    rows, cols = (range(0, n, 8) for n in error.shape[:2])
    return np.array([[error[top : top + 8, left : left + 8].mean() for left in cols] for top in rows])


def check_measured(found: Diagnosis, reference: np.ndarray, copy: np.ndarray) -> None:
    """What holds of every diagnosis, whatever the model says."""
    means = block_means(reference, copy)
    differs = means > 0
    assert_allclose(found.block_severity, means, rtol=1e-5)
    assert_array_equal(found.block_severity > 0, differs)
    if copy.ndim == 2:
        assert found.mse == pytest.approx(np.mean((copy.astype(float) - reference) ** 2))
    assert sum(found.shares.values()) == pytest.approx(1) and found.shares["original"] >= np.mean(~differs)
    assert (found.verdict == ("original",)) == (not found.faults)
    assert 0 <= found.confidence <= 1 and -1 <= found.ssim <= 1
    check_faults(found)
    check_labels(found, differs)


def check_faults(found: Diagnosis) -> None:
    """Each fault fits its region, and all of its numbers are numbers."""
    height, width = found.image.shape[:2]
    for fault in found.faults:
        rows, cols = np.nonzero(fault.region)
        bottom, right = min(8 * rows.max() + 8, height), min(8 * cols.max() + 8, width)
        assert fault.box == (8 * rows.min(), 8 * cols.min(), bottom, right)
        assert fault.area == pytest.approx(fault.region.mean())
        assert set(fault.severity) == set(fault.kinds) and 1 <= len(fault.kinds) <= 3
        assert all(np.isfinite(error) and error >= 0 for error in fault.severity.values())
        assert sum(fault.severity.values()) <= found.block_severity.max() * (1 + 1e-6)
        assert 0 <= fault.confidence <= 1 and 0 <= fault.explained <= 1 and 0 <= fault.p_value <= 1
        assert fault.kinds != ("unknown",) or fault.estimate == {}
        assert set(fault.estimate) <= set(fault.kinds)
        for parameters in fault.estimate.values():
            for interval in parameters.values():
                assert np.isfinite(interval.value) and interval.low <= interval.value <= interval.high


def check_labels(found: Diagnosis, differs: np.ndarray) -> None:
    """A block has a kind of a fault there if it differs; all others are the original."""
    covered = np.zeros(differs.shape, bool)
    allowed = np.zeros((*differs.shape, len(found.labels)), bool)
    for fault in found.faults:
        covered |= fault.region
        for kind in fault.kinds:
            allowed[..., found.labels.index(kind)] |= fault.region
    labelled = found.block_labels > 0
    assert_array_equal(labelled, covered & differs)
    assert np.take_along_axis(allowed, found.block_labels[..., None].astype(int), -1)[..., 0][labelled].all()
