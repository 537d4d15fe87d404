"""Custom kinds of the new diagnosis: learned from a function or from examples, kept in files."""

import numpy as np
import pytest
from look_standin import changed_of, features_of, look_of, model_of
from PIL import Image

from llise import kinds
from llise.diagnosis import Diagnoser
from llise.diagnosis.custom_kinds import draw_piece, fit_kinds, function_samples, pooled, samples_of
from llise.diagnosis.kind_files import load_kind, register_file, save_kind, teach
from llise.kinds import own
from llise.kinds.sources import KindError, names, sources


def fog(image, strength, rng):
    return image + strength * (235 - image)


def snow(image, strength, rng):
    return np.where(rng.random(image.shape) < 0.3 * strength, 250, image)


def drawn(number, change, wanted=None):
    """A piece of a picture and its copy with a change of the pixels."""
    rng = np.random.default_rng((7, number))
    piece = draw_piece(rng, 8, 12)
    copy = np.clip(change(piece.astype(float), rng), 0, 255).astype(np.uint8)
    return piece, copy


def others(image, rng):
    """Changes of all sorts that are none of the taught kinds."""
    which = rng.integers(4)
    if which == 0:
        return image + rng.normal(0, rng.uniform(4, 20), image.shape)
    if which == 1:
        return image + rng.uniform(-40, -8)
    if which == 2:
        return (image - 128) * rng.uniform(1.2, 1.8) + 128
    return np.roll(image, 2, axis=0)


@pytest.fixture(scope="module")
def model():
    """A stand-in that takes all for unknown, with a background of other changes."""
    from llise.colours import stacked

    made = model_of(("unknown",))
    values = []
    for number in range(150):
        piece, copy = (stacked(one) for one in drawn(number, others))
        look = made.look(piece, copy)
        if look.changed.any():
            values.append(pooled(look, look.changed))
    return model_of(("unknown",), background=np.array(values))


@pytest.fixture
def examples(tmp_path):
    def make(count):
        for number in range(count):
            strength = 0.2 + 0.4 * (number % 5) / 5
            piece, copy = drawn(900 + number, lambda image, rng, strength=strength: fog(image, strength, rng))
            Image.fromarray(piece).save(tmp_path / f"{number}.ref.png")
            Image.fromarray(copy).save(tmp_path / f"{number}.copy.png")
        return tmp_path

    return make


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    for name in names():
        own.unregister(name)


def told(model, count=8, change=fog):
    """Share of copies that are called fog."""
    found = []
    for number in range(count):
        piece, copy = drawn(2000 + number, lambda image, rng: change(image, 0.4, rng))
        found.append(next(Diagnoser(piece, model=model, align=False).diagnose([copy])).verdict == ("fog",))
    return np.mean(found)


@pytest.mark.parametrize("count, least", [(1, 0.6), (6, 0.8)])
def test_a_kind_is_learned_from_examples(model, examples, count, least):
    kinds.register("fog", examples(count))
    assert told(model) >= least
    assert told(model, change=lambda image, strength, rng: others(image, rng)) <= 0.1


def test_a_kind_is_learned_from_a_function_and_its_strength_found(model, monkeypatch):
    monkeypatch.setattr("llise.diagnosis.custom_kinds.COPIES", 30)
    kinds.register("fog", fog)
    assert told(model) >= 0.8
    piece, copy = drawn(1, lambda image, rng: fog(image, 0.4, rng))
    (fault,) = next(Diagnoser(piece, model=model, align=False).diagnose([copy])).faults
    assert fault.kinds == ("fog",) and fault.explained > 0.95
    assert fault.estimate["fog"]["strength"].value == pytest.approx(0.4, rel=0.1)


def test_two_custom_kinds_are_told_apart(model):
    samples = [
        function_samples(model, own.OwnKind(name, function), copies=20)
        for name, function in (("fog", fog), ("snow", snow))
    ]
    custom = fit_kinds(model, samples)
    for number, one in enumerate(samples):
        assert (custom.probabilities(one.values).argmax(axis=1) == number).mean() > 0.9
    assert (custom.probabilities(model.background).sum(axis=1) > 0.5).mean() < 0.02
    assert (custom.probabilities(model.background) >= 0).all()


def test_few_examples_are_never_sure(model, examples):
    kinds.register("fog", examples(1))
    (source,) = sources()
    custom = fit_kinds(model, [samples_of(model, source)])
    assert custom.probabilities(samples_of(model, source).values).max() <= 2 / 3 + 1e-9


def test_a_file_of_a_kind_is_read_as_it_was_written(model, examples, tmp_path):
    samples = teach("fog", examples(2), model=model)
    assert names() == ()
    path = tmp_path / "fog.kind"
    save_kind(samples, path)
    first = path.read_bytes()
    save_kind(samples, path)
    assert path.read_bytes() == first
    again = load_kind(path)
    np.testing.assert_array_equal(again.values, samples.values)
    assert (again.name, again.title, again.digest) == ("fog", "fog", model.digest)
    assert register_file(path) == ("fog",)
    assert told(model, 6) >= 0.5


def test_a_file_of_another_model_is_refused(model, examples, tmp_path):
    samples = teach("fog", examples(1), model=model)
    save_kind(samples, tmp_path / "fog.kind")
    register_file(tmp_path / "fog.kind")
    other = model_of(("unknown",), background=model.background)
    object.__setattr__(other, "digest", "1" * 64)
    with pytest.raises(KindError, match="taught with another model than stand-in; teach it again"):
        Diagnoser(draw_piece(np.random.default_rng(0)), model=other)


@pytest.mark.parametrize("damage", [b"", b"no safetensors", None])
def test_damaged_files_are_refused(model, examples, tmp_path, damage):
    path = tmp_path / "fog.kind"
    save_kind(teach("fog", examples(1), model=model), path)
    content = path.read_bytes()
    path.write_bytes(damage if damage is not None else content[:-8] + b"\1\2\3\4\5\6\7\10")
    with pytest.raises(KindError, match=str(path)):
        load_kind(path)


def test_a_model_without_a_background_cannot_learn(examples):
    kinds.register("fog", examples(1))
    with pytest.raises(KindError, match="holds no regions with built-in kinds"):
        Diagnoser(draw_piece(np.random.default_rng(0)), model=model_of(()))


def test_pooled_answers_are_means_over_the_region():
    mask = np.zeros((4, 4), bool)
    mask[0, 1] = mask[2, 2] = True
    look = look_of(np.zeros((4, 4), int), np.ones((4, 4), bool), np.arange(32.0).reshape(4, 4, 2))
    values = pooled(look, mask)
    np.testing.assert_allclose(values[:2], [(2 + 20) / 2, (3 + 21) / 2])
    np.testing.assert_allclose(values[2:], look.kinds[mask].mean(0), rtol=1e-6)


def test_the_stand_in_sees_what_differs():
    piece, copy = drawn(3, lambda image, rng: image + 9)
    piece, copy = (np.stack([one] * 3, -1) if one.ndim == 2 else one for one in (piece, copy))
    assert changed_of(piece, copy).all() and np.isfinite(features_of(piece, copy)).all()
