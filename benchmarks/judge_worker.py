"""Answer questions of ``judge.py``, one a line, with the llise that PYTHONPATH names: public names only."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import llise


def judge(reference: str, copy: str) -> dict[str, Any]:
    """Diagnose one pair of files; seconds are those of the processor, without the reading of the files."""
    pixels, image = (llise.read_image(path, color=True) for path in (reference, copy))
    start = time.process_time()
    diagnoser = llise.Diagnoser(pixels)
    diagnosis = next(iter(diagnoser.diagnose([image])))
    return {
        "seconds": round(time.process_time() - start, 4),
        "size": image.shape[:2],
        "verdict": list(diagnosis.verdict),
        "confidence": round(float(diagnosis.confidence), 5),
        "false_alarms": getattr(diagnoser, "false_alarms", None),
        "faults": [answer_of(fault) for fault in diagnosis.faults],
    }


def answer_of(fault: Any) -> dict[str, Any]:
    """What a fault says, as plain values; the region as lengths of runs, row by row, the first of blocks outside."""
    flat = np.asarray(fault.region, bool).ravel()
    ends = np.flatnonzero(np.diff(np.concatenate([[False], flat]))).tolist()
    return {
        "kinds": list(fault.kinds),
        "confidence": round(float(fault.confidence), 5),
        "box": [int(side) for side in fault.box],
        "grid": fault.region.shape,
        "runs": np.diff([0, *ends, flat.size]).tolist(),
        "estimate": {
            kind: {name: [round(float(value), 6) for value in interval] for name, interval in settings.items()}
            for kind, settings in fault.estimate.items()
        },
    }


def main() -> None:
    """Answer until there are no more questions."""
    warnings.simplefilter("ignore")
    folder, answers, sys.stdout = Path(sys.argv[1]), sys.stdout, sys.stderr
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    next(
        iter(llise.Diagnoser(noise).diagnose([noise ^ 3]))
    )  # loads the model and compiles, which no case shall pay for
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = judge(*(str(folder / question[key]) for key in ("reference", "copy")))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": question["id"], **answer}), file=answers, flush=True)


if __name__ == "__main__":
    main()
