"""What manifold learners are asked for: the way back, choosing k and p, data that is not images."""

import numpy as np
import pytest
from problems import photographs
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import trustworthiness as sklearn_trustworthiness
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from llise import LLE, LLISE, KernelLLE, KernelLLISE, continuity, trustworthiness
from llise.manifold.blocks import BlockGrid
from llise.manifold.inverse import images_of, inverse_weights

IMAGES = photographs(24, 20, 13)  # sides that are no multiples of a block
NEW = photographs(6, 20, 13, seed=4)
LEARNERS = {
    "LLISE": LLISE(n_neighbors=6),
    "LLISE affine": LLISE(n_neighbors=6, constraint="affine", luminance=0.5),
    "kernel LLISE": KernelLLISE(n_neighbors=6),
    "LLE": LLE(n_neighbors=6),
    "kernel LLE": KernelLLE(n_neighbors=6),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


def roots(values):
    return float(np.sqrt((np.asarray(values, float) ** 2).mean()))


# ------------------------------------------------------------------------------------------------------ the way back


@every_learner
def test_training_images_come_back_from_their_coordinates(learner):
    learner = clone(learner).fit(IMAGES)
    images = learner.inverse_transform(learner.transform(IMAGES))
    assert images.shape == IMAGES.shape
    np.testing.assert_allclose(images, IMAGES, atol=1e-12)


@every_learner
def test_new_images_come_back_nearer_than_the_mean_image(learner):
    """Images between two training images, which lie on the manifold; a small ridge, so that two weights suffice."""
    between = 0.7 * IMAGES[:5].astype(float) + 0.3 * IMAGES[5:10]
    learner = clone(learner).set_params(n_components=8, ridge=0.001).fit(IMAGES / 255)
    images = learner.inverse_transform(learner.transform(between / 255))
    assert roots(images - between / 255) < 0.5 * roots(IMAGES.mean(axis=0) / 255 - between / 255)


def test_inverse_weights_solve_the_regularised_problem_on_the_plane():
    """Against the Lagrangian system of (43), written out for each block and image."""
    generator = np.random.default_rng(0)
    training, targets = generator.normal(size=(3, 12, 2)), generator.normal(size=(3, 4, 2))
    weights = inverse_weights(targets, training, 5, 0.1)
    for b in range(3):
        for m in range(4):
            distances = np.linalg.norm(training[b] - targets[b, m], axis=1)
            nearest = np.argsort(distances)[:5]
            offsets = training[b, nearest] - targets[b, m]
            ridge = 0.1 * (distances[nearest] ** 2).mean()
            system = np.block([[offsets @ offsets.T + ridge * np.eye(5), np.ones((5, 1))], [np.ones((1, 5)), 0.0]])
            expected = np.zeros(12)
            expected[nearest] = np.linalg.solve(system, [*np.zeros(5), 1.0])[:5]
            np.testing.assert_allclose(weights[b, m], expected, atol=1e-10)


def test_coordinates_between_two_images_give_the_image_between_them():
    images = np.array([[[0.0, 8.0]], [[4.0, 0.0]], [[90.0, 90.0]]])
    coordinates = np.array([[[-1.0], [1.0], [50.0]]])
    middle = images_of(np.array([[[0.0], [0.5]]]), coordinates, images, BlockGrid.of_rows(2), 2, 1e-9)
    np.testing.assert_allclose(middle, [[[2.0, 4.0]], [[3.0, 2.0]]], atol=1e-6)


def test_equal_coordinates_give_the_first_of_the_images():
    training = np.array([[[0.0], [0.0], [1.0]]])
    np.testing.assert_array_equal(inverse_weights(training[:, :1], training, 2, 0.1), [[[1.0, 0.0, 0.0]]])
    equal = np.zeros((1, 3, 1))
    assert np.isfinite(inverse_weights(np.ones((1, 1, 1)), equal, 3, 0.1)).all()


@every_learner
def test_each_image_comes_back_as_it_does_alone(learner):
    learner = clone(learner).fit(IMAGES)
    coordinates = learner.transform(NEW)
    alone = [learner.inverse_transform(row[None])[0] for row in coordinates]
    np.testing.assert_allclose(learner.inverse_transform(coordinates), alone, rtol=0, atol=1e-10)


@every_learner
def test_the_form_of_the_result_is_that_of_the_input(learner):
    rows = IMAGES.reshape(24, -1)
    with_shape = clone(learner).set_params(image_shape=(20, 13)).fit(rows)
    as_block = clone(learner).fit(rows)
    for fitted in (with_shape, as_block):
        assert fitted.inverse_transform(fitted.transform(rows[:3])).shape == (3, 260)
    by_images = clone(learner).fit(IMAGES)
    np.testing.assert_array_equal(
        by_images.inverse_transform(by_images.transform(NEW)).reshape(6, -1),
        with_shape.inverse_transform(with_shape.transform(NEW.reshape(6, -1))),
    )


def test_the_way_back_keeps_single_precision_and_takes_frames():
    images = (IMAGES / 255).astype(np.float32)
    learner = LLISE(n_neighbors=6).fit(images)
    assert learner.inverse_transform(learner.transform(images[:2])).dtype == np.float32
    frame = learner.set_output(transform="pandas").transform(images[:2])
    np.testing.assert_allclose(learner.inverse_transform(frame), images[:2], atol=1e-6)


def test_the_way_back_works_on_torch_tensors():
    torch = pytest.importorskip("torch")
    learner = LLISE(n_neighbors=6).fit(torch.as_tensor(IMAGES))
    images = learner.inverse_transform(learner.transform(torch.as_tensor(IMAGES[:2])))
    assert isinstance(images, torch.Tensor)
    np.testing.assert_allclose(images.numpy(), IMAGES[:2], atol=1e-6)


def test_the_way_back_goes_through_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(np.negative, np.negative), LLE(n_neighbors=6)).fit(
        IMAGES.reshape(24, -1).astype(float)
    )
    rows = IMAGES[:2].reshape(2, -1).astype(float)
    np.testing.assert_allclose(pipeline.inverse_transform(pipeline.transform(rows)), rows, atol=1e-9)


def test_coordinates_of_another_number_are_refused():
    learner = LLISE(2, n_neighbors=6).fit(IMAGES)
    with pytest.raises(ValueError, match=r"X has 5 columns, expected 12: 2 coordinates of each of 6 blocks"):
        learner.inverse_transform(np.zeros((1, 5)))
    with pytest.raises(ValueError, match="NaN"):
        learner.inverse_transform(np.full((1, 12), np.nan))


# --------------------------------------------------------------------------------------------------- choosing k and p


def test_trustworthiness_is_scikit_learns_and_continuity_its_mirror():
    coordinates = LLE(2, n_neighbors=6).fit_transform(IMAGES)
    rows = IMAGES.reshape(24, -1)
    assert trustworthiness(IMAGES, coordinates) == sklearn_trustworthiness(rows, coordinates, n_neighbors=5)
    assert continuity(IMAGES, coordinates, 3) == sklearn_trustworthiness(coordinates, rows, n_neighbors=3)
    cosine = sklearn_trustworthiness(rows, coordinates, n_neighbors=5, metric="cosine")
    assert trustworthiness(IMAGES, coordinates, metric="cosine") == cosine


def test_a_fold_and_a_tear_are_told_apart():
    """A line folded upon itself brings strangers together; a circle cut open tears neighbours apart."""
    line = np.linspace(-1, 1, 41)[:, None]
    folded = np.abs(line) + 1e-3 * line
    assert trustworthiness(line, folded) < 0.8 < 0.9 < continuity(line, folded)
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)[:, None]
    circle = np.hstack([np.cos(angle), np.sin(angle)])
    assert continuity(circle, angle) < 0.97 < 0.99 < trustworthiness(circle, angle)


@every_learner
def test_the_score_is_the_mean_of_both_on_new_images(learner):
    learner = clone(learner).fit(IMAGES)
    coordinates = learner.transform(NEW)
    assert learner.score(NEW) == 0.5 * (trustworthiness(NEW, coordinates, 2) + continuity(NEW, coordinates, 2))


def test_grid_search_finds_the_number_of_coordinates():
    """A plane in twelve dimensions: one coordinate cannot hold its neighbourhoods, two can."""
    generator = np.random.default_rng(0)
    plane = generator.uniform(size=(90, 2)) @ np.linalg.qr(generator.normal(size=(12, 2)))[0].T
    search = GridSearchCV(LLE(n_neighbors=8), {"n_components": [1, 2]}, cv=KFold(3, shuffle=True, random_state=0))
    search.fit(plane)
    assert search.best_params_ == {"n_components": 2} and search.best_score_ > 0.95
    images = GridSearchCV(LLISE(2), {"n_neighbors": [4, 6]}, cv=2).fit(IMAGES)
    assert np.isfinite(images.cv_results_["mean_test_score"]).all()


def test_too_few_samples_for_a_score_are_refused():
    with pytest.raises(ValueError, match="n_samples=2 cannot be compared; pass at least 3"):
        LLE(n_neighbors=6).fit(IMAGES).score(NEW[:2])
    with pytest.raises(ValueError, match="24 samples, but coordinates of 23"):
        trustworthiness(IMAGES, np.zeros((23, 2)))


# ------------------------------------------------------------------------------------------ data that is not images


def test_rows_of_numbers_are_one_block_each():
    roll, _ = make_swiss_roll(80, random_state=0)
    learner = LLISE(2, n_neighbors=8, constraint="affine", luminance=1.0, data_range=20.0).fit(roll)
    assert learner.block_grid_ == (1, 1) and learner.embedding_.shape == (1, 80, 2)
    assert learner.inverse_transform(learner.transform(roll[:4])).shape == (4, 3)


@pytest.mark.parametrize("learner", [LLISE(2), KernelLLISE(2), KernelLLE(2)], ids=lambda each: type(each).__name__)
def test_rows_are_measured_by_the_span_of_their_values(learner):
    roll, _ = make_swiss_roll(30, random_state=0)
    span = roll.max() - roll.min()
    found = clone(learner).fit(roll)
    assert found.data_range_ == span
    given = clone(learner).set_params(data_range=span).fit(roll)
    np.testing.assert_array_equal(found.embedding_, given.embedding_)
    with pytest.raises(ValueError, match="samples") as error:
        clone(learner).set_params(n_components=40).fit(roll)
    assert "grey" not in str(error.value) and "image" not in str(error.value)


def test_luminance_1_makes_distances_of_rows_euclidean():
    """Centring removes what (5) with g = 1 puts back, so that neighbours are those of the rows as they are."""
    roll, _ = make_swiss_roll(60, random_state=1)
    learner = LLISE(2, n_neighbors=5, luminance=1.0, data_range=20.0).fit(roll)
    distances = np.linalg.norm(roll[:, None] - roll[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(learner.neighbors_[0], np.argsort(distances, axis=1)[:, :5])


def test_affine_weights_unroll_a_swiss_roll_better_than_lle_and_sphere_weights_do_not():
    roll, length = make_swiss_roll(800, random_state=0)
    learners = {
        "LLE": LLE(2, n_neighbors=12),
        "affine": LLISE(2, n_neighbors=12, constraint="affine", luminance=1.0, data_range=20.0),
        "sphere": LLISE(2, n_neighbors=12, constraint="sphere", luminance=1.0, data_range=20.0),
    }
    follows = {}
    for name, learner in learners.items():
        coordinates = learner.fit_transform(roll)
        follows[name] = max(abs(spearmanr(coordinate, length).statistic) for coordinate in coordinates.T)
    assert follows["affine"] > max(follows["LLE"], 0.9)
    assert follows["sphere"] < 0.3
