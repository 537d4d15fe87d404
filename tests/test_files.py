"""A file is either whole or as it was before."""

import os
import stat

import platformdirs
import pytest

from llise.storage.files import OutputError, atomic_write
from llise.storage.folders import cache_folder


def test_the_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "a.bin"
    with atomic_write(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(error), atomic_write(path, "w", encoding="utf-8") as file:
        file.write("half")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_permissions_are_those_of_an_ordinary_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_write(tmp_path / "a") as file:
        file.write(b"x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "plain")]
    assert modes[0] == modes[1]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == b"new"


def test_folders_devices_and_missing_folders_are_refused_with_a_remedy(tmp_path):
    for path, reason in [
        (tmp_path, "it is a folder; name a file"),
        (os.devnull, "not an ordinary file"),
        (tmp_path / "absent" / "a", "create it first"),
    ]:
        with pytest.raises(OutputError, match=reason), atomic_write(path):
            pytest.fail("must not be opened")


def test_a_very_long_name_still_has_room_for_the_temporary_one(tmp_path):
    path = tmp_path / ("é" * 120 + ".html")
    with atomic_write(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_an_operating_system_error_names_the_file_and_a_remedy(tmp_path):
    path = tmp_path / ("n" * 300)
    with (
        pytest.raises(OutputError, match=r"cannot write .*; choose another place"),
        atomic_write(path) as file,
    ):
        file.write(b"x")
    assert os.listdir(tmp_path) == []


def test_the_cache_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "llise"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder().parent == type(tmp_path)(platformdirs.user_cache_dir())
