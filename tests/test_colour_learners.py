"""The learners take colour images: the Gram matrix is the weighted sum of those of the planes."""

import numpy as np
import pytest
from sklearn.base import clone

import llise
from llise import LLE, LLISE, KernelLLE, KernelLLISE
from llise.colours import planes_of
from llise.manifold.blocks import BlockGrid, prepare
from llise.manifold.gram import Kernel, training_gram
from llise.manifold.planes import colour_grid, laid_out

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 20, 26, 3)).astype(np.uint8)
LEARNERS = [LLISE, KernelLLISE, LLE, KernelLLE]


def test_the_gram_matrix_is_the_weighted_sum_over_the_planes():
    weights = (1.0, 0.5, 2.0)
    (images, _), grid = laid_out(IMAGES, 8, weights, centre=True), colour_grid(IMAGES.shape[1:], 8)
    together, _ = training_gram(prepare(grid.cut(images), 255.0, centre=True)[0], Kernel("linear"))
    total = 0.0
    for number, weight in enumerate(weights):
        plane = planes_of(IMAGES)[..., number].astype(np.float64)
        blocks = BlockGrid.of_images(plane.shape[1:], 8).cut(plane)
        total = total + weight * training_gram(prepare(blocks, 255.0, centre=True)[0], Kernel("linear"))[0]
    assert np.allclose(together, total, atol=1e-4)


@pytest.mark.parametrize("block_size", [8, 2, None])
def test_the_means_of_the_planes_count_as_the_mean_of_a_grey_block_does(block_size):
    """The Gram matrix with luminance is the weighted sum of those of the planes, each with its own mean (eq. 5)."""
    weights = (1.0, 0.5, 2.0)
    images, levels = laid_out(IMAGES, block_size, weights, centre=True, luminance=0.7)
    grid = colour_grid(IMAGES.shape[1:], block_size, luminance=True)
    together, _ = training_gram(prepare(grid.cut(images), 255.0, centre=True)[0], Kernel("linear"))
    total = 0.0
    for number, weight in enumerate(weights):
        plane = planes_of(IMAGES)[..., number].astype(np.float64)
        blocks = BlockGrid.of_images(plane.shape[1:], block_size).cut(plane)
        own = prepare(blocks, 255.0, centre=True, luminance=0.7)[0]
        total = total + weight * _with_luminance(own)
    assert np.allclose(together, total, atol=1e-4 * np.abs(total).max())
    again, _ = laid_out(IMAGES[3:5], block_size, weights, centre=True, luminance=0.7, levels=levels)
    assert np.allclose(again, images[3:5], atol=1e-3)


def _with_luminance(blocks):
    centred = blocks.values - blocks.values.mean(axis=-1, keepdims=True)
    products = centred @ centred.swapaxes(-1, -2) * blocks.scale**2
    return products + blocks.luminance[:, :, None] * blocks.luminance[:, None, :]


@pytest.mark.parametrize("learner", LEARNERS)
def test_colour_images_go_through_all_methods(learner, tmp_path):
    fitted = learner(3, n_neighbors=4).fit(IMAGES)
    coordinates = fitted.transform(IMAGES[:2])
    assert fitted.inverse_transform(coordinates).shape == (2, 20, 26, 3)
    rows = learner(3, n_neighbors=4, image_shape=(20, 26, 3)).fit(IMAGES.reshape(12, -1))
    assert np.array_equal(rows.embedding_, fitted.embedding_)
    llise.save(fitted, tmp_path / "model.safetensors")
    assert np.allclose(llise.load(tmp_path / "model.safetensors").transform(IMAGES[:2]), coordinates)
    other = learner(3, n_neighbors=4, plane_weights=(1, 0, 0)).fit(IMAGES)
    assert not np.allclose(other.embedding_, fitted.embedding_)


@pytest.mark.parametrize("luminance", [0.0, 0.5, None])
@pytest.mark.parametrize("block_size", [8, None])
def test_equal_channels_give_the_neighbours_and_weights_of_the_grey_images(luminance, block_size):
    grey = IMAGES[..., 0]
    learner = LLISE(3, n_neighbors=4, luminance=luminance, block_size=block_size)
    own = clone(learner).fit(grey)
    colour = clone(learner).fit(np.stack([grey] * 3, axis=-1))
    new = 255 - IMAGES[:2, ..., 1]
    errors = [learner.embed(images, return_error=True)[1] for learner, images in
              ((own, new), (colour, np.stack([new] * 3, axis=-1)))]  # fmt: skip
    assert np.allclose(*errors, atol=1e-5)
    assert np.array_equal(own.neighbors_, colour.neighbors_)
    assert np.allclose(own.weights_, colour.weights_, atol=1e-5)
    assert own.block_grid_ == colour.block_grid_ == ((1, 1) if block_size is None else (3, 4))


def test_what_colour_images_cannot_have_is_refused():
    with pytest.raises(ValueError, match="expected three numbers"):
        LLISE(3, n_neighbors=4, plane_weights=(1, -1, 0)).fit(IMAGES)
    with pytest.raises(ValueError, match=r"\(n, h, w, 3\)"):
        LLISE(3, n_neighbors=4).fit(IMAGES[..., :2])
    with pytest.raises(ValueError, match="image_shape"):
        LLISE(3, n_neighbors=4, image_shape=(20, 26, 2)).fit(IMAGES[..., :2].reshape(12, -1))
