"""What the package takes from inside Numba: vectors of four, the cache folder, and the notice that it compiles."""

import errno
import gc
import io
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from llise.engine.jit import NOT_CACHED, NOTICE, OBJECTS, compilation_notice, jit, part, python_callable
from llise.engine.simd import load, spread, store, total

NEWEST = (0, 68)  # the newest Numba that simd.py and jit.py were checked with
BROKEN = (
    f"Numba {numba.__version__} changed what llise takes from inside it ({{where}}). The package holds for Numba 0.60 "
    f"to {NEWEST[0]}.{NEWEST[1]}: adapt that file, then raise the bound in pyproject.toml, in both docstrings and here."
)


@jit()
def four_operations(x, y, out):
    """Every operation of a Four, on rows of four numbers."""
    a, b = load(x, 0, 0), load(y, 0, 0)
    c = a + b
    c += 2.0 * a
    c -= b * b
    store(out, 0, 0, c - spread(1.0) * 0.5)
    return total(a)


def test_vectors_of_four_compile_and_compute():
    x, y, out = np.arange(4.0)[None], np.full((1, 4), 3.0), np.empty((1, 4))
    try:
        sum_of_x = four_operations(x, y, out)
    except Exception as error:
        pytest.fail(f"{BROKEN.format(where='src/llise/engine/simd.py')} Its error was: {error}")
    assert sum_of_x == 6
    np.testing.assert_allclose(out, x + y + 2 * x - y * y - 0.5)


def test_the_installed_numba_is_one_that_was_checked():
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    assert (0, 60) <= version <= NEWEST, BROKEN.format(where="unknown: the version is newer than any that was checked")


def test_the_bound_in_the_project_file_and_the_docstrings_name_the_same_versions():
    root = Path(__file__).parents[1]
    assert f'"numba>=0.60,<{NEWEST[0]}.{NEWEST[1] + 1}"' in (root / "pyproject.toml").read_text()
    for name in ("simd", "jit"):
        text = (root / "src/llise/engine" / f"{name}.py").read_text()
        assert f"Numba 0.60 to {NEWEST[0]}.{NEWEST[1]} " in text


@part()
def tripled(x):
    return 3 * x


@jit()
def tripled_twice(x):
    return tripled(tripled(x))


def test_parts_are_compiled_into_their_kernels_and_not_cached():
    try:
        assert tripled_twice(2) == 18
        assert python_callable(tripled)(2) == 6
    except Exception as error:
        pytest.fail(f"{BROKEN.format(where='src/llise/engine/jit.py')} Its error was: {error}")
    assert tripled.stats.cache_path is None and tripled_twice.stats.cache_path


def doubled(x):
    return 2 * x


def test_compiling_leaves_the_search_for_unused_objects_as_it_was():
    seen = []

    @numba.extending.overload(doubled)
    def compiled_doubled(x):
        seen.append(gc.get_threshold())
        return lambda x: 2 * x

    before = gc.get_threshold()
    assert numba.njit(lambda x: doubled(x))(2) == 4
    assert seen[0][0] == OBJECTS and gc.get_threshold() == before, BROKEN.format(where="src/llise/engine/jit.py")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("module", "terminal", "shown"), [
    ("llise.engine.example", True, True),
    ("llise.engine.example", False, False),
    ("somewhere.else", True, False),
])  # fmt: skip
def test_compiling_is_announced_once_and_on_a_terminal_only(monkeypatch, module, terminal, shown):
    """The listener hears of the package's own kernels; other code that Numba compiles is none of its business."""
    monkeypatch.setattr(compilation_notice, "pending", True)
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(doubled, "__module__", module)
    kernel = numba.njit(doubled)
    kernel(1)
    kernel(1.5)
    assert stream.getvalue().count(NOTICE) == shown, BROKEN.format(where="src/llise/engine/jit.py")


KERNEL = """
from llise.engine.jit import jit

@jit()
def doubled(x):
    return 2 * x
"""
RUN = """
import importlib.util, sys

class Terminal:
    isatty = lambda self: True
    write = sys.stderr.write
    flush = sys.stderr.flush

sys.stderr = Terminal()
spec = importlib.util.spec_from_file_location("llise.engine.example", sys.argv[1])
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.doubled(21))
"""


def test_nothing_is_announced_when_the_kernels_are_in_numbas_cache(tmp_path, monkeypatch):
    (tmp_path / "example.py").write_text(KERNEL)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    command = [sys.executable, "-c", RUN, str(tmp_path / "example.py")]
    runs = [subprocess.run(command, capture_output=True, text=True) for _ in range(2)]
    assert [run.stdout for run in runs] == ["42\n"] * 2, runs[-1].stderr
    assert [NOTICE in run.stderr for run in runs] == [True, False]


def test_kernels_run_where_no_folder_can_be_written_and_it_is_said_once(tmp_path):
    """A file in the place of each folder that Numba would use: not even root can write there."""
    (tmp_path / "example.py").write_text(KERNEL + "\n\n@jit()\ndef tripled(x):\n    return 3 * x\n")
    (tmp_path / "__pycache__").touch()
    (tmp_path / "file").touch()
    places = {name: str(tmp_path / "file" / "cache") for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME")}
    command = [sys.executable, "-B", "-c", RUN, str(tmp_path / "example.py")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **places})
    assert done.stdout == "42\n", done.stderr
    assert done.stderr.count(NOT_CACHED) == 1 and NOTICE not in done.stderr


def test_a_kernel_that_cannot_be_saved_runs_all_the_same(tmp_path, monkeypatch):
    """The disk is full, or the folder vanishes, after Numba has found that it can write there."""
    kernel = jit()(doubled)

    def save(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(compilation_notice, "cached", True)
    monkeypatch.setattr(type(kernel._cache), "_save_overload", save)
    with pytest.warns(RuntimeWarning, match="cannot be kept on disk"):
        assert kernel(np.float32(2)) == 4
