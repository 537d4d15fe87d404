"""Settings of one to three kinds are found again from a reference and a copy, with few remakes."""

import numpy as np
import pytest
from training.tuned import DEFAULTS

from llise.diagnosis.custom_kinds import _picture
from llise.diagnosis.refit import GRID, Refit, cut_piece
from llise.kinds import registry
from llise.kinds.fitting import as_bytes

TUNED = DEFAULTS["refit"]


@pytest.fixture(scope="module")
def picture():
    return np.ascontiguousarray(_picture("coffee")[104:232, 208:336])


def made(picture, *steps):
    """A copy made by kinds at strengths, by the same draw each time."""
    for kind, strength in steps:
        picture = as_bytes(np.asarray(registry.get(kind).draw(picture, np.random.default_rng(3)).path(strength)))
    return picture


def refit_of(picture, copy, kinds, **tuned):
    piece = cut_piece(picture, copy, np.ones([side // 8 for side in picture.shape[:2]], bool), 24_000)
    return Refit(piece, {**TUNED, **tuned}).of(kinds)


@pytest.mark.parametrize(
    "steps",
    [
        (("contrast", 0.5),),
        (("blur", 1.5),),
        (("luminance", 20.0), ("jpeg", 2.0)),
        (("blur", 1.5), ("contrast", 0.4)),
        (("contrast", 0.4), ("blur", 1.5)),
        (("blur", 1.5), ("luminance", 15.0), ("contrast", 0.3)),
        (("luminance", 20.0), ("blur", 1.5), ("jpeg", 1.0)),
    ],
    ids=lambda steps: "-".join(kind for kind, _ in steps),
)
def test_chains_of_kinds_without_random_parts_are_explained(picture, steps):
    copy = made(picture, *steps)
    chain = refit_of(picture, copy, tuple(sorted(kind for kind, _ in steps)))
    assert sorted(kind for kind, _ in chain.steps) == sorted(kind for kind, _ in steps)
    assert chain.explained > 0.95
    assert chain.remakes <= TUNED["remakes"]


def test_remakes_and_fits_are_counted_and_limited(picture, monkeypatch):
    done = []
    fitted, made_before = Refit._fitted, Refit._made
    monkeypatch.setattr(Refit, "_fitted", lambda self, *given: done.append(fitted(self, *given)) or done[-1])
    monkeypatch.setattr(Refit, "_made", lambda self, *given: done.append(made_before(self, *given)) or done[-1])
    copy = made(picture, ("sharpening", 1.0), ("jpeg", 3.0))
    chain = refit_of(picture, copy, ("contrast", "jpeg", "luminance"), remakes=12, enough=1.1)
    assert chain.remakes == 12 and 6 <= sum(one is not None for one in done) <= 12


@pytest.mark.parametrize("order", [("gaussian_noise", "jpeg"), ("jpeg", "gaussian_noise")])
def test_noise_before_and_after_a_coder_counts_as_explained_by_its_power(picture, order):
    strengths = {"gaussian_noise": 12.0, "jpeg": 2.0}
    chain = refit_of(picture, made(picture, *((kind, strengths[kind]) for kind in order)), tuple(sorted(order)))
    assert chain.is_random and chain.explained > 0.9
    assert sum(chain.shares(np.ones(picture.shape[:2], bool)).values()) == pytest.approx(1)


def test_noise_does_not_explain_a_blur(picture):
    copy = made(picture, ("blur", 2.0))
    noise, blur = (refit_of(picture, copy, (kind,)) for kind in ("gaussian_noise", "blur"))
    assert blur.loss < noise.loss and blur.explained > 0.95


def test_kinds_that_cannot_be_have_no_chain(picture):
    grey = np.ascontiguousarray(picture[..., 1])
    assert refit_of(grey, np.roll(grey, 1, 0), ("saturation",)) is None


def test_pieces_start_on_the_grid_and_hold_most_of_the_region():
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 255, (400, 600, 3)).astype(np.uint8)
    picture[:, :300] = 90
    for region in (np.ones((50, 75), bool), np.zeros((50, 75), bool)):
        region[20:30, 40:60] = True
        piece = cut_piece(picture, picture, region, 24_000)
        assert piece.mask.size <= 24_000 and piece.reference.shape[:2] == piece.mask.shape
        assert piece.mask.mean() > 0.5
        tops = [
            (y, x)
            for y in range(0, 400, GRID)
            for x in range(0, 600, GRID)
            if np.array_equal(picture[y : y + 16, x : x + 16], piece.reference[:16, :16])
        ]
        assert tops
        assert piece.reference.std() > 60  # not from the flat half


@pytest.mark.parametrize("shape", [(8, 8), (9, 2000), (2000, 9), (8, 5000)])
def test_pieces_of_odd_pictures(shape):
    picture = np.random.default_rng(0).integers(0, 255, shape).astype(np.uint8)
    piece = cut_piece(picture, picture, np.ones([-(-side // 8) for side in shape], bool), 10_000)
    assert 0 < piece.mask.size <= max(10_000, 16 * min(shape)) and piece.mask.any()
