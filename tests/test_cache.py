"""The cache of manifolds: bounded in bytes, private to the user, and only models of the reference come out of it."""

import os
import stat

import numpy as np
import pytest
from samples import picture

import llise
from llise.diagnosis import diagnoser
from llise.storage import cache, models

SEED = {"random_state": 4}


@pytest.fixture(scope="module")
def fitted():
    """A diagnoser with its manifold."""
    return diagnoser.Diagnoser(picture(32, 32), **SEED).fit()


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "llise" / "models"


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def keep(model, seed):
    assert cache.keep(model, model.reference, {"random_state": seed})
    return cache.place(model.reference, {"random_state": seed})


def lookup(model, seed=4):
    return cache.lookup(model.reference, {"random_state": seed})


def test_a_model_comes_back_until_the_cache_is_cleared(fitted):
    assert lookup(fitted) is None
    path = keep(fitted, 4)
    assert np.array_equal(lookup(fitted).training_mse, fitted.training_mse)
    assert cache.model_files() == [path]
    assert cache.clear() == 1 and cache.model_files() == [] and lookup(fitted) is None


def test_only_the_user_can_read_the_cache(fitted, folder):
    previous = os.umask(0)
    try:
        path = keep(fitted, 4)
    finally:
        os.umask(previous)
    assert (mode_of(folder.parent), mode_of(folder), mode_of(path)) == (0o700, 0o700, 0o600)


def test_a_folder_that_was_open_to_others_is_closed(fitted, folder):
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    folder.parent.chmod(0o755)
    keep(fitted, 4)
    assert (mode_of(folder.parent), mode_of(folder)) == (0o700, 0o700)


def test_nothing_is_taken_from_a_folder_that_others_can_write_to(fitted, folder):
    path = keep(fitted, 4)
    folder.chmod(0o777)
    assert lookup(fitted) is None and path.exists()
    folder.chmod(0o700)
    assert lookup(fitted) is not None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")
def test_nothing_is_taken_from_the_folder_of_another_user(fitted, monkeypatch):
    keep(fitted, 4)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert lookup(fitted) is None


def test_the_cache_is_bounded_in_bytes_and_the_model_used_last_stays(fitted, monkeypatch):
    size = keep(fitted, 4).stat().st_size
    monkeypatch.setattr(cache, "MAX_BYTES", int(3.5 * size))
    for age, seed in enumerate((5, 6, 7, 8)):
        path = keep(fitted, seed)
        os.utime(path, (age, age))  # long ago
        assert lookup(fitted) is not None  # it was used just now
    assert sum(path.stat().st_size for path in cache.model_files()) <= cache.MAX_BYTES
    names = {seed: cache.place(fitted.reference, {"random_state": seed}) for seed in (4, 5, 6, 7, 8)}
    assert [seed for seed, path in names.items() if path.exists()] == [4, 7, 8]


def test_a_model_that_is_larger_than_the_cache_is_not_kept(fitted, folder, monkeypatch):
    monkeypatch.setattr(cache, "MAX_BYTES", 1000)
    assert not cache.keep(fitted, fitted.reference, SEED)
    assert not folder.exists()


def test_keeping_says_whether_it_was_possible(fitted, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert not cache.keep(fitted, fitted.reference, SEED)


def other_reference(fitted):
    return diagnoser.Diagnoser(picture(32, 32, seed=9), **SEED).fit()


def other_seed(fitted):
    return diagnoser.Diagnoser(fitted.reference, random_state=5).fit()


def other_class(fitted):
    return llise.LLE(2, n_neighbors=3).fit(np.random.default_rng(0).random((9, 4, 5)))


@pytest.mark.parametrize("other", [other_reference, other_seed, other_class])
def test_a_model_in_the_place_of_another_is_not_used_but_deleted(fitted, other):
    path = keep(fitted, 4)
    models.save(other(fitted), path)
    assert lookup(fitted) is None and not path.exists()
    keep(fitted, 4)
    assert lookup(fitted) is not None


def test_a_model_of_another_version_in_the_place_of_ours_is_deleted(fitted, monkeypatch):
    path = keep(fitted, 4)
    with monkeypatch.context() as patched:
        patched.setattr(models, "version", lambda name: "0.0.1")
        models.save(fitted, path)
    assert lookup(fitted) is None and not path.exists()


@pytest.mark.parametrize("damage", [lambda whole: whole[:-1], lambda whole: b"", lambda whole: whole[:9] + whole[10:]])
def test_a_damaged_file_is_deleted(fitted, damage):
    path = keep(fitted, 4)
    path.write_bytes(damage(path.read_bytes()))
    assert lookup(fitted) is None and not path.exists()


def test_a_header_that_names_another_reference_than_the_file_holds_is_refused(fitted, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(models, "content_hash", lambda image: "0" * 64)
        models.save(fitted, tmp_path / "m")
    with pytest.raises(models.ModelError, match="names another reference than it holds"):
        models.load(tmp_path / "m")
