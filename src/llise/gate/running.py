"""Many pairs through the gate, on several processor cores."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from llise.gate.judging import Illustrate, judge_pair
from llise.gate.outcome import Outcome
from llise.gate.pairs import Pair
from llise.gate.rules import Rules

if TYPE_CHECKING:
    from concurrent.futures import Future

PATIENCE = 1.0
"""Seconds for which this process works alone: about the time that another one takes to start."""

AHEAD = 8
"""Pairs for each process that are handed out before the first of them is done."""


def check_pairs(
    pairs: Iterable[tuple[Pair, Rules]],
    measures_only: bool = False,
    illustrate: Illustrate | None = None,
    n_jobs: int = 1,
    kind_files: tuple[Path, ...] = (),
) -> Iterator[Outcome]:
    """Judge pairs, in processes of their own if there are many."""
    rest = iter(pairs)
    deadline = time.monotonic() + PATIENCE
    for pair, rules in rest:
        yield judge_pair(pair, rules, measures_only, illustrate)
        if n_jobs > 1 and time.monotonic() > deadline:
            break
    following = next(rest, None)
    if following is not None:
        yield from _in_processes(chain([following], rest), measures_only, illustrate, n_jobs, kind_files)


def _in_processes(
    pairs: Iterator[tuple[Pair, Rules]],
    measures_only: bool,
    illustrate: Illustrate | None,
    n_jobs: int,
    kind_files: tuple[Path, ...],
) -> Iterator[Outcome]:
    """Outcomes in order; new pairs are handed out as old ones are done."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    pool = ProcessPoolExecutor(n_jobs, multiprocessing.get_context("spawn"), _prepared, (kind_files,))
    pending: deque[Future[Outcome]] = deque()
    try:
        for pair, rules in pairs:
            pending.append(pool.submit(judge_pair, pair, rules, measures_only, illustrate))
            if len(pending) >= AHEAD * n_jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise OSError(
            "a process ended before its pair was judged, perhaps for lack of memory; use fewer jobs"
        ) from None
    except BaseException:  # such as Ctrl-C: do not wait for the pairs that are being judged
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _prepared(kind_files: tuple[Path, ...]) -> None:
    """Leave Ctrl-C to the main process, and register the kinds of one's own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if kind_files:
        from llise.diagnosis.kind_files import register_file

        for file in kind_files:
            register_file(file)
