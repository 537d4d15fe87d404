"""Whatever images come: a defined result or a clear error, never a NaN and no crash."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import photographs
from sklearn.base import clone

from llise import ADMM, LLE, LLISE, DistortionRecognizer, KernelLLE, KernelLLISE

fuzzed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
few = ADMM(max_iter=(20, 20, 20))


@st.composite
def learners(draw):
    kind = draw(st.sampled_from([LLISE, LLISE, KernelLLISE, LLE, KernelLLE]))
    learner = kind(draw(st.integers(1, 6)), n_neighbors=draw(st.integers(1, 12)))
    if kind in (KernelLLISE, KernelLLE):
        learner.set_params(kernel=draw(st.sampled_from(["linear", "poly", "rbf", "sigmoid"])))
    if isinstance(learner, LLISE):
        learner.set_params(
            block_size=draw(st.integers(2, 9)),
            constraint=draw(st.sampled_from(["sphere", "affine"])),
            solver=draw(st.sampled_from(["exact", "exact", few])),
            ridge=draw(st.sampled_from([1e-2, 1e-6])),
            random_state=0,
        )
        if kind is LLISE:
            learner.set_params(luminance=draw(st.sampled_from([0.0, 0.5])))
    return learner


@st.composite
def stacks(draw):
    """Images of any small size, with constant ones, duplicates and extreme values among them."""
    n, height, width = draw(st.integers(1, 14)), draw(st.integers(1, 19)), draw(st.integers(1, 19))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.uint8, np.uint16, np.float32, np.float64]))
    top = 1.0 if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).max
    spread = draw(st.sampled_from([1.0, 1e-2, 1e-9]))
    values = draw(st.sampled_from(["noise", "two-valued", "constant", "ramp"]))
    images = {
        "noise": lambda: 0.5 + spread * (rng.random((n, height, width)) - 0.5),
        "two-valued": lambda: (rng.random((n, height, width)) < 0.5) * 1.0,
        "constant": lambda: np.ones((n, height, width)) * rng.random((n, 1, 1)),
        "ramp": lambda: np.linspace(0, 1, n * height * width).reshape(n, height, width),
    }[values]()
    if draw(st.booleans()):
        images = images[rng.integers(0, n, n)]  # duplicates
    if draw(st.booleans()):
        images[rng.random(n) < 0.5] = draw(st.sampled_from([0.0, 1.0, 0.3]))  # constant images
    if draw(st.booleans()):
        images[:, : height // 2] = 0.7  # a flat part, as a sky or a margin
    return (images * top).astype(dtype)


def outcome(action):
    """What an action returns, or the message of the ValueError it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return action(), None
        except ValueError as error:
            return None, str(error)


def check_fitted(fitted, n):
    """Finite; and feasible unless the iterations, which are not, made it."""
    assert np.isfinite(fitted.embedding_).all()
    assert np.isfinite(fitted.reconstruction_error_)
    if not isinstance(fitted, LLISE):
        return
    assert np.isfinite(fitted.weights_).all()
    assert np.isfinite([fitted.embedding_error_, fitted.stationarity_, fitted.constraint_violation_]).all()
    if fitted.solver == "exact":
        assert fitted.constraint_violation_ < 1e-8
        assert fitted.stationarity_ < 1e-6


@fuzzed
@given(learners(), stacks())
def test_any_images_give_a_defined_result_or_a_clear_error(learner, images):
    fitted, refused = outcome(lambda: clone(learner).fit(images))
    if refused is not None:
        assert any(word in refused for word in REASONS), refused
        return
    check_fitted(fitted, len(images))
    new = np.concatenate([images[::-1], np.zeros_like(images[:1]), np.full_like(images[:1], images.max())])
    rows = fitted.transform(new)
    assert np.isfinite(rows).all()
    first = [next(r for r, other in enumerate(images) if np.array_equal(other, image)) for image in images[::-1]]
    np.testing.assert_allclose(rows[: len(images)], fitted._rows(fitted.embedding_)[first], atol=1e-5)
    assert rows.dtype == (np.float32 if images.dtype == np.float32 else np.float64)
    assert np.isfinite(fitted.image_map()).all()


# every refusal the images above can meet, by the words that name it
REASONS = (
    "is smaller than one block",
    "needs at least",  # images for the coordinates
    "minimum of 2 is required",  # one image
    "at least 2 values",  # one pixel
)


@fuzzed
@given(learners(), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 2**32 - 1))
def test_what_is_not_a_number_is_refused_in_training_and_new_images(learner, bad, seed):
    images = photographs(14, 9, 9)
    spoiled = images.copy()
    spoiled.flat[np.random.default_rng(seed).integers(spoiled.size)] = bad
    _, refused = outcome(lambda: clone(learner).fit(spoiled))
    assert "NaN" in refused or "infinity" in refused
    fitted, _ = outcome(lambda: clone(learner).fit(images))
    _, refused = outcome(lambda: fitted.transform(spoiled))
    assert "NaN" in refused or "infinity" in refused


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-9, 1.0, 1e9, 1e19])
@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_rows_of_any_scale(scale, constraint):
    """Rows are not held to a range: c is beyond their reach, or out of sight."""
    rows = np.random.default_rng(0).standard_normal((15, 12)) * scale
    fitted = LLISE(3, n_neighbors=5, constraint=constraint, data_range=1.0).fit(rows)
    check_fitted(fitted, 15)
    assert np.isfinite(fitted.transform(rows[::2] * 0.9)).all()


def test_rows_that_would_overflow_are_refused_with_advice():
    rows = np.random.default_rng(0).standard_normal((15, 12))
    for learner in (LLISE(n_neighbors=5, data_range=1.0), KernelLLISE(n_neighbors=5, data_range=1.0)):
        with pytest.raises(ValueError, match=r"too large against data_range=1 .* or scale X"):
            clone(learner).fit(rows * 1e100)
        with pytest.raises(ValueError, match="too large against data_range=1"):
            clone(learner).fit(rows).transform(rows * 1e100)


@pytest.mark.parametrize("learner", [LLISE(), LLE()], ids=str)
@pytest.mark.parametrize("ridge", [0.0, 1e-9, -1.0])
def test_weights_without_a_ridge_are_refused(learner, ridge):
    with pytest.raises(ValueError, match="ridge must be a number of at least 1e-06, got"):
        clone(learner).set_params(ridge=ridge).fit(photographs(14))


@pytest.mark.parametrize("learner", [LLISE(2), KernelLLISE(2), LLE(2), KernelLLE(2)], ids=str)
@pytest.mark.parametrize(
    "images",
    [
        np.zeros((8, 16, 16), np.uint8),
        np.full((8, 16, 16), 255, np.uint8),
        np.ones((8, 16, 16)),
        np.repeat(photographs(1), 8, axis=0),
        np.repeat(photographs(2), 4, axis=0),
        np.repeat(np.arange(8, dtype=np.uint8), 256).reshape(8, 16, 16),
    ],
    ids=["black", "white", "ones", "one image", "two images", "flat"],
)
def test_sets_without_content(learner, images):
    fitted, refused = outcome(lambda: clone(learner).set_params(n_neighbors=4).fit(images))
    assert refused is None
    check_fitted(fitted, 8)
    assert np.isfinite(fitted.transform(images)).all()
    assert np.isfinite(fitted.image_map()).all()


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("learner", [LLISE(1), KernelLLISE(1), LLE(1), KernelLLE(1)], ids=str)
def test_the_fewest_images(learner, n):
    fitted, refused = outcome(lambda: clone(learner).fit(photographs(n)))
    assert refused is None
    check_fitted(fitted, n)
    np.testing.assert_allclose(fitted.embedding_.sum(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose((fitted.embedding_**2).sum(axis=1), n, rtol=1e-6)


@pytest.mark.parametrize("empty", [np.zeros((0, 16, 16)), np.zeros((5, 0, 16)), np.zeros((0, 12)), np.zeros((5, 0))])
@pytest.mark.parametrize("learner", [LLISE(), KernelLLISE(), LLE(), KernelLLE()], ids=str)
def test_nothing_is_refused(learner, empty):
    _, refused = outcome(lambda: clone(learner).fit(empty))
    assert refused is not None


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda x, y: x @ y.T - 1e3, "cannot be normalised"),
        (lambda x, y: np.full((len(x), len(y)), np.inf), "must return a finite array"),
        (lambda x, y: x.sum(axis=1), "must return a finite array of shape"),
    ],
    ids=["negative", "infinite", "shapeless"],
)
@pytest.mark.parametrize("learner", [KernelLLISE(2, n_neighbors=4), KernelLLE(2, n_neighbors=4)], ids=str)
def test_a_callable_that_is_no_kernel_is_refused(learner, kernel, message):
    with pytest.raises(ValueError, match=message):
        clone(learner).set_params(kernel=kernel).fit(photographs(8))


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_an_indefinite_kernel_gives_errors_that_are_distances(constraint):
    """A callable with negative directions: the local problems are mended, so f stays within [0, 2]."""
    wild = lambda x, y: 1.0 * np.equal(x[:, None, :3], y[None, :, :3]).all(-1) - 0.5 * np.sin(40 * (x @ y.T)) ** 2 + 0.5
    fitted, _ = outcome(lambda: KernelLLISE(2, kernel=wild, n_neighbors=5, constraint=constraint).fit(photographs(14)))
    check_fitted(fitted, 14)
    _, error = fitted.embed(photographs(5, seed=3), return_error=True)
    assert (error >= -1e-9).all() and (error <= 2 + 1e-9).all()


@fuzzed
@given(stacks(), st.integers(1, 4))
def test_recognition_of_any_images_is_defined(images, kinds):
    labels = np.arange(len(images)) % kinds
    found, refused = outcome(lambda: DistortionRecognizer(LLISE(1, n_neighbors=3, block_size=3)).fit(images, labels))
    if refused is not None:
        assert any(word in refused for word in REASONS), refused
        return
    shares = found.predict_shares(images)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(found.leave_one_out_shares_.sum(axis=1), 1)
    assert 0 <= found.image_accuracy_ <= 1
    assert found.confusion_.sum() == len(images)
