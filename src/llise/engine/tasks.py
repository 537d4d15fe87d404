"""Work in parallel: in threads of our own by default (the kernels release the GIL), else through joblib.

``joblib.parallel_config`` chooses another backend, such as a Dask cluster.  For threads only their number is taken from
joblib, which looks for results every ten milliseconds: as long as a core works on a chunk.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from functools import cache
from itertools import islice
from queue import SimpleQueue
from typing import Any

from joblib import Parallel, delayed
from joblib.parallel import ThreadingBackend, get_active_backend
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from llise.engine.backend import namespace

Array = Any


def task(function: Callable, *arguments: Any, **options: Any) -> Any:
    """Return the call ``function(*arguments, **options)``, delayed, for :class:`joblib.Parallel`."""
    return delayed(_apply)(function, arguments, options)


def _apply(function: Callable, arguments: tuple, options: dict[str, Any]) -> Any:
    return function(*arguments, **options)


def interruptible(function: Callable, *arguments: Any, timeout: float | None = None) -> Any:
    """Call a function so that Ctrl-C is obeyed at once, however long compiled code in it takes."""
    if timeout is None and threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    future: Future = Future()
    context = copy_context()  # such as NumPy's errstate of the caller

    def work() -> None:
        try:
            future.set_result(context.run(function, *arguments))
        except BaseException as error:
            future.set_exception(error)

    # A daemon, for which the end of the process does not wait.
    threading.Thread(target=work, name="llise", daemon=True).start()
    return future.result(timeout)


def run_chunks(
    function: Callable, tasks: Iterable[tuple], n_tasks: int, n_jobs: int | None, progress: str | None
) -> Iterator[Any]:
    """Run a function on many tasks in parallel; BLAS uses one thread for each."""
    bar = tqdm(total=n_tasks, desc=progress, leave=False, disable=None if progress else True)
    with _blas().limit(limits=1), bar:
        for result in _results(function, tasks, n_jobs):
            bar.update()
            yield result


def _results(function: Callable, tasks: Iterable[tuple], n_jobs: int | None) -> Iterator[Any]:
    """Results in the order of the tasks, from where joblib's configuration has them computed."""
    backend, configured = get_active_backend(prefer="threads")
    if isinstance(backend, ThreadingBackend):
        threads = backend.effective_n_jobs(configured if n_jobs is None else n_jobs)
        if threads > 1:
            return _in_threads(function, tasks, threads)
    workers = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", batch_size=1)
    return workers(task(interruptible, function, *arguments) for arguments in tasks)


def _in_threads(function: Callable, tasks: Iterable[tuple], threads: int) -> Iterator[Any]:
    """Results in the order of the tasks; each thread has the next task waiting, so that none waits for the caller."""
    waiting: SimpleQueue = SimpleQueue()
    stopped = threading.Event()

    def work() -> None:
        while (entry := waiting.get()) is not None:
            future, arguments = entry
            if stopped.is_set():
                continue
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)

    def submit(arguments: tuple) -> Future:
        future: Future = Future()
        waiting.put((future, arguments))
        return future

    source = iter(tasks)
    futures = deque(submit(arguments) for arguments in islice(source, 3 * threads))
    for number in range(min(threads, len(futures))):
        # Daemons, for which the end of the process does not wait.
        threading.Thread(target=work, name=f"llise-{number}", daemon=True).start()
    try:
        while futures:
            result = futures.popleft().result()
            futures.extend(submit(arguments) for arguments in islice(source, 1))
            yield result
    finally:
        stopped.set()
        for _ in range(threads):
            waiting.put(None)


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of NumPy and SciPy; finding them takes milliseconds, so it is done once."""
    return ThreadpoolController().select(user_api="blas")


def gather(parts: Iterable[dict[str, Array]], b: int) -> dict[str, Array]:
    """Collect the arrays of all blocks, part by part, so that no part is in memory twice."""
    whole: dict[str, Array] = {}
    at = 0
    for part in parts:
        size = next(v.shape[0] for v in part.values() if v is not None)
        for name, v in part.items():
            if name not in whole:
                whole[name] = None if v is None else _empty(v, b)
            if v is not None:
                whole[name][at : at + size] = v
        at += size
    return whole


def _empty(v: Array, b: int) -> Array:
    """An array for b blocks, of the kind of ``v``."""
    return namespace(v).empty((b, *v.shape[1:]), dtype=v.dtype)
