"""The compiled steps around the two solvers, each against the plain expression it stands for."""

import numpy as np
import pytest
from problems import blocks_of, bytes_of, photographs

from llise.manifold.blocks import BlockGrid, prepare
from llise.manifold.embedding import content_start, reconstruct
from llise.manifold.gram import Kernel, linear_problems, local_gram, new_gram, take_local, training_gram
from llise.manifold.neighbors import new_neighbors, training_neighbors
from llise.manifold.objectives import reconstruction_value

LINEAR = Kernel("linear")
RANGES = [(np.uint8, 255, 64), (np.uint8, 255, 25), (np.uint8, 255, 258), (np.uint16, 65535, 81), (bool, 1, 9)]


def grey(dtype, top, shape, seed=0):
    """Grey values with their extremes, a flat block and a duplicate."""
    values = np.random.default_rng(seed).integers(0, top + 1, shape)
    values[:, 1] = top
    values[:, 3] = values[:, 2]
    values[:, 2, 0] = values[:, 3, 0] = top
    return values.astype(dtype)


def centred_integers(x, y):
    """q x'y - s_x s_y in integers without a bound."""
    x, y = x.astype(int).astype(object), y.astype(int).astype(object)
    q = x.shape[-1]
    return q * (x @ y.transpose(0, 2, 1)) - x.sum(axis=-1)[:, :, None] * y.sum(axis=-1)[:, None, :]


def as_products(integers, top, q):
    return integers.astype(float) * ((1.0 / top) ** 2 / q)


@pytest.mark.parametrize(("dtype", "top", "q"), RANGES)
def test_products_of_integers_are_exact_over_their_whole_range(dtype, top, q):
    raw, fresh = grey(dtype, top, (2, 7, q)), grey(dtype, top, (2, 5, q), seed=1)
    training, new = (prepare(v, float(top), centre=True)[0] for v in (raw, fresh))
    gram, _ = training_gram(training, LINEAR)
    np.testing.assert_array_equal(gram, as_products(centred_integers(raw, raw), top, q))
    products, own, norms = new_gram(new, training, LINEAR, None)
    np.testing.assert_array_equal(products, as_products(centred_integers(fresh, raw), top, q))
    np.testing.assert_array_equal(norms, np.diagonal(gram, axis1=1, axis2=2))
    np.testing.assert_array_equal(
        own, as_products(np.diagonal(centred_integers(fresh, fresh), axis1=1, axis2=2), top, q)
    )
    near = np.random.default_rng(2).integers(0, 7, (2, 5, 4))
    np.testing.assert_array_equal(local_gram(training, near, LINEAR, None), take_local(gram, near))


@pytest.mark.parametrize("q", [2, 9, 64, 67])
@pytest.mark.parametrize("luminance", [0.0, 0.7])
def test_products_of_floats_are_those_of_centred_blocks(q, luminance):
    rng = np.random.default_rng(q)
    raw, fresh = rng.random((3, 11, q)), rng.random((3, 4, q))
    training, level = prepare(raw, 1.0, centre=True, luminance=luminance)
    new, _ = prepare(fresh, 1.0, centre=True, luminance=luminance, mean=level)
    x, y = (v - v.mean(axis=-1, keepdims=True) for v in (raw, fresh))
    if luminance:
        means = raw.mean(axis=(1, 2))[:, None, None]
        x, y = (
            np.concatenate([c, luminance * np.sqrt(q) * (v.mean(axis=-1, keepdims=True) - means)], axis=-1)
            for c, v in ((x, raw), (y, fresh))
        )
    gram, _ = training_gram(training, LINEAR)
    products, own, norms = new_gram(new, training, LINEAR, None)
    np.testing.assert_allclose(gram, x @ x.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(products, y @ x.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(own, (y * y).sum(axis=-1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(norms, (x * x).sum(axis=-1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("q", [2, 25, 64, 100])
@pytest.mark.parametrize("luminance", [0.0, 0.7])
def test_products_of_float_blocks_do_not_depend_on_the_other_blocks(luminance, q):
    raw = np.random.default_rng(0).random((2, 23, q))
    blocks, level = prepare(raw, 1.0, centre=True, luminance=luminance)
    gram, _ = training_gram(blocks, LINEAR)
    np.testing.assert_array_equal(gram, gram.transpose(0, 2, 1))
    for few in (slice(0, 1), slice(4, 9), slice(22, 23)):
        new, _ = prepare(raw[:, few], 1.0, centre=True, luminance=luminance, mean=level)
        np.testing.assert_array_equal(new_gram(new, blocks, LINEAR, None)[0], gram[:, few])


@pytest.mark.parametrize("k", [1, 2, 10, 40])
@pytest.mark.parametrize("n", [41, 121, 130])
def test_ties_among_many_come_by_index(n, k):
    """Distances that are small integers: most of them tie."""
    rng = np.random.default_rng(n + k)
    products = rng.integers(0, 6, (2, n, n)).astype(float)
    products = products + products.transpose(0, 2, 1)
    norms = np.diagonal(products, axis1=1, axis2=2)
    distance = norms[:, None, :] - 2 * products
    expected = np.argsort(distance, axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(new_neighbors(products, norms, k, np.full(n, -1)), expected)
    alone = np.where(np.eye(n, dtype=bool), np.inf, distance)
    np.testing.assert_array_equal(training_neighbors(products, k), np.argsort(alone, axis=-1, kind="stable")[..., :k])


@pytest.mark.parametrize("n", [2, 3, 9])
def test_all_others_can_be_neighbours(n):
    gram = training_gram(prepare(grey(np.uint8, 255, (2, 9, 16))[:, :n], 255.0, centre=True)[0], LINEAR)[0]
    near = training_neighbors(gram, n - 1)
    np.testing.assert_array_equal(np.sort(near, axis=-1), [[[r for r in range(n) if r != j] for j in range(n)]] * 2)


def test_local_problems_are_parts_of_the_gram_matrix():
    gram = training_gram(prepare(blocks_of(bytes_of(photographs(12))), 255.0, centre=True)[0], LINEAR)[0]
    near = training_neighbors(gram, 5)
    K = take_local(gram, near)
    for i, j in np.ndindex(near.shape[:2]):
        np.testing.assert_array_equal(K[i, j], gram[i][np.ix_(near[i, j], near[i, j])])


@pytest.mark.parametrize("luminance", [0.0, 0.7])
@pytest.mark.parametrize("n", [3, 40, 131])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_all_steps_in_one_pass_are_the_steps_one_by_one(dtype, n, luminance):
    """For integers most blocks have duplicates, so that neighbours tie."""
    rng = np.random.default_rng(n)
    raw = rng.integers(0, 256, (3, n // 3, 25))[:, rng.integers(0, n // 3, n)].astype(dtype)
    blocks, _ = prepare(raw, 255.0, centre=True, luminance=luminance)
    k = min(10, n - 1)
    gram, _ = training_gram(blocks, LINEAR)
    near = training_neighbors(gram, k)
    steps = near, take_local(gram, near), np.take_along_axis(gram, near, axis=-1), np.linalg.diagonal(gram)
    for one, other in zip(linear_problems(blocks, k), steps, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_values_of_many_problems_are_those_of_each(k):
    rng = np.random.default_rng(k)
    w, a, root = rng.standard_normal((2, 7, k)), rng.random((2, 7)), rng.standard_normal((2, 7, k, k))
    K, kv = root @ root.transpose(0, 1, 3, 2), rng.standard_normal((2, 7, k))
    values = reconstruction_value(w, K, kv, a, 0.05)
    for at in np.ndindex(2, 7):
        quadratic = w[at] @ K[at] @ w[at]
        expected = (a[at] + quadratic - 2 * w[at] @ kv[at]) / (a[at] + quadratic + 0.05)
        assert values[at] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert reconstruction_value(w[at], K[at], kv[at], a[at], 0.05) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coordinates_of_new_images_are_combinations(dtype):
    rng = np.random.default_rng(0)
    weights, near = rng.random((2, 5, 3)), rng.integers(0, 8, (2, 5, 3))
    coordinates = rng.standard_normal((2, 8, 4)).astype(dtype)
    placed = reconstruct(weights, near, coordinates)
    for i, j in np.ndindex(2, 5):
        np.testing.assert_allclose(placed[i, j], weights[i, j] @ coordinates[i, near[i, j]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("q", [16, 25])
def test_the_start_is_a_projection_of_centred_blocks_and_exactly_zero_for_flat_ones(q):
    raw = grey(np.uint8, 255, (2, 6, q))
    blocks, _ = prepare(raw, 255.0, centre=True)
    start = content_start(blocks.values, 3)
    centred = raw - raw.mean(axis=-1, keepdims=True)
    projection = np.random.default_rng(0).standard_normal((q, 3))
    np.testing.assert_allclose(start, centred @ projection, rtol=1e-12, atol=1e-10)
    assert (start[:, 1] == 0).all() and np.abs(start[:, 0]).min() > 0
    np.testing.assert_array_equal(start[:, 2], start[:, 3])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64, bool])
def test_images_are_cut_alike_whatever_their_type_and_layout(dtype, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (4, 20, 27)).astype(dtype)
    grid = BlockGrid.of_images((20, 27), 8)
    blocks = grid.cut(images)
    assert blocks.dtype == dtype and type(blocks) is np.ndarray
    for row, col in np.ndindex(2, 3):
        part = images[:, 8 * row : 8 * row + 8, 8 * col : 8 * col + 8].reshape(4, -1)
        np.testing.assert_array_equal(blocks[row * grid.cols + col], part)
    images.tofile(tmp_path / "images")
    mapped = np.memmap(tmp_path / "images", dtype, "r", shape=images.shape)
    apart = np.repeat(images, 2, axis=2)[:, :, ::2]
    for other in (mapped, apart, np.asfortranarray(images), images[::-1][::-1]):
        same = grid.cut(other)
        assert type(same) is np.ndarray
        np.testing.assert_array_equal(same, blocks)
