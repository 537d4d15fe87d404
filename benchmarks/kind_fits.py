"""How well fits find drawn settings: PYTHONPATH=src python benchmarks/kind_fits.py [--copies N] [KIND ...].

For each kind, random copies of crops of scikit-image's pictures (one in four grey) of errors from 10 to 900: the share
of words whose interval holds the drawn value, their median error, what the fit explains, and the time of a fit.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import skimage.data

from llise.colours import stacked
from llise.kinds.fitting import explained
from llise.kinds.registry import get, names
from llise.kinds.search import Search

SIDE = 96
PICTURES = ("astronaut", "chelsea", "coffee", "camera")


def crop(number: int, needs_color: bool) -> np.ndarray:
    rng = np.random.default_rng(number)
    whole = stacked(getattr(skimage.data, PICTURES[number % (3 if needs_color else 4)])())
    top, left = (8 * int(rng.integers(0, (size - SIDE) // 8)) for size in whole.shape[:2])
    return np.ascontiguousarray(whole[top : top + SIDE, left : left + SIDE])


def measure(name: str, copies: int) -> str:
    """A row of the table."""
    kind, mask = get(name), np.ones((SIDE, SIDE), bool)
    held: dict[str, list[bool]] = {}
    errors: dict[str, list[float]] = {}
    shares, seconds = [], []
    for number in range(copies):
        rng = np.random.default_rng((number, 1))
        reference = crop(number, kind.needs_color)
        wanted = float(np.exp(rng.uniform(np.log(10), np.log(900))))
        draw = kind.draw(reference, rng)
        search = Search(draw.path, reference, wanted, 0.1)
        search.bisect(draw.end, first=draw.first(wanted) if draw.first else draw.end / 100, steps=8)
        if np.array_equal(search.image, reference) or draw.settings is None:
            continue
        start = time.process_time()
        fit = kind.fit(reference, search.image, mask)
        seconds.append(time.process_time() - start)
        shares.append(0.0 if fit is None else explained(fit, reference, search.image, mask))
        for word, value in draw.settings(search.strength).words().items():
            if fit is not None and word in fit.intervals:
                low, high = fit.intervals[word]
                held.setdefault(word, []).append(low <= value <= high)
                errors.setdefault(word, []).append(abs(fit.parameters[word] - value))
    words = ", ".join(f"{word} {np.mean(held[word]):.2f} ({np.median(errors[word]):.3g})" for word in held)
    least, most = np.quantile(shares, 0.1), 1e3 * np.median(seconds)
    return f"{name:15s} {len(shares):4d} {np.median(shares):6.3f} {least:6.3f} {most:5.0f}  {words}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("kinds", nargs="*", default=names())
    parser.add_argument("--copies", type=int, default=100)
    options = parser.parse_args()
    print("kind          copies explained, 10 %    ms  word: share of intervals that hold it (median error)")
    for name in options.kinds:
        print(measure(name, options.copies), flush=True)


if __name__ == "__main__":
    main()
