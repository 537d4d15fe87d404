"""Large images: read from a memory map as they are needed, and never held as floats, Gram matrices or twice."""

import json
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from problems import bytes_of, photographs

from llise import LLISE
from llise.engine.tasks import gather, run_chunks
from llise.manifold import pipeline

IMAGES = bytes_of(photographs(20, 40, 72))
NEW = bytes_of(photographs(4, 40, 72, seed=4))
SETTINGS = {"n_components": 3, "n_neighbors": 6, "constraint": "affine"}
MIB = 2**20


@pytest.fixture
def mapped(tmp_path):
    """The images as a memory map that cannot be written to."""
    np.save(tmp_path / "images.npy", IMAGES)
    return np.load(tmp_path / "images.npy", mmap_mode="r")


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_a_memory_map_gives_the_result_of_the_array(tmp_path, dtype):
    images, new = (v if dtype == "uint8" else (v / 255).astype(dtype) for v in (IMAGES, NEW))
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "new.npy", new)
    held = LLISE(**SETTINGS).fit(images)
    mapped = LLISE(**SETTINGS).fit(np.load(tmp_path / "images.npy", mmap_mode="r"))
    np.testing.assert_array_equal(mapped.embedding_, held.embedding_)
    np.testing.assert_array_equal(mapped.weights_, held.weights_)
    placed = mapped.transform(np.load(tmp_path / "new.npy", mmap_mode="r"))
    np.testing.assert_array_equal(placed, held.transform(new))


def test_the_training_images_are_kept_as_the_map_they_are(mapped):
    learner = LLISE(**SETTINGS).fit(mapped)
    assert np.shares_memory(learner.training_images_, mapped)
    assert learner.training_images_.dtype == np.uint8


def test_neighbours_and_weights_are_compact_and_can_be_left_out():
    learner = LLISE(**SETTINGS).fit(IMAGES)
    assert (learner.weights_.dtype, learner.neighbors_.dtype) == (np.float32, np.uint8)
    without = LLISE(**SETTINGS, store_weights=False).fit(IMAGES)
    assert without.weights_ is None and without.neighbors_ is None
    np.testing.assert_array_equal(without.embedding_, learner.embedding_)
    np.testing.assert_array_equal(without.transform(NEW), learner.transform(NEW))


def test_more_than_256_images_need_wider_neighbours():
    images = bytes_of(photographs(260, 8, 8))
    neighbors = LLISE(**SETTINGS).fit(images).neighbors_
    assert neighbors.dtype == np.int32 and neighbors.max() > 255


def test_results_do_not_depend_on_how_images_are_cut_into_chunks(monkeypatch):
    whole = LLISE(**SETTINGS).fit(IMAGES)
    monkeypatch.setattr(pipeline, "BATCH", 3)
    monkeypatch.setattr("llise.manifold.execution.blocks_at_once", lambda *_: 18)
    other = LLISE(**SETTINGS, n_jobs=2).fit(IMAGES)
    np.testing.assert_array_equal(other.embedding_, whole.embedding_)
    np.testing.assert_array_equal(other.transform(NEW), whole.transform(NEW))


def test_chunks_are_written_into_arrays_made_once():
    """Two chunks of three and two blocks; what is left out stays out."""
    chunks = [{"a": np.full((size, 2), size, np.float32), "b": None} for size in (3, 2)]
    taken = []

    def parts():
        for chunk in chunks:
            yield chunk
            taken.append(chunk["a"].copy())
            chunk["a"][...] = -1  # what has been put is not looked at again

    whole = gather(parts(), 5)
    assert whole["b"] is None and whole["a"].dtype == np.float32
    np.testing.assert_array_equal(whole["a"], np.concatenate(taken))


def test_a_chunk_is_worked_on_as_soon_as_it_is_asked_for_and_no_sooner():
    """Tasks are drawn from their source a few ahead of the results, so that not all pixels are in memory at once."""
    drawn = []

    def tasks():
        for i in range(50):
            drawn.append(i)
            yield (i,)

    results = run_chunks(lambda i: i, tasks(), 50, 1, None)
    assert next(results) == 0
    assert len(drawn) < 10
    assert list(results) == list(range(1, 50))


def test_threads_give_results_in_the_order_of_the_tasks_and_use_every_thread():
    """The first task ends last; tasks are still drawn only a few ahead of the results."""
    both, drawn = threading.Barrier(2), []

    def work(i):
        if i < 2:
            both.wait(timeout=60)  # which needs two threads at work
        if i == 0:
            time.sleep(0.05)
        return i

    def tasks():
        for i in range(50):
            drawn.append(i)
            yield (i,)

    results = run_chunks(work, tasks(), 50, 2, None)
    assert next(results) == 0
    assert len(drawn) < 10
    assert list(results) == list(range(1, 50))


def test_an_error_in_a_thread_is_raised_and_ends_the_work():
    begun = []

    def work(i):
        begun.append(i)
        return 1 // (3 - i)

    results = run_chunks(work, ((i,) for i in range(1000)), 1000, 2, None)
    with pytest.raises(ZeroDivisionError):
        list(results)
    assert len(begun) < 20


def test_threads_end_with_the_results():
    """Also where the results are not all taken, as after an interrupt."""
    results = run_chunks(lambda i: i, ((i,) for i in range(100)), 100, 3, None)
    assert next(results) == 0
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("llise-")]
    results.close()
    for thread in ours:
        thread.join(timeout=60)
    assert ours and not any(thread.is_alive() for thread in ours)


MEASURE = """
    import json, sys
    import numpy as np
    from llise import ADMM, LLISE

    images = np.load(sys.argv[1], mmap_mode="r")
    # one round of the iterations: what is held at once does not depend on how often it is improved
    learner = LLISE(solver=ADMM(max_iter=(1, 1, 1)), random_state=0, n_jobs=2, store_weights=False).fit(images)
    fitted = sum(v.nbytes for v in vars(learner.blocks_).values() if v is not None)
    # not ru_maxrss, which counts the process that started this one
    peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps({"beyond": peak - images.nbytes - fitted, "fitted": fitted}))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """121 images of 1024 x 1024: 127 MB as they are, a gigabyte as floats, two of Gram matrices."""
    path = tmp_path_factory.mktemp("large") / "images.npy"
    images = np.lib.format.open_memmap(path, "w+", np.uint8, (121, 1024, 1024))
    rows, cols = np.mgrid[:1024, :1024]
    base = 110 + 40 * np.sin(rows / 17) + 40 * np.cos(cols / 23 + rows / 90)
    noise = np.random.default_rng(0).normal(0, 1, (1024, 1024))
    for j in range(121):
        images[j] = np.clip(base * (1 + 0.002 * (j % 11)) + (j // 11) * np.roll(noise, j % 7), 0, 255)
    images.flush()
    return path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_beyond_input_and_fitted_arrays_a_fit_needs_less_than_500_mb(large, tmp_path):
    """Interpreter and libraries included; a small fit goes first, so that the compiler is not measured."""
    np.save(tmp_path / "small.npy", np.load(large, mmap_mode="r")[:, :8, :64])
    for path in (tmp_path / "small.npy", large):
        command = [sys.executable, "-c", textwrap.dedent(MEASURE), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    assert measured["fitted"] > 60 * MIB  # it was the whole image that was fitted
    assert measured["beyond"] < 500 * MIB
