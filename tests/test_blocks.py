"""Images to blocks and back, for any size, and what centring and the luminance coordinate do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.util import view_as_blocks

from llise.manifold.blocks import BlockGrid, prepare
from llise.manifold.gram import Kernel, training_gram

sizes = st.tuples(st.integers(2, 21), st.integers(2, 21), st.integers(2, 9)).filter(lambda s: min(s[:2]) >= s[2])


def numbered(n, height, width, dtype=np.int64):
    """Images whose pixels are all different."""
    return np.arange(n * height * width).reshape(n, height, width).astype(dtype)


@pytest.mark.parametrize(("shape", "side"), [((16, 24), 8), ((12, 12), 4), ((6, 10), 2)])
def test_cutting_is_scikit_images_where_sides_fit(shape, side):
    images = numbered(3, *shape)
    grid = BlockGrid.of_images(shape, side)
    theirs = np.stack([view_as_blocks(image, (side, side)).reshape(-1, side * side) for image in images], axis=1)
    assert (grid.rows, grid.cols) == (shape[0] // side, shape[1] // side)
    np.testing.assert_array_equal(grid.cut(images), theirs)


@settings(max_examples=80, deadline=None)
@given(sizes)
def test_cut_and_join_are_inverse_for_any_size(size):
    height, width, side = size
    images = numbered(2, height, width, np.float32)
    grid = BlockGrid.of_images((height, width), side)
    blocks = grid.cut(images)
    assert blocks.shape == (grid.n_blocks, 2, side * side)
    assert blocks.dtype == images.dtype
    np.testing.assert_array_equal(grid.join(blocks), images)


@settings(max_examples=80, deadline=None)
@given(sizes)
def test_uneven_sides_are_padded_by_their_edge(size):
    height, width, side = size
    images = numbered(2, height, width)
    grid = BlockGrid.of_images((height, width), side)
    extra = ((0, 0), (0, -height % side), (0, -width % side))
    padded = np.pad(images, extra, mode="edge")
    even = BlockGrid.of_images(padded.shape[1:], side)
    np.testing.assert_array_equal(grid.cut(images), even.cut(padded))


def test_28_pixels_make_four_blocks_a_side_not_three():
    assert BlockGrid.of_images((28, 28), 8).n_blocks == 16


@settings(max_examples=80, deadline=None)
@given(sizes, st.integers(1, 40))
def test_chunks_cover_every_block_once_whatever_their_size(size, n_blocks):
    height, width, side = size
    images = numbered(2, height, width)
    grid = BlockGrid.of_images((height, width), side)
    parts = [grid.cut(grid.pixels(images, chunk)) for chunk in grid.chunks(n_blocks)]
    np.testing.assert_array_equal(np.concatenate(parts), grid.cut(images))


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_a_map_shows_each_blocks_value_on_its_pixels(size):
    height, width, side = size
    grid = BlockGrid.of_images((height, width), side)
    values = np.arange(grid.n_blocks)
    shown = grid.spread(values)
    assert shown.shape == (height, width)
    for row in range(height):
        for col in range(width):
            assert shown[row, col] == (row // side) * grid.cols + col // side


def test_a_row_is_one_block():
    grid = BlockGrid.of_rows(7)
    rows = numbered(3, 1, 7)
    assert (grid.rows, grid.cols, grid.q) == (1, 1, 7)
    np.testing.assert_array_equal(grid.cut(rows)[0], rows[:, 0])


def test_an_image_smaller_than_a_block_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"5x20 pixels is smaller than one block of 8x8.*block_size=5"):
        BlockGrid.of_images((5, 20), 8)


def gram_of(raw, data_range, **options):
    return training_gram(prepare(raw, data_range, centre=True, **options)[0], Kernel("linear").resolved(raw.shape[-1]))[
        0
    ]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, np.float64])
def test_inner_products_are_those_of_centred_scaled_blocks(dtype):
    raw = np.random.default_rng(0).integers(0, 256, (3, 5, 64)).astype(dtype)
    x = raw.astype(float) / 255.0
    x = x - x.mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(gram_of(raw, 255.0), x @ x.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("dtype", "top", "q"), [(np.uint8, 255, 64), (np.uint8, 255, 1024), (np.uint16, 65535, 64)])
def test_integer_blocks_have_exact_products(dtype, top, q):
    """So that duplicates tie exactly and flat blocks are exactly zero, whatever their grey value."""
    raw = np.random.default_rng(0).integers(0, top + 1, (1, 4, q)).astype(dtype)
    raw[0, 1] = 201  # flat
    raw[0, 3] = raw[0, 2]
    gram = gram_of(raw, float(top))
    assert (gram[0, 1] == 0).all()
    assert gram[0, 2, 2] == gram[0, 3, 3] == gram[0, 2, 3]


def test_a_shift_of_luminance_is_invisible_without_its_coordinate_and_seen_with_it():
    rng = np.random.default_rng(0)
    raw = np.repeat(rng.random((2, 1, 16)), 3, axis=1) * 0.5 + np.array([0.0, 0.1, 0.4])[None, :, None]
    blind = gram_of(raw, 1.0)
    np.testing.assert_allclose(blind, blind[:, :1, :1] * np.ones((1, 3, 3)), atol=1e-14)
    seeing = gram_of(raw, 1.0, luminance=0.5) - blind
    level = raw.mean(axis=-1)
    coordinate = 0.5 * np.sqrt(16) * (level - level.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(seeing, coordinate[:, :, None] * coordinate[:, None, :], atol=1e-14)
    assert np.abs(seeing).max() > 0.1


def test_luminance_of_new_images_is_measured_from_the_training_mean():
    rng = np.random.default_rng(0)
    raw, new = rng.random((2, 5, 16)), rng.random((2, 3, 16))
    _, mean = prepare(raw, 1.0, centre=True, luminance=0.5)
    np.testing.assert_allclose(mean, raw.mean(axis=(1, 2)))
    together, _ = prepare(new, 1.0, centre=True, luminance=0.5, mean=mean)
    alone, _ = prepare(new[:, 1:2], 1.0, centre=True, luminance=0.5, mean=mean)
    np.testing.assert_array_equal(together.luminance[:, 1:2], alone.luminance)
    np.testing.assert_allclose(together.luminance, 2.0 * (new.mean(axis=-1) - mean[:, None]))
