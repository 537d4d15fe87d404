"""What the judge sees: sums over blocks, features of regions from them, and what is measured of a copy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import fft, ndimage
from skimage.metrics import structural_similarity

from llise import datasets, distortions
from llise.diagnosis.features import block_sums, reference_blocks
from llise.diagnosis.features.reference_blocks import ReferenceBlocks
from llise.diagnosis.features.region_features import LARGEST, curve_misfit, feature_names, features
from llise.diagnosis.judging.judge import greys
from llise.diagnosis.measures import LEAST_LIKENESS, likeness, measure_copy
from llise.differences import by_block, ssim_of
from llise.kinds.fitting import median_of_neighbours
from llise.kinds.jpeg_tables import COSINES
from llise.labels import KINDS

IMAGE = datasets.reference()[100:196, 100:212]
NAMES = np.array(block_sums.names())


def sums_of(copy, name, reference=IMAGE):
    """One sum over the whole picture."""
    return block_sums.measure(reference, copy)[..., block_sums.names().index(name)].sum()


# Sums


def test_names_and_shape():
    sums = block_sums.measure(IMAGE, 255 - IMAGE)
    assert sums.shape == (12, 14, len(NAMES)) and sums.dtype == np.float32
    assert len(set(NAMES)) == len(NAMES) and np.isfinite(sums).all()
    assert (sums[..., 0] == 64).all() and NAMES[0] == "pixels"


def test_the_sums_of_a_region_are_those_of_its_pixels():
    copy = distortions.apply(IMAGE, "gaussian_noise", 100, random_state=0)
    sums = block_sums.measure(IMAGE, copy)
    region = np.random.default_rng(0).random(sums.shape[:2]) < 0.4
    error = (copy.astype(float) - IMAGE)[np.kron(region, np.ones((8, 8))) > 0]
    values = dict(zip(NAMES, sums[region].sum(axis=0, dtype=float)))
    assert values["pixels"] == error.size
    expected = [error.sum(), (error**2).sum(), np.abs(error).sum(), (error**4).sum() / 1e4]
    assert_allclose([values[f"error {i}"] for i in range(4)], expected, rtol=1e-5)
    for i, bound in enumerate(block_sums.ERROR_BOUNDS):
        assert values[f"error within {i}"] == np.count_nonzero(np.abs(error) <= bound)


@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "impulse_noise", "jpeg"])
@pytest.mark.parametrize("rows", [1, 3, 5])
def test_the_height_of_a_chunk_does_not_matter(kind, rows):
    """The coefficients off the grid of the last row of blocks have no pixels below them: they are left out here."""
    copy = distortions.apply(IMAGE, kind, 60, random_state=0)
    whole, chunks = (block_sums.measure(IMAGE, copy, chunk_rows=n) for n in (1000, rows))
    below = np.char.startswith(NAMES, "zeros off grid")
    assert_allclose(chunks[..., ~below], whole[..., ~below], rtol=1e-4, atol=0.02)
    assert_array_equal(chunks[:-1, :, below], whole[:-1, :, below])


def test_a_block_is_judged_by_its_surroundings_within_the_halo_only():
    """Sums far away from a change stay as they were."""
    picture = datasets.reference()[:320, 100:164]
    copy = picture.copy()
    copy[:16] = 255 - copy[:16]
    sums = block_sums.measure(picture, copy)
    same = block_sums.measure(picture, picture)
    assert_array_equal(sums[10:-1], same[10:-1])


@pytest.mark.parametrize("kind", ["gaussian_noise", "impulse_noise", "contrast"])
def test_what_is_kept_of_a_reference_does_not_change_the_sums_of_further_copies(kind):
    """Clipped pixels are among them: there the products of the reference's functions depend on the copy."""
    blocks = ReferenceBlocks(IMAGE)
    block_sums.measure(blocks, 255 - IMAGE)
    copy = np.where(IMAGE > 150, np.uint8(255), distortions.apply(IMAGE, kind, 200, random_state=0))
    area = np.zeros(blocks.shape, bool)
    area[2:9, 3:14] = True
    for chosen in (None, area):
        alone, after = block_sums.measure(IMAGE, copy, chosen), block_sums.measure(blocks, copy, chosen)
        assert_array_equal(after, alone)


def test_a_large_reference_keeps_nothing(monkeypatch):
    monkeypatch.setattr(reference_blocks, "MOST_KEPT", 100)
    calls = []
    monkeypatch.setattr(reference_blocks, "code_jpeg", lambda image, table: calls.append(1) or image)
    blocks = ReferenceBlocks(IMAGE)
    for copies in (1, 2):
        block_sums.measure(blocks, 255 - IMAGE)
        assert len(calls) == copies * len(reference_blocks.JPEG_FACTORS)
    monkeypatch.setattr(reference_blocks, "MOST_KEPT", blocks.shape[0] * blocks.shape[1])
    for _ in range(2):
        block_sums.measure(blocks, 255 - IMAGE)
        assert len(calls) == 3 * len(reference_blocks.JPEG_FACTORS)


def test_impulses_are_counted_and_taken_out_of_the_clean_copy():
    image = np.clip(ndimage.gaussian_filter(IMAGE.astype(float), 3), 40, 210).astype(np.uint8)
    copy = image.copy()
    copy[4::16, 4::16] = 255
    assert sums_of(copy, "impulse count 0", image) == copy[4::16, 4::16].size
    assert sums_of(copy, "impulse count 2", image) == copy[4::16, 4::16].size
    assert sums_of(copy, "error 1", image) > 100 * sums_of(copy, "product 119", image)


def test_rounding_on_the_grid_is_found_in_jpegs_alone():
    names = feature_names()
    comb = {}
    for kind in KINDS:
        copy = distortions.apply(IMAGE, kind, 80, random_state=1)
        sums = block_sums.measure(IMAGE, copy).sum(axis=(0, 1), dtype=float)
        comb[kind] = features(sums[None], greys(IMAGE))[0, names.index("comb mean")]
    assert comb["jpeg"] > 0.6 and max(value for kind, value in comb.items() if kind != "jpeg") < 0.4


def test_changed_pixels_are_counted_as_one_by_one():
    rng = np.random.default_rng(0)
    copy = IMAGE.astype(int)
    copy[20:41, 30:55] += rng.integers(-3, 4, (21, 25))
    copy = np.clip(copy, 0, 255).astype(np.uint8)
    changed = np.pad(np.abs(copy.astype(int) - IMAGE) > 1, 1)
    height, width = IMAGE.shape
    inside = border = flat = 0
    for y, x in np.argwhere(changed[1:-1, 1:-1]) + 1:
        inside += bool(changed[y - 1, x] and changed[y + 1, x] and changed[y, x - 1] and changed[y, x + 1])
    for y in range(height):
        for x in range(width):
            for v, u in ((y, x + 1), (y + 1, x)):
                if v < height and u < width:
                    both = changed[y + 1, x + 1], changed[v + 1, u + 1]
                    border += both[0] != both[1]
                    flat += all(both) and copy[y, x] == copy[v, u]
    found = [sums_of(copy, f"changed count {i}") for i in range(4)]
    assert found == [changed.sum(), inside, border, flat]


@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "luminance"])
def test_content_has_edges_of_its_own_and_other_kinds_those_of_the_reference(kind):
    box = slice(24, 72), slice(32, 80)
    patch, other = IMAGE.copy(), IMAGE.copy()
    patch[box] = 200
    other[box] = distortions.apply(IMAGE, kind, mse=100, random_state=0)[box]
    rows = [block_sums.measure(IMAGE, copy)[3:9, 4:10].sum((0, 1), dtype=float) for copy in (patch, other)]
    content, distorted = (dict(zip(feature_names(), row)) for row in features(np.array(rows), greys(IMAGE)))
    assert content["changed flat"] > 0.9 > 0.5 > distorted["changed flat"]
    assert abs(content["changed copied"]) < 0.1 < 0.4 < distorted["changed copied"]


def test_the_cosine_transform_is_scipys():
    blocks = np.random.default_rng(0).integers(0, 256, (5, 8, 8)).astype(float)
    expected = fft.dctn(blocks, axes=(1, 2), norm="ortho").reshape(5, 64)
    assert_allclose(blocks.reshape(5, 64) @ COSINES, expected, atol=1e-9)


def test_the_median_of_four_neighbours_is_scipys():
    values = np.random.default_rng(0).integers(0, 256, (12, 17)).astype(np.float32)
    cross = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    expected = ndimage.generic_filter(values, np.median, footprint=cross, mode="mirror")
    assert_allclose(median_of_neighbours(values), expected)


# Features


@st.composite
def pictures(draw):
    """Any small picture and any copy, extreme ones among them."""
    shape = draw(st.integers(8, 40)), draw(st.integers(8, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sorts = {
        "noise": lambda: rng.integers(0, 256, shape),
        "black": lambda: np.zeros(shape),
        "white": lambda: np.full(shape, 255),
        "grey": lambda: np.full(shape, 128),
        "two-valued": lambda: 255 * rng.integers(0, 2, shape),
        "ramp": lambda: np.linspace(0, 255, shape[0] * shape[1]).reshape(shape),
        "one pixel": lambda: 255 * (np.arange(shape[0] * shape[1]).reshape(shape) == 70 % (shape[0] * shape[1])),
    }
    return tuple(sorts[draw(st.sampled_from(sorted(sorts)))]().astype(np.uint8) for _ in range(2))


@settings(max_examples=40, deadline=None)
@given(pictures())
@pytest.mark.filterwarnings("error")
def test_features_of_any_pictures_are_finite(pair):
    reference, copy = pair
    sums = block_sums.measure(reference, copy)
    blocks = sums.reshape(-1, sums.shape[-1])
    table = features(np.concatenate([blocks, blocks.sum(axis=0, dtype=float)[None]]), greys(reference))
    assert table.shape == (len(blocks) + 1, len(feature_names())) and table.dtype == np.float32
    assert np.isfinite(table).all() and np.abs(table).max() <= LARGEST
    assert np.isfinite(curve_misfit(blocks)).all()


def test_features_of_regions_do_not_depend_on_the_regions_beside_them():
    sums = block_sums.measure(IMAGE, distortions.apply(IMAGE, "jpeg", 60)).reshape(-1, len(NAMES))[:20]
    together = features(sums, greys(IMAGE))
    apart = np.concatenate([features(row[None], greys(IMAGE)) for row in sums])
    assert_allclose(together, apart, atol=1e-5)


def test_features_read_shift_and_slope():
    image = np.clip(IMAGE, 60, 190)
    mean = round(float(image.mean()))
    for copy, slope in ((image + 12.0, 0), (mean + 1.2 * (image - float(mean)), 0.2)):
        sums = block_sums.measure(image, np.rint(copy).astype(np.uint8)).sum(axis=(0, 1), dtype=float)
        values = dict(zip(feature_names(), features(sums[None], greys(image))[0]))
        assert values["slope"] == pytest.approx(slope, abs=0.01)
        shift = np.sign(values["shift at mean"]) * np.expm1(abs(values["shift at mean"]))
        assert shift == pytest.approx(0 if slope else 12, abs=0.3)


# Measures


def test_measures_are_the_usual_ones():
    copy = distortions.apply(IMAGE, "blur", 90)
    found = measure_copy(IMAGE, copy)
    error = copy.astype(float) - IMAGE
    assert found.mse == pytest.approx(np.mean(error**2))
    assert found.psnr == pytest.approx(10 * np.log10(255**2 / np.mean(error**2)))
    ssim, ssim_map = structural_similarity(IMAGE, copy, data_range=255, full=True)
    assert found.ssim == pytest.approx(ssim, abs=1e-6)
    assert_allclose(found.ssim_map, ssim_map, atol=1e-6)
    assert_allclose(found.block_mse, (by_block(error) ** 2).mean(axis=-1), rtol=1e-6)


def test_the_ssim_of_a_tall_picture_is_computed_in_parts_with_the_same_result():
    picture = datasets.reference()[:, :24]
    copy = np.clip(picture + np.random.default_rng(0).normal(0, 9, picture.shape), 0, 255).astype(np.uint8)
    tall, low = np.concatenate([picture, picture[:7]]), np.concatenate([copy, copy[:7]])
    ssim, whole = structural_similarity(tall, low, data_range=255, full=True)
    found_map, found = ssim_of(tall, low)
    assert_allclose(found_map, whole, atol=1e-6)
    assert found == pytest.approx(ssim, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda pixels: pixels, (False, False)),
        (lambda pixels: pixels.__setitem__((0, 0), pixels[0, 0] + 1), (True, False)),
        (lambda pixels: pixels.__setitem__((0, 0), pixels[0, 0] + 2), (True, True)),
        (lambda pixels: pixels.__iadd__(1), (True, True)),
    ],
)
def test_a_block_is_changed_where_it_differs_beyond_rounding(change, expected):
    image = np.clip(IMAGE, 20, 200)
    copy = image.copy()
    change(copy[8:16, 24:32])
    found = measure_copy(image, copy)
    assert (found.differs[1, 3], found.changed[1, 3]) == expected
    assert found.differs.sum() == expected[0] and found.changed.sum() == expected[1]


def test_faults_stay_like_the_reference_and_other_pictures_do_not():
    for kind in KINDS:
        assert likeness(IMAGE, distortions.apply(IMAGE, kind, 100, random_state=0)) > 0.9
    assert likeness(IMAGE, np.rint(0.1 * IMAGE + 115)) > 0.9
    assert likeness(IMAGE, np.full_like(IMAGE, 9)) == 1
    assert likeness(IMAGE, 255 - IMAGE) > 0.9
    for other in (IMAGE[::-1], IMAGE[:, ::-1], np.roll(IMAGE, (40, 50), (0, 1)), 255 - IMAGE[::-1]):
        assert likeness(IMAGE, other) < LEAST_LIKENESS
