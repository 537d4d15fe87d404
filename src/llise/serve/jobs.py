"""What is done with the files of an upload: they are judged one after the other, then a report and JSON are there."""

from __future__ import annotations

import math
import queue
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llise.images import FORMATS, ImageError, check_reference, check_same_size, read_image
from llise.output.page import HtmlReport
from llise.output.rows import Json
from llise.output.words import DOUBTFUL, verdict_sentence
from llise.serve.uploads import Limits, StoredFile, UploadError
from llise.storage.files import atomic_write

if TYPE_CHECKING:
    import numpy as np

    from llise.diagnosis import Diagnoser, Diagnosis


class Job:
    """One upload and what became of it.

    Attributes
    ----------
    rows : list of dict
        What the page shows of each copy that is judged.
    state : str
        "waiting", "running", "done", "failed" or "cancelled".
    error : str
        Why it failed.
    """

    def __init__(
        self, folder: Path, reference: StoredFile, copies: list[StoredFile], max_pixels: int, align: bool = True
    ):
        self.folder, self.reference, self.copies = folder, reference, copies
        self.max_pixels, self.align = max_pixels, align
        self.rows: list[dict[str, Any]] = []
        self.state, self.error = "waiting", ""
        self.cancelled = threading.Event()

    @property
    def report(self) -> Path:
        """The report, once the job is done."""
        return self.folder / "report.html"

    @property
    def results(self) -> Path:
        """The JSON, once the job is done."""
        return self.folder / "results.json"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ("done", "failed", "cancelled")

    def run(self) -> None:
        """Judge all copies; what goes wrong is kept in :attr:`error`."""
        if self.cancelled.is_set():
            self.state = "cancelled"
            return
        self.state = "running"
        try:
            self._judge_all()
            self.state = "cancelled" if self.cancelled.is_set() else "done"
        except (ValueError, OSError) as error:
            self.error = str(error)
            self.state = "failed"
        except Exception as error:  # the page must not wait for ever
            self.error = f"{type(error).__name__}: {error}"
            self.state = "failed"
        finally:
            for file in (self.reference, *self.copies):  # they are not needed any more
                file.path.unlink(missing_ok=True)

    def _judge_all(self) -> None:
        from llise.diagnosis import Diagnoser

        pixels = self._read(self.reference)
        check_reference(pixels, name=self.reference.name)
        diagnoser = Diagnoser(pixels, align=self.align)
        title = f"Diagnosis against {self.reference.name}"
        with (
            atomic_write(self.results, "w", encoding="utf-8") as file,
            HtmlReport(self.report, diagnoser, title, len(self.copies)) as report,
        ):
            rows = Json(file, self.reference.name)
            for copy in self.copies:
                if self.cancelled.is_set():
                    break
                try:
                    diagnosis = self._diagnosis(diagnoser, copy)
                except ValueError as error:
                    rows.add_failure(copy.name, str(error))
                    report.add_failure(str(error))
                    self.rows.append({"file": copy.name, "error": str(error)})
                    continue
                rows.add(diagnosis)
                report.add(diagnosis)
                self.rows.append(_row(diagnosis))
            rows.close()

    def _diagnosis(self, diagnoser: Diagnoser, copy: StoredFile) -> Diagnosis:
        image = self._read(copy)
        check_same_size(diagnoser.reference, image, copy.name)
        diagnosis = next(iter(diagnoser.diagnose([image])))
        diagnosis.file = copy.name
        return diagnosis

    def _read(self, file: StoredFile) -> np.ndarray:
        """Pixels of a picture; errors name it as the sender did, not by its path."""
        from PIL import Image

        try:
            with Image.open(file.path, formats=FORMATS) as picture:
                n_pixels = picture.width * picture.height
        except Exception:
            n_pixels = 0  # read_image says what is wrong with it
        if n_pixels > self.max_pixels:
            raise ImageError(f"{file.name}: {n_pixels} pixels, more than {self.max_pixels}; cut or shrink it first")
        try:
            return read_image(file.path, color=True)
        except ImageError as error:
            raise ImageError(str(error).replace(str(file.path), file.name)) from None


def _row(diagnosis: Diagnosis) -> dict[str, Any]:
    """What the page shows of a copy."""
    return {
        "file": diagnosis.file,
        "sentence": verdict_sentence(diagnosis),
        "confidence": round(float(diagnosis.confidence), 4),
        "doubtful": bool(diagnosis.is_copy and diagnosis.confidence < DOUBTFUL),
        "psnr": round(diagnosis.psnr, 2) if math.isfinite(diagnosis.psnr) else None,
        "ssim": round(float(diagnosis.ssim), 4),
    }


class Jobs:
    """All jobs of a server: a thread runs one after the other."""

    def __init__(self, folder: Path, limits: Limits):
        self.folder, self.limits = folder, limits
        self._jobs: dict[str, Job] = {}
        self._expected: set[str] = set()
        self._queue: queue.Queue[Job | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="llise-serve", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs.values()))

    def reserve(self) -> tuple[str, Path]:
        """Make the folder of a new job; the oldest job that has ended is removed where there are too many."""
        with self._lock:
            ended = [name for name, job in self._jobs.items() if job.ended]
            if len(self._jobs) + len(self._expected) >= self.limits.max_jobs:
                if not ended:
                    raise UploadError("other uploads are still being judged; wait until they are done", 503)
                self._remove(ended[0])
            name = secrets.token_hex(8)
            self._expected.add(name)
        folder = self.folder / name
        folder.mkdir()
        return name, folder

    def start(self, name: str, job: Job) -> None:
        """Let a job be run when those before it are done."""
        with self._lock:
            self._expected.discard(name)
            self._jobs[name] = job
        self._queue.put(job)

    def get(self, name: str) -> Job | None:
        """Return a job, or None where there is none of this name."""
        return self._jobs.get(name)

    def remove(self, name: str) -> None:
        """Stop a job, or give up a reserved one, and remove its files."""
        with self._lock:
            self._remove(name)

    def close(self) -> None:
        """Stop all jobs; the picture that is being judged is waited for, but not long."""
        for job in self:
            job.cancelled.set()
        self._queue.put(None)
        self._thread.join(timeout=10)

    def _remove(self, name: str) -> None:
        self._expected.discard(name)
        job = self._jobs.pop(name, None)
        if job:
            job.cancelled.set()
            if not job.ended:
                return  # the thread removes the folder when it has left it
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            job.run()
            if job.cancelled.is_set():
                shutil.rmtree(job.folder, ignore_errors=True)
