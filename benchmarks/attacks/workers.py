"""Dask: workers killed in every stage give the bytes of one process; a wrong address is refused within 10 seconds."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import joblib
import numpy as np

import llise
from attacks.picture_bytes import scene

NAME = "workers"
KILLS = 40
STAGES = ("llise.datasets._single", "llise.manifold.execution.fit_chunk", "llise.manifold.execution.transform_chunk")
"""What is done on workers: making the training images, learning their manifold, placing a copy in it."""

CLUSTERS = 10
"""How often a cluster is started anew, where Dask does not start a killed worker again."""

LIMIT = 10.0
"""Seconds in which a wrong address must be refused."""


class Watched:
    """A function that leaves a note of the process that begins it, and waits a little the first time there."""

    def __init__(self, function: Callable, notes: Path) -> None:
        self.function, self.notes, self.owner = function, notes, os.getpid()

    def __call__(self, *arguments: Any) -> Any:
        note = self.notes / str(os.getpid())
        if os.getpid() != self.owner and not note.exists():
            note.touch()
            time.sleep(0.2)
        return self.function(*arguments)


@contextmanager
def cluster(workers: int = 2) -> Iterator[Any]:
    """A client of worker processes on this machine."""
    import distributed

    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with (
        distributed.LocalCluster(
            workers, threads_per_worker=1, dashboard_address=None, env={**threads, "PYTHONPATH": paths}, silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def answer(reference: np.ndarray, copy: np.ndarray, path: Path) -> bytes:
    """The bytes of the manifold of a reference's distorted copies, and where a copy lies in it."""
    images = llise.datasets.training_set(reference, levels=(50, 200), warn=False).images
    model = llise.LLISE(2, n_neighbors=4).fit(images)
    llise.save(model, path)
    return path.read_bytes() + model.transform(copy[None]).tobytes()


def kill_a_worker(client: Any, stage: str, delay: float, work: Callable[[], bytes], notes: Path) -> tuple[bytes, bool]:
    """Do some work while the first worker that begins a stage is killed; the result, and whether one was."""
    module, _, name = stage.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    killed = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while not done.is_set() and time.monotonic() < deadline:
            for note in notes.iterdir():
                time.sleep(delay)
                os.kill(int(note.name), signal.SIGKILL)
                killed.append(note.name)
                return
            time.sleep(0.005)

    notes.mkdir()
    done = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with mock.patch(stage, Watched(function, notes)), joblib.parallel_config("dask"):
            result = work()
    finally:
        done.set()
        killer.join()
    return result, bool(killed)


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Kill 40 workers at full scale, and try every wrong address."""
    tried, failures = _wrong_addresses(folder)
    count = max(len(STAGES), round(KILLS * scale))
    stages = [STAGES[number % len(STAGES)] for number in range(count)]
    return tried + count, failures + kill_workers(stages, rng, folder)


def kill_workers(stages: list[str], rng: np.random.Generator, folder: Path) -> list[str]:
    """Kill a worker in each of these stages; what fails."""
    reference, copy = scene(64, 128), scene(64, 128, 1)
    alone = answer(reference, copy, folder / "alone.llise")
    left, failures = stages.copy(), []
    for _ in range(CLUSTERS):
        if left:
            with cluster() as client:
                failures += _kills(client, left, rng, folder, lambda path: answer(reference, copy, path), alone)
    return failures + [f"{stage}: not tried, because workers did not start" for stage in left]


def _kills(
    client: Any,
    stages: list[str],
    rng: np.random.Generator,
    folder: Path,
    work: Callable[[Path], bytes],
    expected: bytes,
) -> Iterator[str]:
    """Kill a worker in one stage after the other, which are taken from the list; yield what fails.

    Ends early where Dask does not start a killed worker again.
    """
    while stages:
        try:
            client.wait_for_workers(2, timeout=30)
        except TimeoutError:
            return
        stage = stages.pop()
        notes = Path(tempfile.mkdtemp(dir=folder)) / "notes"
        try:
            result, killed = kill_a_worker(
                client, stage, rng.uniform(0, 0.2), lambda: work(folder / "cluster.llise"), notes
            )
        except Exception as error:
            yield f"a worker killed in {stage}: {type(error).__name__}: {error}"
            continue
        if not killed:  # one worker alone: joblib then works in this process
            stages.append(stage)
            return
        if result != expected:
            yield f"a worker killed in {stage}: another result than alone"


@contextmanager
def listener(greeting: bytes | None) -> Iterator[int]:
    """A port that accepts connections, and says nothing or something that is not Dask."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                if greeting is not None:
                    connection.sendall(greeting)
                    connection.close()

        kept: list[socket.socket] = []
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


@contextmanager
def wrong_addresses() -> Iterator[dict[str, str]]:
    """Addresses at which no scheduler answers, by what is wrong with them."""
    with listener(None) as silent, listener(b"HTTP/1.1 400 Bad Request\r\n\r\n") as web, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield {
            "silent listener": f"tcp://127.0.0.1:{silent}",
            "web server": f"tcp://127.0.0.1:{web}",
            "nobody listens": f"tcp://127.0.0.1:{closed.getsockname()[1]}",
            "no certificates": "tls://127.0.0.1:8786",
            "empty": "",
            "blank": " ",
            "no port": "nonsense",
            "unknown protocol": "foo://127.0.0.1:8786",
            "port out of range": "tcp://127.0.0.1:99999",
            "unknown host": "tcp://no-such-host.invalid:8786",
        }


def _wrong_addresses(folder: Path) -> tuple[int, list[str]]:
    failures = []
    with wrong_addresses() as addresses:
        for what, address in addresses.items():
            command = [sys.executable, "-m", "llise", "reproduce", "--quick", "--out", "out", "--scheduler", address]
            begin = time.monotonic()
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
            seconds = time.monotonic() - begin
            status = 2 if not address.strip() else 1
            lines = done.stderr.splitlines()
            if done.returncode != status or len(lines) != 1 or "scheduler" not in lines[0]:
                failures.append(f"{what}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
            elif seconds > LIMIT:
                failures.append(f"{what}: {seconds:.0f} s")
    return len(addresses), failures
