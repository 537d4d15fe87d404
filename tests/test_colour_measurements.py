"""What a colour diagnosis measures is what slower and plainer computations give."""

import numpy as np
import pytest
from scipy import ndimage
from skimage import data

from llise.colours import pixels_of, planes_of
from llise.diagnosis.colour.blocks import measure_blocks
from llise.diagnosis.colour.blurs import blurred, left_by
from llise.diagnosis.colour.features import fit_area
from llise.diagnosis.colour.planes import area_planes

PICTURE = np.ascontiguousarray(data.astronaut()[20:212, 120:312])
NOISY = np.clip(PICTURE + np.random.default_rng(0).normal(0, 9, PICTURE.shape), 0, 255).astype(np.uint8)


def planes(picture, margin=40):
    mask = np.zeros(picture.shape[:2], bool)
    mask[margin:-margin, margin:-margin] = True
    area = area_planes(picture.astype(np.float32), NOISY.astype(np.float32), mask)
    return area, area.crop(mask)


@pytest.mark.parametrize("sigma", [0.7, 1.3, 2.4, 4.5, 8.0, 14.0])
def test_blurs_by_products_of_matrices_are_those_of_a_filter(sigma):
    area, reach = planes(PICTURE)[0], int(np.ceil(3 * sigma))
    wanted = ndimage.gaussian_filter(planes_of(PICTURE), (sigma, sigma, 0), mode="nearest", radius=(reach, reach, 0))
    assert np.abs(blurred(area, sigma) - np.moveaxis(area.crop(wanted), -1, 0)).max() < 0.5


def test_planes_of_an_area_are_those_of_its_pixels():
    area, mask = planes(PICTURE)
    for values, picture in ((area.before, PICTURE), (area.after, NOISY)):
        assert np.allclose(np.moveaxis(values, 0, -1), area.crop(planes_of(picture)), atol=1e-3)
    assert mask.sum() == (192 - 80) ** 2
    assert mask.shape == (192 - 80 + 16,) * 2


def test_two_tiles_with_a_gap_between_them_are_cut_without_their_margins():
    mask = np.zeros((96, 192), bool)
    mask[32:64, 32:64] = mask[32:64, 128:160] = True
    picture = np.random.default_rng(0).uniform(0, 255, (96, 192, 3)).astype(np.float32)
    area = area_planes(picture, picture, mask)
    assert area.columns == ((24, 72), (120, 168))
    assert np.array_equal(area.crop(picture), np.concatenate([picture[24:72, 24:72], picture[24:72, 120:168]], axis=1))
    assert left_by(area.before, area, area.crop(mask).astype(np.float32)).max() < 1e-3


@pytest.mark.parametrize("shape", [(192, 192), (101, 91)])
def test_blocks_are_measured_as_pixel_by_pixel(shape):
    reference, copy = (picture[: shape[0], : shape[1]] for picture in (PICTURE, NOISY))
    blocks = measure_blocks(reference, copy)
    error = copy.astype(float) - reference
    for row, column in ((0, 0), (5, 7), (-1, -1)):
        rows, columns = (slice(8 * (at % n), 8 * (at % n) + 8) for at, n in zip((row, column), blocks.mse.shape))
        here, own, other = (values[rows, columns].reshape(-1, 3) for values in (error, reference, copy))
        chroma = planes_of(here)[:, 1:]
        ends = ((other == 0) | (other == 255)).any(axis=1) & (own != other).any(axis=1)
        wanted = {
            "reference": own.mean(axis=0),
            "copy": other.mean(axis=0),
            "largest": own.max(axis=1).mean(),
            "smallest": own.min(axis=1).mean(),
            "mse": (here**2).mean(),
            "chroma_mse": (chroma**2).mean(),
            "clipped": ends.mean(),
            "changed": (np.abs(here) > 2).any(),
            "doubt": np.sqrt(chroma.var(axis=0).mean() / 64),
        }
        for name, value in wanted.items():
            assert np.allclose(getattr(blocks, name)[row, column], value, rtol=1e-3, atol=1e-3), name


@pytest.mark.parametrize(("make", "found"), [("noise", True), ("impulses", False)])
def test_a_few_large_errors_of_the_chroma_are_no_noise_of_it(make, found):
    rng = np.random.default_rng(1)
    shape = (*PICTURE.shape[:2], 2)
    errors = rng.normal(0, 6, shape) if make == "noise" else 45.0 * (rng.random(shape) < 0.02)
    change = pixels_of(np.concatenate([np.zeros((*shape[:2], 1)), errors], axis=-1))
    base = np.clip(PICTURE, 70, 180)
    copy = np.clip(np.rint(base + change), 0, 255).astype(np.uint8)
    fit = fit_area(base, copy, measure_blocks(base, copy), np.ones((24, 24), bool))
    assert (fit.noise_beside() > 0) == found
