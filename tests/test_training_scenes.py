"""Random scenes of the training: what their labels say is what was done to the picture."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # training is a folder of the repository, not installed

from training import disguises, draw, fields, scenes, unlisted

from llise.labels import COLOR_KINDS

BLOCK, UNKNOWN = scenes.BLOCK, scenes.LABELS.index("unknown")


@pytest.fixture(scope="module")
def pictures() -> list[np.ndarray]:
    """Two pictures with edges, texture and colours, and a flat drawing."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:160, :200].astype(np.float32)
    soft = [fields.smooth((160, 200), size, rng) for size in (40, 12, 5)]
    busy = np.stack([120 + 40 * a + 12 * fields.noise((160, 200), rng) for a in soft], -1)
    discs = (np.hypot(y - 70, x - 90) < 45)[..., None] * np.array([90.0, -30, 20]) + 60 + x[..., None] / 2
    page = np.full((160, 200, 3), (250, 248, 240), np.float32)
    page[20:140:9, 15:180] = 40
    page[90:130, 100:150] = (30, 90, 200)
    return [np.clip(p, 0, 255).astype(np.uint8) for p in (busy, discs + 6 * fields.noise((160, 200, 1), rng), page)]


@pytest.fixture(scope="module")
def drawn(pictures: list[np.ndarray]) -> list[scenes.Scene]:
    """Scenes of 2000 draws, small so that they are quick."""
    made = (scenes.draw_scene(pictures[seed % 3], np.random.default_rng(seed), 40) for seed in range(2000))
    return [scene for scene in made if scene is not None]


def _bits(scene: scenes.Scene) -> np.ndarray:
    """Kinds of each block, bool (rows, cols, kinds), without what is padding."""
    rows, cols = (n // BLOCK for n in scene.shape)
    return (scene.labels[:rows, :cols, None] >> np.arange(len(scenes.LABELS), dtype=np.uint32) & 1).astype(bool)


def _inside(scene: scenes.Scene) -> tuple[np.ndarray, np.ndarray]:
    height, width = scene.shape
    return scene.reference[:height, :width], scene.copy[:height, :width]


def _run(steps: tuple[scenes.Step, ...], image: np.ndarray) -> np.ndarray:
    for step in steps:
        image = step.on(image)
    return image


def test_most_draws_give_a_scene(drawn: list[scenes.Scene]) -> None:
    assert len(drawn) > 1300


def test_every_kind_form_and_region_occurs(drawn: list[scenes.Scene]) -> None:
    kinds = sum((_bits(scene).any((0, 1)).astype(int) for scene in drawn), np.zeros(len(scenes.LABELS), int))
    assert (kinds >= 10).all(), dict(zip(scenes.LABELS, kinds))
    assert {scene.form for scene in drawn} == {"", *scenes.FORMS}
    masks = Counter(step.mask for scene in drawn for step in scene.steps)
    assert {"whole", *fields.MASKS, *(f"feathered {mask}" for mask in fields.MASKS)} <= set(masks)


def test_shapes_padding_and_grey_pictures(drawn: list[scenes.Scene]) -> None:
    greys = 0
    for scene in drawn:
        assert scene.reference.shape == scene.copy.shape == (40, 40, 3)
        assert scene.labels.shape == (5, 5) and scene.labels.dtype == np.uint32
        rows, cols = (n // BLOCK for n in scene.shape)
        outside = np.ones((5, 5), bool)
        outside[:rows, :cols] = False
        assert (scene.labels[outside] == scenes.LEFT_OUT).all()
        assert not scene.copy[rows * BLOCK :].any() and not scene.copy[:, cols * BLOCK :].any()
        if scene.grey:
            assert all((page[..., :1] == page).all() for page in (scene.reference, scene.copy))
            assert not {step.kind for step in scene.steps} & set(COLOR_KINDS)
        greys += scene.grey
    assert 0.25 < greys / len(drawn) < 0.5


def test_labelled_blocks_differ_and_equal_blocks_have_no_label(drawn: list[scenes.Scene]) -> None:
    for scene in drawn:
        reference, copy = _inside(scene)
        error, bits = scenes.block_error(reference, copy), _bits(scene)
        assert not bits[error == 0].any() or len(scene.steps) > 1  # two steps may cancel in a block
        if not scene.steps:
            assert not bits.any()
            assert np.abs(reference.astype(int) - copy).max() <= 4  # luma and chroma of 8 bits and back
        left_out = scene.labels[: bits.shape[0], : bits.shape[1]] & scenes.LEFT_OUT > 0
        if len(scene.steps) == 1:
            assert (bits.any(-1) | left_out | (error < scenes.LEAST_CHANGE)).all()
            assert (error[bits.any(-1)] >= scenes.LEAST_CHANGE).all()


def test_a_block_has_at_most_three_kinds_or_unknown_alone(drawn: list[scenes.Scene]) -> None:
    for scene in drawn:
        bits = _bits(scene)
        assert bits.sum(-1).max(initial=0) <= 3
        assert not bits[bits[..., UNKNOWN]][:, :UNKNOWN].any()


def test_steps_make_the_copy_again_and_each_labelled_kind_is_missed_where_it_is_left_out(
    drawn: list[scenes.Scene],
) -> None:
    looked_at = 0
    for scene in [scene for scene in drawn if len(scene.steps) > 1][:150]:
        reference, copy = (np.ascontiguousarray(page[..., 0]) if scene.grey else page for page in _inside(scene))
        assert np.array_equal(_run(scene.steps, reference), copy)
        bits = _bits(scene)
        for i, step in enumerate(scene.steps):
            without = _run((*scene.steps[:i], *scene.steps[i + 1 :]), reference)
            own = bits[..., scenes.LABELS.index(step.kind)]
            assert (scenes.block_error(without, copy)[own] >= scenes.LEAST_CHANGE).all()
            looked_at += own.any()
    assert looked_at > 150


def test_settings_are_those_of_the_steps(drawn: list[scenes.Scene]) -> None:
    names = set(draw.names_of_words())
    for scene in drawn:
        assert set(scene.settings) <= {step.kind for step in scene.steps}
        for kind, words in scene.settings.items():
            assert {f"{kind}.{word}" for word in words} <= names
            assert all(np.isfinite(value) for value in words.values())


def test_the_same_seed_gives_the_same_scene(pictures: list[np.ndarray]) -> None:
    for seed in range(40):
        one, other = (scenes.draw_scene(pictures[1], np.random.default_rng(seed), 48) for _ in range(2))
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert np.array_equal(one.copy, other.copy) and np.array_equal(one.labels, other.labels)
            assert one.settings == other.settings


def test_a_kind_that_is_wiped_out_gives_no_scene() -> None:
    rng = np.random.default_rng(0)
    piece = np.clip(128 + 30 * fields.noise((64, 64), rng), 0, 255).astype(np.uint8)
    weak = scenes.Step("luminance", lambda image: np.where(image < 254, image + 2, 255).astype(np.uint8), {})
    black = scenes.Step("content", np.zeros_like, {})
    images = [piece, weak.on(piece), black.on(weak.on(piece))]
    assert scenes.label_blocks((weak, black), images) is None
    assert scenes.label_blocks((weak,), images[:2]) is not None


def test_contrast_and_luminance_that_are_contrast_about_another_pivot_give_no_scene() -> None:
    piece = np.arange(60, 188, 2, dtype=np.uint8).repeat(64).reshape(64, 64)
    flatter = scenes.Step("contrast", lambda image: np.rint(0.7 * (image - 124.0) + 124).astype(np.uint8), {})
    for offset, one_kind in ((1, True), (40, False)):
        lighter = scenes.Step("luminance", lambda image, by=offset: image + np.uint8(by), {})
        images = [piece, flatter.on(piece), lighter.on(flatter.on(piece))]
        assert (scenes.label_blocks((flatter, lighter), images) is None) == one_kind


@pytest.mark.parametrize("family", unlisted.FAMILIES, ids=lambda family: family.name)
def test_each_family_changes_pictures(family: unlisted.Family, pictures: list[np.ndarray]) -> None:
    if family not in unlisted.families(family.held_out):
        pytest.skip("Pillow has no such coder here")
    changed = 0
    for seed in range(6):
        image = pictures[seed % 2][:64, :72]
        image = image if family.in_colour or seed % 2 else np.ascontiguousarray(image[..., 1])
        copy = unlisted.make_unlisted(family, image, np.random.default_rng(seed))
        assert copy.shape == image.shape and copy.dtype == np.uint8
        assert np.array_equal(copy, unlisted.make_unlisted(family, image, np.random.default_rng(seed)))
        changed += np.mean((copy.astype(float) - image) ** 2) > 1
    assert changed >= 4


def test_families_are_split_whole(pictures: list[np.ndarray]) -> None:
    names = [family.name for family in unlisted.FAMILIES]
    makers = [maker for family in unlisted.FAMILIES for maker in family.makers]
    assert len(set(names)) == len(names) and len(set(makers)) == len(makers)
    sides = [{family.name for family in unlisted.families(held_out)} for held_out in (False, True)]
    assert not sides[0] & sides[1] and min(map(len, sides)) >= 12
    assert not any(family.in_colour for held_out in (False, True) for family in unlisted.families(held_out, False))
    for held_out in (False, True):
        for seed in range(150):
            scene = scenes.draw_scene(pictures[0], np.random.default_rng(seed), 32, held_out=held_out)
            found = {step.program for step in scene.steps if step.program} if scene else set()
            assert found <= sides[held_out]


def test_disguises_stay_near(pictures: list[np.ndarray]) -> None:
    for seed in range(60):
        piece = pictures[seed % 3] if seed % 2 else pictures[seed % 3][..., 0]
        copy = disguises.disguised(piece, np.random.default_rng(seed))
        assert copy.shape == piece.shape and copy.dtype == np.uint8
        assert np.mean((copy.astype(float) - piece) ** 2) < scenes.LEAST_ERROR


def test_shards_are_written_whole(tmp_path: Path, pictures: list[np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "SCENES", 4)
    monkeypatch.setattr(draw.os, "nice", lambda by: by)
    store = tmp_path / "photos.npz"
    np.savez(store, **{f"p{i}": picture for i, picture in enumerate(pictures)})
    names = draw.names_of_words()
    for out in ("a", "b"):
        (tmp_path / out).mkdir()
        draw.work(0, store, "all", tmp_path / out, names, 1.0, 7, 32)
    shards = sorted((tmp_path / "a").iterdir())
    assert shards and all(path.name.endswith(".npz") and ".tmp" not in path.name for path in shards)
    with np.load(shards[0]) as one, np.load(tmp_path / "b" / shards[0].name) as other:
        assert one["ref"].shape == one["cop"].shape == (4, 32, 32, 3) and one["lab"].shape == (4, 4, 4)
        assert one["words"].shape == (4, len(names))
        assert all(np.array_equal(one[key], other[key], equal_nan=key == "words") for key in one.files)
