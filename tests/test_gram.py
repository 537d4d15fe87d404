"""Kernels are scikit-learn's, normalised and centred as the paper says, new images by training statistics."""

import numpy as np
import pytest
from oracle import gram as published_gram
from problems import KERNELS, blocks_of, bytes_of, photographs
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel
from sklearn.preprocessing import KernelCenterer

from llise.manifold.blocks import prepare
from llise.manifold.gram import Kernel, local_gram, new_gram, take_local, training_gram

THEIRS = {
    "poly": lambda x, y: polynomial_kernel(x, y, degree=3, gamma=1 / x.shape[1], coef0=1),
    "rbf": lambda x, y: rbf_kernel(x, y, gamma=1 / x.shape[1]),
    "sigmoid": lambda x, y: sigmoid_kernel(x, y, gamma=1 / x.shape[1], coef0=1),
}
RAW = blocks_of(photographs(9))
NEW = blocks_of(photographs(4, seed=5))


def prepared(raw, kernel, data_range=1.0, **options):
    return prepare(raw, data_range, centre=kernel.is_linear, **options)[0]


def training(raw, kernel, data_range=1.0):
    return training_gram(prepared(raw, kernel, data_range), kernel)


def normalised(K, norms_a, norms_b):
    return K / np.sqrt(np.outer(norms_a, norms_b))


@pytest.mark.parametrize("name", THEIRS)
def test_kernels_are_scikit_learns_normalised_and_centred_by_kernel_centerer(name):
    kernel = Kernel(name).resolved(64)
    gram, _ = training(RAW, kernel)
    for i, x in enumerate(RAW):
        K = THEIRS[name](x, x)
        expected = KernelCenterer().fit_transform(normalised(K, np.diag(K), np.diag(K)))
        np.testing.assert_allclose(gram[i], expected, atol=1e-12)
        assert np.abs(expected).max() > 1e-4


@pytest.mark.parametrize("name", THEIRS)
def test_new_images_are_centred_by_training_statistics_as_kernel_centerer_does(name):
    kernel = Kernel(name).resolved(64)
    _, statistics = training(RAW, kernel)
    products, squared, training_squared = new_gram(prepared(NEW, kernel), prepared(RAW, kernel), kernel, statistics)
    for i, (x, y) in enumerate(zip(RAW, NEW)):
        K, new, own = THEIRS[name](x, x), THEIRS[name](y, x), np.diag(THEIRS[name](y, y))
        centerer = KernelCenterer().fit(normalised(K, np.diag(K), np.diag(K)))
        expected = centerer.transform(normalised(new, own, np.diag(K)))
        np.testing.assert_allclose(products[i], expected, atol=1e-12)
        # squared norms by explicit centring of phi(y): k(y,y) - 2 mean k(y, .) + mean k(., .)
        means = normalised(new, own, np.diag(K)).mean(axis=1)
        np.testing.assert_allclose(squared[i], 1 - 2 * means + centerer.K_fit_all_, atol=1e-12)
        np.testing.assert_allclose(
            training_squared[i], np.diag(centerer.transform(normalised(K, *[np.diag(K)] * 2))), atol=1e-12
        )


@pytest.mark.parametrize("name", KERNELS)
def test_gram_is_the_papers(name):
    gram, _ = training(RAW, Kernel(name).resolved(64))
    for i, x in enumerate(RAW):
        np.testing.assert_allclose(gram[i], published_gram(x, name), atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_training_images_seen_as_new_have_the_training_gram(name):
    kernel = Kernel(name).resolved(64)
    gram, statistics = training(RAW, kernel)
    blocks = prepared(RAW, kernel)
    products, squared, training_squared = new_gram(blocks, blocks, kernel, statistics)
    np.testing.assert_allclose(products, gram, atol=1e-12)
    np.testing.assert_allclose(squared, np.diagonal(gram, axis1=1, axis2=2), atol=1e-12)
    np.testing.assert_allclose(training_squared, np.diagonal(gram, axis1=1, axis2=2), atol=1e-12)


@pytest.mark.parametrize("name", [*KERNELS, laplacian_kernel], ids=lambda kernel: getattr(kernel, "__name__", kernel))
@pytest.mark.parametrize("luminance", [0.0, 0.5])
def test_local_gram_is_a_part_of_the_whole(name, luminance):
    kernel = Kernel(name).resolved(64)
    if luminance and not kernel.is_linear:
        luminance = 0.0  # the coordinate exists for the linear kernel alone
    blocks = prepared(RAW, kernel, luminance=luminance)
    gram, statistics = training_gram(blocks, kernel)
    near = np.random.default_rng(0).integers(0, 9, (len(RAW), 5, 3))
    local = local_gram(blocks, near, kernel, statistics)
    np.testing.assert_allclose(local, take_local(gram, near), atol=1e-12)
    assert local[1, 2, 0, 2] == pytest.approx(gram[1, near[1, 2, 0], near[1, 2, 2]], abs=1e-12)


def test_a_callable_is_given_scaled_blocks_and_treated_like_any_kernel():
    raw = bytes_of(photographs(9))
    blocks, new = blocks_of(raw), blocks_of(bytes_of(photographs(4, seed=5)))
    named, called = Kernel("rbf").resolved(64), Kernel(THEIRS["rbf"]).resolved(64)
    (gram, statistics), (same, own) = training(blocks, named, 255.0), training(blocks, called, 255.0)
    np.testing.assert_allclose(same, gram, atol=1e-12)
    ours = new_gram(prepared(new, named, 255.0), prepared(blocks, named, 255.0), named, statistics)
    theirs = new_gram(prepared(new, called, 255.0), prepared(blocks, called, 255.0), called, own)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_8_bit_images_give_what_their_float_values_give(name):
    kernel = Kernel(name).resolved(64)
    raw = blocks_of(bytes_of(photographs(9)))
    np.testing.assert_allclose(training(raw, kernel, 255.0)[0], training(raw / 255.0, kernel)[0], atol=1e-12)


def test_gamma_is_one_over_q_unless_given():
    assert Kernel("rbf").resolved(64).gamma == 1 / 64
    assert Kernel("rbf", gamma=0.5).resolved(64).gamma == 0.5
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="gamma must be a positive number"):
            Kernel("rbf", gamma=bad).resolved(64)


def test_an_unknown_kernel_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="kernel='cosine' is unknown; use one of linear, poly, rbf, sigmoid"):
        Kernel("cosine").resolved(64)


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("sigmoid", coef0=-50.0),  # tanh of a negative number
        Kernel("poly", coef0=-50.0),
        Kernel(lambda x, y: np.zeros((len(x), len(y)))),
        Kernel("poly", gamma=1e200),  # overflows
    ],
    ids=["sigmoid", "poly", "zero", "overflow"],
)
def test_a_kernel_that_cannot_be_normalised_is_refused(kernel):
    kernel = kernel.resolved(64)
    with pytest.raises(ValueError, match=r"cannot be normalised: k\(x, x\) = .* must be positive and finite. Choose"):
        training(RAW, kernel)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_callable_that_returns_no_numbers_is_refused(value):
    spoiled = lambda x, y: np.where(np.eye(len(x), len(y)) > 0, 1.0, value)
    with pytest.raises(ValueError, match=r"must return a finite array of shape \(9, 9\).* 72 values not finite"):
        training(RAW, Kernel(spoiled).resolved(64))


def test_a_callable_that_returns_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"array of shape \(9, 9\) for blocks of shapes .*; got shape \(9,\)"):
        training(RAW, Kernel(lambda x, y: x[:, 0]).resolved(64))


def test_a_new_block_that_cannot_be_normalised_is_refused():
    kernel = Kernel("poly", coef0=-0.1, degree=3).resolved(64)  # k(x, x) > 0 only where mean x^2 > 0.1
    raw, new = 0.5 + 0.5 * RAW, 0.01 * NEW
    _, statistics = training(raw, kernel)
    with pytest.raises(ValueError, match="cannot be normalised"):
        new_gram(prepared(new, kernel), prepared(raw, kernel), kernel, statistics)
