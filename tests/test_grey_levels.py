"""Curves and tables of grey levels: contrast with luminance or without it, and one change of greys over another."""

import warnings

import numpy as np
import pytest
from faulty import certain
from scipy import optimize

from llise import distortions
from llise.diagnosis.diagnoser import diagnose
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.greys.grey_law import with_measured_curve
from llise.diagnosis.greys.grey_tables import TablePart, divided_by_tables
from llise.diagnosis.greys.s_curve import nearest_s_curves
from llise.diagnosis.sets import SETS, code_of
from llise.diagnosis.training import pictures

PICTURE = pictures.load("coffee")[:256, :320]
WHOLE = np.ones((32, 40), bool)
PLACE = np.zeros((32, 40), bool)
PLACE[8:20, 10:24] = True
PIXELS = PLACE.repeat(8, 0).repeat(8, 1)
LEVELS = np.arange(256) / 255
MEAN = float(PICTURE.mean())


def logistic(place: float, steep: float) -> np.ndarray:
    raw = 1 / (1 + np.exp(steep * (place - LEVELS)))
    return 255 * (raw - raw[0]) / (raw[-1] - raw[0])


def sine(strength: float) -> np.ndarray:
    """An S-shaped curve of another form that keeps black, white and mid-grey."""
    return 255 * (LEVELS - strength * np.sin(2 * np.pi * LEVELS) / (2 * np.pi))


def apply(table: np.ndarray, image: np.ndarray = PICTURE) -> np.ndarray:
    return np.clip(np.rint(table), 0, 255).astype(np.uint8)[image]


@pytest.mark.parametrize("place", [0.35, 0.6])
@pytest.mark.parametrize("shift", [-14.0, 9.0])
@pytest.mark.parametrize("rising", [True, False])
def test_shift_of_an_s_curve_is_found(place, shift, rising):
    curve = logistic(place, 4.0) if rising else np.interp(LEVELS, logistic(place, 4.0) / 255, 255 * LEVELS)
    counts = np.full(256, 50)
    alone, shifted = nearest_s_curves(np.rint(np.clip(curve + shift, 0, 255)), counts)
    assert shifted.misfit < 0.35 and shifted.shift == pytest.approx(shift, abs=0.5)
    assert alone.misfit > 3 * shifted.misfit
    before, _ = nearest_s_curves(np.rint(curve), counts)
    assert before.misfit < 0.35


def test_the_search_ends_at_a_least_squares_solution():
    counts = np.random.default_rng(0).integers(10, 400, 256)
    table = np.clip(np.rint(sine(0.6) + 8), 0, 255)
    _, shifted = nearest_s_curves(table, counts)

    def misfits(settings):
        place, steep, shift = settings
        return np.sqrt(counts) * (np.clip(logistic(place, np.exp(steep)) + shift, 0, 255) - table)

    best = min(
        np.sqrt((optimize.least_squares(misfits, [place, 1.0, 0.0]).fun ** 2).sum() / counts.sum())
        for place in (0.3, 0.5, 0.7)
    )
    assert shifted.misfit <= best + 1e-3


@pytest.mark.parametrize("strength", [0.35, -0.15])
@pytest.mark.parametrize("shift, kinds", [(0.0, ("contrast",)), (-10.0, ("contrast", "luminance"))])
def test_an_s_curve_of_another_form_tells_luminance_besides(strength, shift, kinds):
    estimates = CopyEstimates(PICTURE, apply(sine(strength) + shift))
    wrong = 0.8 * np.eye(len(SETS))[code_of(*(("contrast", "luminance") if len(kinds) == 1 else ("contrast",)))]
    assert SETS[int(with_measured_curve(wrong, WHOLE, MEAN, estimates).argmax())] == kinds


def test_a_flat_copy_is_left_to_the_judge():
    both = np.eye(len(SETS))[code_of("contrast", "luminance")]
    noisy = np.clip(120 + np.random.default_rng(0).integers(-1, 2, PICTURE.shape), 0, 255).astype(np.uint8)
    assert with_measured_curve(both, WHOLE, MEAN, CopyEstimates(PICTURE, noisy)) is both


def line(gain: float, pivot: float, shift: float = 0.0) -> np.ndarray:
    return pivot + gain * (np.arange(256) - pivot) + shift


@pytest.mark.parametrize("below", [line(0.8, 120), line(1.3, 90), sine(0.4)], ids=["flatter", "steeper", "curve"])
def test_tables_show_where_a_shift_lies_over_contrast(below):
    first = apply(below)
    copy = np.where(PIXELS, np.clip(first.astype(int) + 11, 0, 255), first).astype(np.uint8)
    main, place = divided_by_tables(PICTURE, copy, WHOLE)
    assert not (place.mask & main.mask).any() and (place.mask | main.mask).all()
    assert (place.mask & PLACE).sum() / (place.mask | PLACE).sum() > 0.95  # clipped blocks look the same
    assert place.is_shift_of(main)


def test_parts_with_one_table_are_not_divided():
    assert divided_by_tables(PICTURE, apply(line(0.7, 100, 9)), WHOLE) == []


@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "jpeg", "impulse_noise", "speckle_noise"])
def test_other_kinds_follow_no_tables(kind):
    copy = np.where(PIXELS, distortions.apply(PICTURE, kind, 200, random_state=0), apply(line(0.8, 110)))
    assert divided_by_tables(PICTURE, copy, WHOLE) == []


def test_a_gap_that_equals_the_reference_is_no_part():
    copy = PICTURE.copy()
    copy[:, :128], copy[:, 192:] = apply(line(0.8, 230))[:, :128], apply(line(1, 0, 20))[:, 192:]
    parts = divided_by_tables(PICTURE, copy, WHOLE)
    assert len(parts) == 2 and not any(part.mask[:, 17:23].any() for part in parts)


def test_tables_without_common_greys_cannot_be_compared():
    counts = np.zeros((2, 256), int)
    counts[0, :100], counts[1, 150:] = 50, 50
    one, other = (TablePart(WHOLE, np.arange(256) + 5 * i, counts[i]) for i in range(2))
    assert not one.is_shift_of(other)


@pytest.mark.parametrize("below, above", [("contrast", "luminance"), ("luminance", "contrast")])
def test_a_change_of_greys_over_another_one_is_found_with_its_place(below, above):
    first = distortions.apply(PICTURE, below, 120, random_state=0)
    copy = np.where(PIXELS, distortions.apply(first, above, 250, random_state=1), first)
    found = diagnose(PICTURE, [copy])[0]
    assert set(found.verdict) == {"contrast", "luminance"}
    place = next(fault for fault in found.faults if fault.kinds == (above,))
    assert (place.region & PLACE).sum() / (place.region | PLACE).sum() > 0.9


def test_greys_that_few_pixels_have_tell_no_curve():
    image = np.arange(20, 212, dtype=np.uint8).reshape(8, 24)
    copy = np.rint(logistic(0.5, 6.0))[image].astype(np.uint8)
    estimates = CopyEstimates(image, copy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = with_measured_curve(certain("contrast"), np.ones((1, 3), bool), float(image.mean()), estimates)
    assert np.isfinite(found).all()
