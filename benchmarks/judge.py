"""Judge a folder of cases with the llise of any checkout, so that two commits or models can be compared.

    python benchmarks/judge.py CASES --tree CHECKOUT -o answers.jsonl [--jobs 2]

CASES holds ``truth.jsonl`` (one case a line: id, reference, copy, and the truth, which is not handed to the processes
that judge). Each process runs with ``CHECKOUT/src`` on its path and uses public names only: ``llise.read_image``,
``llise.Diagnoser`` and the fields of its answers. A run that was stopped goes on where it was; rows are in the order of
the cases. An exception, or the end of a process, is an answer too: a wrong one, with its text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tqdm import tqdm

Row = dict[str, Any]
LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> None:
    """Read the command line, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, help="folder with truth.jsonl and the pictures that it names")
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1], help="checkout whose src/llise judges")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of JSON lines; continued if it exists")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    options = parser.parse_args()
    judge_all(options.cases, options.tree, options.output, options.jobs)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file of JSON lines; a last line that was cut off is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def judge_all(cases: Path, tree: Path, output: Path, jobs: int = 2) -> None:
    """Judge all cases that the output does not hold yet."""
    for needed in (cases / "truth.jsonl", tree / "src" / "llise" / "__init__.py"):
        if not needed.is_file():
            raise SystemExit(f"{needed}: no such file; expected a folder of cases and a checkout of llise")
    questions = [{key: row[key] for key in ("id", "reference", "copy")} for row in read_rows(cases / "truth.jsonl")]
    about = {"source": source_of(tree), "commit": commit_of(tree)}
    about |= {"cases": _digest([cases / "truth.jsonl"], cases), "count": len(questions)}
    rows = _finished(output, about)
    todo = [question for question in questions if question["id"] not in rows]
    output.parent.mkdir(parents=True, exist_ok=True)
    _write(output, about, rows.values())
    if todo:
        with output.open("a", encoding="utf-8") as file:
            for row in tqdm(_ask(todo, cases, tree, min(jobs, len(todo))), total=len(todo), file=sys.stderr):
                rows[row["id"]] = row
                file.write(json.dumps(row) + "\n")
                file.flush()
    _write(output, about, (rows[question["id"]] for question in questions))


def _finished(output: Path, about: Row) -> dict[str, Row]:
    """Rows that an earlier run wrote, by id; refuses those of another source or of other cases."""
    if not output.exists() or not (rows := read_rows(output)):
        return {}
    other = rows[0].get("about", {})
    for key, what in (("source", "another source"), ("cases", "other cases")):
        if other.get(key) != about[key]:
            raise SystemExit(f"{output}: holds answers of {what}; name another file or remove it")
    return {row["id"]: row for row in rows[1:]}


def _write(output: Path, about: Row, rows: Iterable[Row]) -> None:
    """Write all rows and move the file into place."""
    part = output.with_name(output.name + ".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in ({"about": about}, *rows)), encoding="utf-8")
    os.replace(part, output)


def source_of(tree: Path) -> str:
    """Digest of the code and the model of a checkout."""
    return _digest(sorted((tree / "src" / "llise").rglob("*")), tree)


def _digest(paths: Iterable[Path], root: Path) -> str:
    """First 16 digits of the SHA-256 of names and bytes; compiled files do not count."""
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def commit_of(tree: Path) -> str:
    """Commit of a checkout, or nothing; with + where files differ from it."""
    command = ["git", "-C", str(tree), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _ask(questions: list[Row], cases: Path, tree: Path, jobs: int) -> Iterator[Row]:
    """Yield answers as they come from several processes."""
    free: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(jobs):
        free.put(Worker(cases, tree))

    def ask(question: Row) -> Row:
        worker = free.get()
        try:
            return worker.answer(question)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(ask, question) for question in questions]
        try:
            yield from (future.result() for future in as_completed(futures))
        finally:
            pool.shutdown(cancel_futures=True)
            for _ in range(jobs):
                free.get().stop()


class Worker:
    """A process that judges with the llise of a checkout; started again where it ends."""

    def __init__(self, cases: Path, tree: Path) -> None:
        self.command = [sys.executable, "-P", str(Path(__file__).with_name("judge_worker.py")), str(cases)]
        path = os.pathsep.join(filter(None, [str((tree / "src").resolve()), os.environ.get("PYTHONPATH")]))
        self.environment = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(LIBRARIES, "1")}
        self.process: subprocess.Popen[str] | None = None

    def answer(self, question: Row) -> Row:
        """Return the answer to one case."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self.process.stdin and self.process.stdout
        try:
            print(json.dumps(question), file=self.process.stdin, flush=True)
            if line := self.process.stdout.readline():
                return json.loads(line)
        except BrokenPipeError:
            pass
        code = self.process.wait()
        self.process = None
        return {"id": question["id"], "error": f"the process ended with code {code}"}

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()


if __name__ == "__main__":
    main()
