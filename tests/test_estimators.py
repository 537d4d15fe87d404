"""The four learners and the recogniser as scikit-learn estimators, and what their results may depend on."""

import pickle

import numpy as np
import pytest
from problems import bytes_of, photographs
from sklearn.base import clone
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from llise import LLE, LLISE, DistortionRecognizer, KernelLLE, KernelLLISE
from llise.manifold import blocks, execution, pipeline

IMAGES = photographs(24, 20, 13)  # sides that are no multiples of a block
NEW = photographs(6, 20, 13, seed=4)
CONTRACT = [
    LLISE(),
    LLISE.as_in_paper(),
    KernelLLISE(),
    LLE(),
    KernelLLE(),
    DistortionRecognizer(),
]
LEARNERS = {
    "LLISE": LLISE(n_neighbors=6),
    "LLISE sphere": LLISE.as_in_paper(n_neighbors=6),
    "LLISE affine": LLISE(n_neighbors=6, constraint="affine", luminance=0.0),
    "LLISE admm": LLISE.as_in_paper(n_neighbors=6, solver="admm", random_state=0),
    "poly": KernelLLISE(n_neighbors=6, kernel="poly"),
    "rbf": KernelLLISE(n_neighbors=6, kernel="rbf", constraint="affine"),
    "sigmoid": KernelLLISE(n_neighbors=6, kernel="sigmoid"),
    "LLE": LLE(n_neighbors=6),
    "kernel LLE": KernelLLE(n_neighbors=6),
    "kernel LLE sigmoid": KernelLLE(n_neighbors=6, kernel="sigmoid"),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
BLOCKWISE = {name: learner for name, learner in LEARNERS.items() if isinstance(learner, LLISE)}
every_blockwise = pytest.mark.parametrize("learner", BLOCKWISE.values(), ids=BLOCKWISE)


@pytest.fixture
def fitted(learner):
    return clone(learner).fit(IMAGES)


@parametrize_with_checks(CONTRACT)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------------------------------------- conventions


@every_learner
def test_rows_with_image_shape_are_images(learner):
    rows = IMAGES.reshape(len(IMAGES), -1)
    by_images = clone(learner).fit(IMAGES)
    by_rows = clone(learner).set_params(image_shape=(20, 13)).fit(rows)
    np.testing.assert_array_equal(by_rows.embedding_, by_images.embedding_)
    np.testing.assert_array_equal(by_rows.transform(NEW.reshape(6, -1)), by_images.transform(NEW))


@every_learner
def test_fit_transform_is_fit_then_the_training_coordinates_by_row(learner, fitted):
    rows = clone(learner).fit_transform(IMAGES)
    b, n, p = fitted.embedding_.shape
    assert rows.shape == (n, b * p)
    for i in range(b):
        np.testing.assert_array_equal(rows[:, i * p : (i + 1) * p], fitted.embedding_[i])
    assert len(fitted.get_feature_names_out()) == b * p


@every_learner
def test_float32_in_float32_out(learner):
    single = clone(learner).fit(IMAGES.astype(np.float32))
    assert single.embedding_.dtype == np.float32
    assert single.fit_transform(IMAGES.astype(np.float32)).dtype == np.float32
    assert single.transform(NEW.astype(np.float32)).dtype == np.float32
    assert clone(learner).fit_transform(IMAGES).dtype == np.float64
    assert clone(learner).fit_transform(bytes_of(IMAGES)).dtype == np.float64


def test_float32_gives_what_float64_gives_to_its_precision():
    single = LLISE(n_neighbors=6, constraint="affine").fit(IMAGES.astype(np.float32))
    double = LLISE(n_neighbors=6, constraint="affine").fit(IMAGES.astype(np.float32).astype(float))
    np.testing.assert_allclose(single.embedding_, double.embedding_, atol=1e-5)


@every_learner
def test_pickling_keeps_everything(learner, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(again.transform(NEW), fitted.transform(NEW))


@every_learner
def test_a_clone_has_the_settings_and_nothing_learned(learner, fitted):
    copy = clone(fitted)
    assert repr(copy.get_params()) == repr(learner.get_params())
    assert not hasattr(copy, "embedding_")


@every_learner
def test_fit_leaves_settings_and_data_alone(learner):
    before = IMAGES.copy()
    settings = repr(learner.get_params())
    found = clone(learner).fit(IMAGES)
    found.transform(NEW)
    np.testing.assert_array_equal(IMAGES, before)
    assert repr(found.get_params()) == settings


@every_learner
def test_a_table_on_request(learner, fitted):
    pandas = pytest.importorskip("pandas")
    table = clone(learner).set_output(transform="pandas").fit_transform(IMAGES)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == list(fitted.get_feature_names_out())
    np.testing.assert_array_equal(table.to_numpy(), fitted.set_output(transform="default").fit_transform(IMAGES))


def test_pipelines():
    labels = np.arange(24) % 3
    flow = make_pipeline(LLISE(2, n_neighbors=6), StandardScaler(), KNeighborsClassifier(3)).fit(IMAGES, labels)
    assert flow.score(IMAGES, labels) > 0.8
    assert flow.predict(NEW).shape == (6,)
    with_scaling = make_pipeline(StandardScaler(), LLISE(n_neighbors=6, data_range=1.0))
    assert np.isfinite(with_scaling.fit_transform(IMAGES.reshape(24, -1))).all()


@every_learner
def test_memory_maps_are_read_like_arrays(learner, fitted, tmp_path):
    np.save(tmp_path / "images.npy", IMAGES)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    found = clone(learner).fit(mapped)
    np.testing.assert_array_equal(found.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(found.transform(mapped[:5]), fitted.transform(IMAGES[:5]))


def test_a_memory_map_is_not_copied(tmp_path):
    np.save(tmp_path / "images.npy", bytes_of(IMAGES))
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    assert np.shares_memory(LLISE(n_neighbors=6).fit(mapped).training_images_, mapped)


# ----------------------------------------------------------------------------------------------- fitted attributes


@every_blockwise
def test_fitted_attributes_are_what_they_say(learner, fitted):
    assert fitted.block_grid_ == (3, 2)
    assert fitted.embedding_.shape == (6, 24, 4)
    assert fitted.weights_.shape == fitted.neighbors_.shape == (6, 24, 6)
    assert fitted.data_range_ == 1.0
    if learner.solver == "exact":
        assert fitted.constraint_violation_ < 1e-8
        assert fitted.stationarity_ < 1e-6
        size = (
            fitted.weights_.sum(axis=-1) if learner.constraint == "affine" else np.linalg.norm(fitted.weights_, axis=-1)
        )
        np.testing.assert_allclose(size, 1, atol=1e-5)
    assert fitted.n_iter_ >= 1
    assert 0 <= fitted.reconstruction_error_ < 6 * 24
    assert 0 <= fitted.embedding_error_ < 2 * 6 * 24
    assert not (fitted.neighbors_ == np.arange(24)[None, :, None]).any()


def test_weights_need_not_be_stored():
    lean, full = (LLISE(n_neighbors=6, store_weights=store).fit(IMAGES) for store in (False, True))
    assert lean.weights_ is None and lean.neighbors_ is None
    np.testing.assert_array_equal(lean.embedding_, full.embedding_)
    np.testing.assert_array_equal(lean.transform(NEW), full.transform(NEW))
    assert lean.reconstruction_error_ == full.reconstruction_error_


def test_stored_neighbours_are_compact_and_right_beyond_256_images():
    many = np.random.default_rng(0).random((300, 4, 4))
    found = LLISE(2, n_neighbors=3, block_size=4, constraint="affine").fit(many)
    assert found.neighbors_.dtype == np.int32
    assert found.neighbors_.max() > 255
    assert LLISE(n_neighbors=3).fit(IMAGES).neighbors_.dtype == np.uint8


# ------------------------------------------------------------------------------- what a result does not depend on


def test_linear_kernel_is_no_kernel():
    plain = LLISE(n_neighbors=6).fit(IMAGES)
    linear = KernelLLISE(n_neighbors=6, kernel="linear").fit(IMAGES)
    np.testing.assert_array_equal(linear.embedding_, plain.embedding_)
    np.testing.assert_array_equal(linear.transform(NEW), plain.transform(NEW))
    called = KernelLLE(n_neighbors=6, kernel="linear").fit(IMAGES)
    np.testing.assert_allclose(called.embedding_, LLE(n_neighbors=6).fit(IMAGES).embedding_, atol=1e-6)
    assert np.abs(plain.embedding_ - KernelLLISE(n_neighbors=6).fit(IMAGES).embedding_).max() > 0.1


@every_blockwise
def test_results_do_not_depend_on_chunks_batches_or_jobs(learner, fitted, monkeypatch):
    new = fitted.transform(NEW)
    cut, counts = blocks.BlockGrid.chunks, set()

    def counted(grid, n_blocks):
        chunks = cut(grid, n_blocks)
        counts.add(len(chunks))
        return chunks

    monkeypatch.setattr(blocks.BlockGrid, "chunks", counted)
    for size, batch, jobs in [(1, 1, None), (64, 3, 2), (2, 100, 2)]:
        for name in ("BLOCKS_PER_FIT_CHUNK", "BLOCKS_PER_TRANSFORM_CHUNK"):
            monkeypatch.setattr(execution, name, size)
        monkeypatch.setattr(pipeline, "BATCH", batch)
        again = clone(learner).set_params(n_jobs=jobs).fit(IMAGES)
        np.testing.assert_allclose(again.embedding_, fitted.embedding_, atol=1e-9)
        np.testing.assert_allclose(again.transform(NEW), new, atol=1e-9)
        assert again.embedding_error_ == pytest.approx(fitted.embedding_error_, abs=1e-9)
    assert len(counts) > 1, f"every run had {counts} chunks: nothing was varied"


@every_learner
def test_a_new_image_does_not_depend_on_the_other_images_in_the_batch(learner, fitted):
    together = fitted.transform(NEW)
    for j in range(len(NEW)):
        np.testing.assert_allclose(fitted.transform(NEW[j : j + 1])[0], together[j], atol=1e-8)
    np.testing.assert_allclose(fitted.transform(NEW[::-1])[::-1], together, atol=1e-8)


EXACT = {name: learner for name, learner in LEARNERS.items() if name != "LLISE admm"}


@pytest.mark.parametrize("learner", EXACT.values(), ids=EXACT)
def test_permuted_images_have_permuted_results(learner, fitted):
    """On data without ties; starts of the iterative solver belong to places, not to images."""
    order = np.random.default_rng(0).permutation(len(IMAGES))
    permuted = clone(learner).fit(IMAGES[order])
    np.testing.assert_allclose(
        squared_distances(permuted.embedding_), squared_distances(fitted.embedding_[:, order]), atol=1e-4
    )
    np.testing.assert_allclose(permuted.embedding_, fitted.embedding_[:, order], atol=1e-4)


def squared_distances(coordinates):
    return ((coordinates[:, :, None] - coordinates[:, None]) ** 2).sum(axis=-1)


def test_8_bit_16_bit_and_float_images_of_the_same_grey_values_agree():
    images = bytes_of(IMAGES)
    eight = LLISE(n_neighbors=6, constraint="affine").fit(images)
    sixteen = LLISE(n_neighbors=6, constraint="affine").fit(images.astype(np.uint16) * 257)
    floats = LLISE(n_neighbors=6, constraint="affine").fit(images / 255.0)
    scaled = LLISE(n_neighbors=6, constraint="affine", data_range=255).fit(images.astype(float))
    assert (eight.data_range_, sixteen.data_range_, floats.data_range_, scaled.data_range_) == (255, 65535, 1, 255)
    for other in (sixteen, floats, scaled):
        np.testing.assert_allclose(other.embedding_, eight.embedding_, atol=1e-5)


# ------------------------------------------------------------------------------------------------------ new images


@pytest.mark.parametrize("solver", ["exact", "admm"])
@every_learner
def test_a_new_image_equal_to_a_training_image_gets_its_embedding(learner, solver):
    learner = clone(learner)
    if isinstance(learner, LLISE):
        learner.set_params(solver=solver, random_state=0)
    fitted = learner.fit(IMAGES)
    np.testing.assert_allclose(fitted.transform(IMAGES), fitted._rows(fitted.embedding_), atol=1e-7)


@every_learner
def test_also_where_blocks_are_flat_and_images_occur_twice(learner):
    images = bytes_of(IMAGES)
    images[:, :8, :8] = np.arange(24, dtype=np.uint8)[:, None, None]  # a flat corner, of other greys
    images[5] = images[17]
    fitted = clone(learner).fit(images)
    first = np.array([5 if j == 17 else j for j in range(24)])  # of two equal images the first is found
    np.testing.assert_allclose(fitted.transform(images), fitted._rows(fitted.embedding_)[first], atol=1e-7)


def test_reconstruction_error_of_new_images():
    fitted = LLISE(n_neighbors=6).fit(IMAGES)
    _, error = fitted.embed(np.concatenate([IMAGES[:2], NEW]), return_error=True)
    assert error.shape == (6, 8)
    np.testing.assert_allclose(error[:, :2], 0, atol=1e-9)
    assert (error[:, 2:] > 1e-6).all() and (error <= 2).all()


def test_new_images_are_measured_as_the_training_images_were():
    fitted = LLISE(n_neighbors=6).fit(bytes_of(IMAGES))
    with pytest.raises(ValueError, match="24x13, but the estimator was fitted on 20x13"):
        fitted.transform(np.zeros((2, 24, 13), np.uint8))
    with pytest.raises(ValueError, match="20x13, but the estimator was fitted on rows"):
        LLE(n_neighbors=6).fit(IMAGES.reshape(24, -1)).transform(NEW)
    with pytest.raises(ValueError, match=r"outside \[0, data_range=255\]"):
        fitted.transform(np.full((2, 20, 13), 300, np.uint16))


# ------------------------------------------------------------------------------------------------- LLE, kernel LLE


def test_lle_is_scikit_learns_on_whole_images_up_to_sign_and_scale():
    rows = IMAGES.reshape(24, -1)
    ours = LLE(n_neighbors=6).fit(IMAGES).embedding_[0]
    theirs = LocallyLinearEmbedding(n_neighbors=6, n_components=4, eigen_solver="dense").fit_transform(rows)
    theirs = theirs * np.sqrt(24)
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs * signs, atol=1e-6)


def test_lle_of_new_images_is_scikit_learns():
    rows = IMAGES.reshape(24, -1)
    fitted = LLE(n_neighbors=6).fit(IMAGES)
    theirs = LocallyLinearEmbedding(n_neighbors=6, n_components=4, eigen_solver="dense").fit(rows)
    signs = np.sign((fitted.embedding_[0] * theirs.embedding_).sum(axis=0))
    expected = theirs.transform(NEW.reshape(6, -1)) * np.sqrt(24) * signs
    np.testing.assert_allclose(fitted.transform(NEW), expected, atol=1e-6)


def test_kernel_lle_is_lle_on_explicit_features():
    """A polynomial kernel of degree 2 has finite features: all products of two pixels."""
    small = photographs(24, 4, 4)
    ours = KernelLLE(n_neighbors=6, kernel="poly", degree=2, coef0=0, gamma=1.0).fit(small).embedding_[0]
    rows = small.reshape(24, -1)
    features = np.einsum("ni,nj->nij", rows, rows).reshape(24, -1)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theirs = LocallyLinearEmbedding(n_neighbors=6, n_components=4, eigen_solver="dense").fit_transform(features)
    theirs *= np.sqrt(24)
    np.testing.assert_allclose(ours, theirs * np.sign((ours * theirs).sum(axis=0)), atol=1e-5)


# ------------------------------------------------------------------------------------------------------- image map


@every_learner
def test_image_map_is_classical_scaling_of_squared_distances_summed_over_blocks(learner, fitted):
    total = squared_distances(fitted.embedding_).sum(axis=0)
    n = len(total)
    H = np.eye(n) - 1 / n
    spectrum, vectors = np.linalg.eigh(-H @ total @ H / 2)
    expected = vectors[:, -2:][:, ::-1] * np.sqrt(spectrum[-2:][::-1])
    found = fitted.image_map()
    assert found.shape == (n, 2)
    planar = squared_distances(found[None])[0]
    if spectrum[-2] - spectrum[-3] > 1e-6 * spectrum[-1]:  # else the plane is not determined
        np.testing.assert_allclose(planar, squared_distances(expected[None])[0], atol=1e-6 * total.max())
    assert (found**2).sum() == pytest.approx(spectrum[-2:].sum(), rel=1e-6)


def test_image_map_places_new_images_among_the_training_images():
    fitted = LLISE(n_neighbors=6, constraint="affine").fit(IMAGES)
    np.testing.assert_allclose(fitted.image_map(IMAGES[3:6]), fitted.image_map()[3:6], atol=1e-6)
    assert fitted.image_map(NEW).shape == (6, 2)
    fitted.fit(IMAGES[:15])
    assert fitted.image_map().shape == (15, 2)  # of this fit, not of the last
