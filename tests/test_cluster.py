"""The same chunks on a cluster of worker processes: same result, and a worker lost costs nothing but time."""

import os
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from problems import bytes_of, photographs

from attacks.workers import STAGES, kill_workers, wrong_addresses
from llise import LLISE, KernelLLISE
from llise.cli.running import workers
from llise.engine.tasks import run_chunks
from llise.manifold import pipeline

distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed")

IMAGES = bytes_of(photographs(24, 64, 512))  # 8 rows of 64 blocks: 8 chunks
NEW = bytes_of(photographs(3, 64, 512, seed=5))
SETTINGS = {"n_components": 3, "n_neighbors": 6, "constraint": "affine"}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread each on loopback, and a client that joblib finds."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None, env=threads) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture(scope="module")
def alone():
    """The result of one process."""
    learner = LLISE(**SETTINGS).fit(IMAGES)
    return learner, learner.transform(NEW)


def workers_of(client):
    """Process numbers of the workers."""
    return set(client.run(os.getpid).values())


def assert_same(learner, expected):
    for name in ("embedding_", "weights_", "neighbors_"):
        np.testing.assert_array_equal(getattr(learner, name), getattr(expected, name))
    assert learner.embedding_error_ == expected.embedding_error_


def test_a_cluster_gives_the_result_of_one_process(cluster, alone):
    with joblib.parallel_config("dask"):
        learner = LLISE(**SETTINGS).fit(IMAGES)
        placed = learner.transform(NEW)
    assert_same(learner, alone[0])
    np.testing.assert_array_equal(placed, alone[1])


def test_chunks_are_worked_on_by_the_workers_in_order(cluster):
    with joblib.parallel_config("dask"):
        results = list(run_chunks(process_of, [(i,) for i in range(12)], 12, None, None))
    assert [i for i, _ in results] == list(range(12))
    assert {pid for _, pid in results} <= workers_of(cluster)


def process_of(i):
    return i, os.getpid()


def test_kernels_travel_to_the_workers(cluster):
    expected = KernelLLISE(**SETTINGS, kernel="sigmoid").fit(IMAGES[:, :16])
    with joblib.parallel_config("dask"):
        learner = KernelLLISE(**SETTINGS, kernel="sigmoid").fit(IMAGES[:, :16])
    assert_same(learner, expected)


def test_a_worker_killed_in_mid_fit_costs_nothing_but_time(cluster, alone, monkeypatch, tmp_path):
    """The first chunk that reaches the chosen worker ends it; the chunk is done again elsewhere."""
    victim = min(workers_of(cluster))
    begun = tmp_path / "begun"
    monkeypatch.setattr("llise.manifold.execution.fit_chunk", SlowChunk(begun))
    killer = threading.Thread(target=kill_once_begun, args=(victim, begun))
    killer.start()
    with joblib.parallel_config("dask"):
        learner = LLISE(**SETTINGS).fit(IMAGES)
    killer.join()
    assert victim not in workers_of(cluster)
    names = {path.name for path in begun.parent.glob("begun.*")}
    assert f"begun.{victim}" in names and len(names) > 1  # it had begun a chunk, and others have worked
    assert_same(learner, alone[0])


class SlowChunk:
    """``fit_chunk``, which first leaves a note of the process that begins it and waits a little."""

    def __init__(self, note: Path) -> None:
        self.note = note

    def __call__(self, *task):
        self.note.with_suffix(f".{os.getpid()}").touch()
        time.sleep(0.3)
        return pipeline.fit_chunk(*task)


def kill_once_begun(victim, note):
    deadline = time.monotonic() + 30
    while not note.with_suffix(f".{victim}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(victim, signal.SIGKILL)


def test_a_worker_killed_in_any_stage_leaves_the_result_as_it_is(tmp_path):
    assert kill_workers(list(STAGES), np.random.default_rng(0), tmp_path) == []


@pytest.mark.parametrize("what", ["silent listener", "web server", "no certificates", "no port", "unknown protocol"])
def test_an_address_without_a_scheduler_is_refused(what):
    with (
        wrong_addresses() as addresses,
        pytest.raises(OSError, match=r"no scheduler answers there .*; start one with dask scheduler"),
        workers(1, addresses[what]),
    ):
        raise AssertionError("there is no scheduler")
