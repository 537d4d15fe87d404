"""What surrounds the work of every command: notes, warnings and progress on standard error, threads or a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from llise.cli import signals


def complain(message: str, status: int = 1) -> int:
    """Print an error as one line on standard error."""
    say(f"llise: error: {message.strip()}", err=True)
    return status


def say(line: str, err: bool = False) -> None:
    """Print one line in which control characters, such as those in a file's name, are escaped."""
    from llise.storage.files import printable

    click.echo(printable(line), err=err)


def note(message: str, quiet: bool) -> None:
    """Print a note on standard error."""
    if not quiet:
        say(f"llise: {message}", err=True)


def progress(items: Iterable[Any], total: int, what: str, quiet: bool) -> Iterable[Any]:
    """Show a progress bar on standard error, if that is a terminal, while items are taken."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return _until_interrupted(items)
    from tqdm import tqdm  # only here: most runs show no bar

    return tqdm(_until_interrupted(items), what, total, file=sys.stderr, leave=False)


def _until_interrupted(items: Iterable[Any]) -> Iterator[Any]:
    """The same items; an interrupt that a library took for an error of a file ends them all the same."""
    for item in items:
        if signals.received():
            raise KeyboardInterrupt
        yield item


@contextmanager
def session(quiet: bool, jobs: int | None = 1, scheduler: str | None = None) -> Iterator[None]:
    """Run a command's work: warnings as one line each, and joblib with so many cores or on a cluster."""
    if jobs is None:
        # Read when NumPy is imported. Threads of BLAS are busy also while they wait, and small products need none.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with one_line_warnings(quiet), workers(jobs, scheduler):
        yield


@contextmanager
def one_line_warnings(quiet: bool) -> Iterator[None]:
    """Print the warnings of libraries as one line each, or not at all."""
    import warnings

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        note(f"warning: {' '.join(str(message).split())}", quiet)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def workers(jobs: int | None, scheduler: str | None = None) -> Iterator[None]:
    """Let joblib use so many threads, or the Dask cluster at an address."""
    if jobs is None and not scheduler:
        yield
        return
    import joblib

    if scheduler is None:
        with joblib.parallel_config("threading", n_jobs=jobs):  # without a backend, n_jobs is ignored for threads
            yield
        return
    with _cluster(scheduler), joblib.parallel_config("dask", n_jobs=jobs):
        yield


CONNECT = 4
"""Seconds in which a scheduler must answer."""


def _cluster(address: str) -> Any:
    """A client of the scheduler at ``address``."""
    import logging

    from llise.engine.tasks import interruptible

    if not address.strip():
        raise click.UsageError(
            "--scheduler is empty; give the address of a Dask scheduler, such as tcp://127.0.0.1:8786"
        )
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("--scheduler needs Dask; install it with pip install 'llise[cluster]'") from None
    # The cluster's own messages, such as on a busy event loop, do not help whoever waits for a diagnosis.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        # In a thread, because Dask waits without end for a program that accepts the connection and says nothing.
        return interruptible(lambda: Client(address, timeout=CONNECT), timeout=CONNECT + 1)
    except Exception as error:  # Dask raises OSError, ValueError, TypeError, RuntimeError and more
        reason = " ".join(str(error).split()) or "it accepts connections and says nothing"
        raise OSError(
            f"{address}: no scheduler answers there ({reason}); start one with dask scheduler, and give the "
            "address that it prints, such as tcp://127.0.0.1:8786"
        ) from None
