"""Kinds of distortion: what each one promises, how it is drawn at random."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from llise import datasets, distortions
from llise.kinds import jpeg, registry
from llise.kinds.base import FunctionKind
from llise.kinds.contrast_curves import table_of
from llise.kinds.grey import mse, quantise
from llise.kinds.impulse_noise import best_fill
from llise.kinds.search import Search, draw_copy
from llise.labels import FURTHER_KINDS, KINDS, NAMED_KINDS

IMAGE = np.ascontiguousarray(datasets.reference()[128:224, 160:272])
UNITS = {  # sets of parameters that the draws of a kind report
    "contrast": [{"gain", "pivot"}, {"gamma"}, set()],
    "gaussian_noise": [{"sigma"}],
    "luminance": [{"offset"}],
    "blur": [{"sigma"}, {"sigma", "length", "angle"}, {"sigma", "radius"}, {"factor"}],
    "impulse_noise": [{"share", "salt"}, {"share"}],
    "jpeg": [{"quality"}],
    "jpeg2000": [{"rate"}],
    "speckle_noise": [{"sigma", "exponent"}],
    "pixelation": [{"cell"}],
    "quantization": [{"levels"}, {"colors"}],
    "sharpening": [{"amount", "radius"}, {"amount"}],
    "content": [{"coverage"}],
}
STEPPED = {"pixelation": 400, "quantization": 60, "content": 400}
"""Kinds that most programs make in whole steps only (pixels, levels, blocks, lines), and an error in their reach."""


def draw_with(kind: str, units: set[str], image: np.ndarray = IMAGE):
    """The first random draw of a kind that reports these parameters."""
    for seed in range(200):
        draw = registry.get(kind).draw(image, np.random.default_rng(seed))
        if set(draw.parameters(0.5)) == units:
            return draw
    raise AssertionError(f"no draw of {kind} reports {units}")


def test_the_kinds_are_registered_in_their_order():
    assert registry.names()[: len(NAMED_KINDS)] == NAMED_KINDS == (*KINDS, *FURTHER_KINDS)
    for name in NAMED_KINDS:
        kind = registry.get(name)
        assert kind.name == name and kind.title and kind.short_title


@pytest.mark.parametrize("name", NAMED_KINDS)
def test_a_path_starts_at_the_image_and_leaves_it_alone(name):
    kind, before = registry.get(name), IMAGE.copy()
    for direction in (1, -1) if kind.two_sided else (1,):
        path = kind.path(IMAGE, np.random.default_rng(0), direction)
        start = quantise(path(0.0))
        assert_array_equal(start, IMAGE)
        assert not np.shares_memory(start, IMAGE)
        assert mse(IMAGE, quantise(path(kind.end(direction)))) > 300
    assert_array_equal(IMAGE, before)


@pytest.mark.parametrize("side", [16, 61, 96])
@pytest.mark.parametrize("name", NAMED_KINDS)
def test_draws_start_near_the_image_and_grow(name, side):
    image = IMAGE[:side, : side + 1]
    for seed in range(40):
        draw = registry.get(name).draw(image, np.random.default_rng(seed))
        errors = [mse(image, quantise(draw.path(share * draw.end))) for share in (0.0, 0.1, 1.0)]
        assert errors[0] < 0.5
        assert errors[0] <= errors[1] <= errors[2] * 1.05 and errors[2] > 10
        assert quantise(draw.path(0.1 * draw.end)).shape == image.shape


@pytest.mark.parametrize("name", NAMED_KINDS)
def test_draws_tell_their_parameters_in_the_units_of_the_kind(name):
    draws = [registry.get(name).draw(IMAGE, np.random.default_rng(seed)) for seed in range(120)]
    units = [set(draw.parameters(0.5)) for draw in draws]
    assert all(u in UNITS[name] for u in units)
    assert all(u in units for u in UNITS[name])


@pytest.mark.parametrize("name", NAMED_KINDS)
def test_random_copies_have_about_the_wanted_error_and_depend_on_the_seed_alone(name):
    kind = registry.get(name)
    wanted = STEPPED.get(name, 60)
    misses = []
    for seed in range(30):
        first = draw_copy(kind, IMAGE, wanted, np.random.default_rng(seed))
        again = draw_copy(kind, IMAGE, wanted, np.random.default_rng(seed))
        assert first.image.dtype == np.uint8
        assert_array_equal(first.image, again.image)
        assert (first.strength, first.parameters) == (again.strength, again.parameters)
        misses.append(abs(mse(IMAGE, first.image) - wanted) / wanted)
    reached = np.mean(np.array(misses) <= 0.08)
    if name in STEPPED:
        assert reached >= 0.3 and np.median(misses) <= 0.3
    else:
        assert reached >= 0.7 and np.median(misses) <= 0.08


@pytest.mark.parametrize("name", NAMED_KINDS)
def test_a_random_copy_is_distorted_even_where_the_wanted_error_is_tiny(name):
    for seed in range(20):
        copy = draw_copy(registry.get(name), IMAGE, 0.4, np.random.default_rng(seed))
        assert copy.strength > 0


def test_the_error_of_a_random_copy_can_be_measured_against_another_image():
    noisy = distortions.apply(IMAGE, "gaussian_noise", 50, 0)
    copy, _, _ = draw_copy(registry.get("gaussian_noise"), noisy, 120, np.random.default_rng(1), reference=IMAGE)
    assert mse(IMAGE, copy) == pytest.approx(120, rel=0.08)


# Parameters are true: the copy is what its parameters say


def test_drawn_noise_and_offset_have_the_size_they_report():
    flat = np.full((128, 128), 120, np.uint8)
    noise = draw_with("gaussian_noise", {"sigma"}, flat)
    assert noise.path(9.0).std() == pytest.approx(noise.parameters(9.0)["sigma"], rel=0.02)
    shift = draw_with("luminance", {"offset"}, flat)
    assert shift.path(12.0).mean() - 120 == pytest.approx(shift.parameters(12.0)["offset"], abs=0.5)


def test_drawn_contrast_is_the_reported_slope_at_the_reported_pivot():
    draw = draw_with("contrast", {"gain", "pivot"})
    reported = draw.parameters(0.3)
    table = table_of(draw.settings(0.3))
    at = np.clip(reported["pivot"] + np.array([-2, 2]), 0, 255)
    slope = np.diff(np.interp(at, np.arange(256), table)) / np.diff(at)
    assert slope == pytest.approx(reported["gain"], rel=0.02)


def test_drawn_impulses_hit_the_reported_share():
    flat = np.full((256, 256), 120, np.uint8)
    draw = draw_with("impulse_noise", {"share", "salt"}, flat)
    copy, reported = draw.path(0.4), draw.parameters(0.4)
    hit = copy[copy != 120]
    assert hit.size / flat.size == pytest.approx(reported["share"], abs=0.01)
    assert np.mean(hit == 255) == pytest.approx(reported["salt"], abs=0.02)


def test_motion_blur_has_the_reported_length_and_angle():
    impulse = np.zeros((63, 63), np.uint8)
    impulse[31, 31] = 255
    for seed in range(80):
        draw = registry.get("blur").draw(impulse, np.random.default_rng(seed))
        reported = draw.parameters(12.0)
        if "length" not in reported:
            continue
        kernel = np.maximum(draw.path(12.0), 0)
        y, x = np.mgrid[31:-32:-1, -31:32]
        weight = kernel / kernel.sum()
        covariance = np.array([[np.sum(weight * a * b) for a in (x, y)] for b in (x, y)])
        values, vectors = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        assert (angle - reported["angle"] + 90) % 180 - 90 == pytest.approx(0, abs=1)
        assert np.sqrt(12 * values[1]) == pytest.approx(reported["length"], rel=0.06)


# The search


def test_the_search_stops_at_the_accuracy_it_was_given():
    calls = []

    def path(strength):
        calls.append(strength)
        return IMAGE.astype(np.float32) / (1 + strength)

    rough = Search(path, IMAGE, 80.0, accuracy=0.08)
    rough.bisect(10.0, first=0.1)
    few = len(calls)
    fine = Search(path, IMAGE, 80.0)
    fine.run(10.0)
    assert rough.miss <= 0.08 and fine.miss <= 0.005
    assert few < len(calls) - few


# Adding a kind


@pytest.mark.parametrize("shape", [(16, 16), (32, 48), (7, 9)])
def test_the_error_of_8_bit_images_is_exact(shape):
    """Sizes that are multiples of 256, whose squares are summed in float32, and others; the largest error as well."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (2, *shape), dtype=np.uint8)
    assert mse(a, b) == int(((a.astype(int) - b) ** 2).sum()) / a.size
    assert mse(np.zeros(shape, np.uint8), np.full(shape, 255, np.uint8)) == 255.0**2


@pytest.mark.parametrize(
    ("name", "direction"), [("contrast", 1), ("contrast", -1), ("luminance", 1), ("luminance", -1)]
)
def test_errors_by_grey_level_are_those_of_the_copy(name, direction):
    """Also beyond black and white, and against another image than the one that is distorted."""
    path = registry.get(name).path(IMAGE, np.random.default_rng(0), direction)
    other = IMAGE[::-1]
    for strength in (0.0, 0.3, 7.4, 200.0):
        for reference in (IMAGE, other):
            assert path.error(strength, reference) == mse(reference, quantise(path(strength)))


@pytest.mark.parametrize("name", [name for name in KINDS if not registry.get(name).random])
def test_copies_on_a_shared_path_are_those_made_alone(name):
    paths = distortions.SharedPaths(IMAGE)
    for error in (60, 20, 60, 3000):
        alone = distortions.make(IMAGE, name, error, 0, warn=False)
        shared = distortions.make(IMAGE, name, error, 0, warn=False, paths=paths)
        assert_array_equal(shared.image, alone.image)
        assert (shared.strength, shared.measured) == (alone.strength, alone.measured)


def test_multiplied_errors_are_those_of_whole_images():
    """A line through two images looks at pairs of grey levels; also against a third image."""
    coded = jpeg.code_jpeg(IMAGE, 20 * jpeg.STANDARD_TABLE)
    line = distortions.SharedPaths(IMAGE).line_to(coded)
    change = coded.astype(np.float32) - IMAGE
    for factor in (0.0, 0.7, 1.0, 1.9, 40.0):
        assert_array_equal(line(factor), IMAGE + np.float32(factor) * change)
        for reference in (IMAGE, IMAGE[::-1]):
            assert line.error(factor, reference) == mse(reference, quantise(line(factor)))


def test_another_copy_gives_another_line():
    paths = distortions.SharedPaths(IMAGE)
    lighter, darker = IMAGE // 2 + 128, IMAGE // 2
    assert paths.line_to(lighter) is paths.line_to(lighter.copy())
    assert_array_equal(paths.line_to(darker)(1.0), darker)


@pytest.mark.parametrize("name", [name for name in KINDS if registry.get(name).random])
def test_kinds_with_random_numbers_share_no_path(name):
    paths = distortions.SharedPaths(IMAGE)
    first, second = (distortions.make(IMAGE, name, 50, seed, paths=paths).image for seed in (0, 1))
    assert (first != second).any()
    assert_array_equal(distortions.make(IMAGE, name, 50, 0).image, first)


def test_equal_quantiser_steps_are_coded_once(monkeypatch):
    """The error of a JPEG jumps, so that a search meets the same table again and again."""
    coded = []

    def counted(image, table, *rest):
        coded.append(np.rint(table).tobytes())
        return code(image, table, *rest)

    code = jpeg.code_jpeg
    monkeypatch.setattr(jpeg, "code_jpeg", counted)
    search = distortions.SharedPaths(IMAGE).search(registry.get("jpeg"), 60.0, 0, 1)
    search.bisect(25.5)
    assert len(coded) == len(set(coded)) > 3
    assert mse(IMAGE, search.image) == search.measured


def test_the_last_impulses_are_the_pair_that_fills_the_gap_best():
    """Against all pairs, on few values that repeat."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        values = rng.integers(-5, 40, rng.integers(1, 9)).astype(np.int32)
        gap = float(rng.uniform(0, 70))
        sums = [0, *values, *(values[i] + values[j] for i in range(len(values)) for j in range(i))]
        chosen = best_fill(values, gap)
        assert len(set(chosen)) == len(chosen)
        # The partner of a value is the next one above what is missing: at least as good as any pair that overshoots.
        above = min((abs(total - gap) for total in sums if total >= gap), default=np.inf)
        assert abs(values[chosen].sum() - gap) <= min(above, *(abs(total - gap) for total in (0, *values))) + 1e-9


def test_a_kind_is_found_until_it_is_removed():
    registry.register(FunctionKind("white_fog", lambda image, rng: lambda s: image + s * (255 - image), 1.0))
    try:
        assert registry.names()[-1] == "white_fog"
        draw = registry.get("white_fog").draw(IMAGE, np.random.default_rng(0))
        assert draw.end == 1.0 and draw.parameters(0.5) == {}
    finally:
        registry.unregister("white_fog")
    with pytest.raises(ValueError, match=r"unknown kind 'white_fog'.*jpeg"):
        registry.get("white_fog")
