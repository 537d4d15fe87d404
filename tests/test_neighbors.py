"""The k nearest blocks: as brute force finds them, self excluded by identity, ties by index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import neighbours
from problems import blocks_of, bytes_of, photographs
from sklearn.neighbors import NearestNeighbors

from llise.manifold.blocks import prepare
from llise.manifold.gram import Kernel, new_gram, training_gram
from llise.manifold.neighbors import new_neighbors, training_neighbors


def gram_of(raw, name="linear", data_range=1.0):
    kernel = Kernel(name).resolved(raw.shape[-1])
    return training_gram(prepare(raw, data_range, centre=kernel.is_linear)[0], kernel)[0]


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("k", [1, 5, 23])
def test_equal_to_brute_force(name, k):
    gram = gram_of(blocks_of(photographs(24)), name)
    neighbors = training_neighbors(gram, k)
    for i in range(len(gram)):
        np.testing.assert_array_equal(neighbors[i], neighbours(gram[i], k))


def test_equal_to_scikit_learns_on_centred_blocks():
    raw = blocks_of(photographs(24))
    neighbors = training_neighbors(gram_of(raw), 6)
    for i, x in enumerate(raw):
        x = x - x.mean(axis=1, keepdims=True)
        theirs = NearestNeighbors(n_neighbors=6).fit(x).kneighbors(return_distance=False)
        np.testing.assert_array_equal(neighbors[i], theirs)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_exact_duplicates_come_by_index_and_never_self(n, kinds, seed):
    """Few different 8-bit blocks, so that most distances tie exactly."""
    rng = np.random.default_rng(seed)
    different = rng.integers(0, 256, (1, kinds, 16)).astype(np.uint8)
    different[0, 0] = different[0, 0, 0]  # a flat one
    raw = different[:, rng.integers(0, kinds, n)]
    gram = gram_of(raw, data_range=255.0)
    k = rng.integers(1, n)
    neighbors = training_neighbors(gram, k)[0]
    for j in range(n):
        assert j not in neighbors[j]
        distance = {r: gram[0, j, j] - 2 * gram[0, j, r] + gram[0, r, r] for r in range(n) if r != j}
        expected = sorted(distance, key=lambda r: (round(distance[r], 9), r))[:k]
        assert list(neighbors[j]) == expected


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("n", [7, 50, 121])
def test_duplicates_of_float_blocks_tie_exactly_too(name, n):
    """Equal blocks have bit for bit equal products, which a library's matrix product does not promise."""
    rng = np.random.default_rng(n)
    raw = rng.random((3, n // 3, 25))[:, rng.integers(0, n // 3, n)]
    gram = gram_of(raw, name)
    same = (raw[:, :, None] == raw[:, None]).all(axis=-1)
    neighbors = training_neighbors(gram, n - 1)
    for i, j in np.ndindex(3, n):
        equal = np.flatnonzero(same[i, j] & (np.arange(n) != j))
        for r in range(n):
            assert (gram[i, j, same[i, r]] == gram[i, j, r]).all()
        assert list(neighbors[i, j, : len(equal)]) == list(equal)


def test_flat_blocks_are_each_others_neighbours_whatever_their_grey():
    images = bytes_of(photographs(6, 8, 8))
    images[[1, 3, 5]] = np.array([7, 100, 255])[:, None, None]
    neighbors = training_neighbors(gram_of(blocks_of(images), data_range=255.0), 2)[0]
    assert [set(neighbors[j]) for j in (1, 3, 5)] == [{3, 5}, {1, 5}, {1, 3}]


def new_against(training, new, name="linear", k=4, identical=None, data_range=1.0):
    kernel = Kernel(name).resolved(training.shape[-1])
    blocks, others = (prepare(raw, data_range, centre=kernel.is_linear)[0] for raw in (training, new))
    _, statistics = training_gram(blocks, kernel)
    products, squared, norms = new_gram(others, blocks, kernel, statistics)
    identical = np.full(new.shape[1], -1) if identical is None else identical
    return new_neighbors(products, norms, k, identical), products, squared, norms


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_new_images_neighbours_equal_brute_force(name):
    training, new = blocks_of(photographs(24)), blocks_of(photographs(5, seed=3))
    neighbors, products, squared, norms = new_against(training, new, name)
    for i in range(len(training)):
        for j in range(5):
            distance = squared[i, j] - 2 * products[i, j] + norms[i]
            np.testing.assert_array_equal(neighbors[i, j], np.argsort(distance, kind="stable")[:4])


def test_a_new_image_equal_to_a_training_image_finds_it_among_duplicates():
    images = bytes_of(photographs(12, 8, 8))
    images[[2, 5, 9]] = 128  # flat: no block tells them apart, but image 5 is 5
    raw = blocks_of(images)
    assert list(new_against(raw, raw[:, 5:6], k=3, data_range=255.0)[0][0, 0]) == [2, 5, 9]
    copy = new_against(raw, raw[:, 5:6], k=3, identical=np.array([5]), data_range=255.0)[0]
    assert list(copy[0, 0]) == [5, 2, 9]
