"""Attack the package: damaged and hostile files, lost workers, wrong calls, large pictures.

``python benchmarks/attack.py`` prints how often each area was tried and how often it failed, and each failure; the exit
status is 1 if there was any.  Each area is a module in ``attacks/`` with ``NAME`` and ``run(scale, rng, folder)``. It
returns how many things were tried and a line for each failure; a new module there takes part without being registered.
``--scale 0.01`` tries a hundredth of it.  The tests run a small part of each area (``tests/test_attacks.py``).
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import ModuleType

import numpy as np

import attacks


def modules() -> dict[str, ModuleType]:
    """The modules of the areas by name, in order of their names."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(attacks.__path__))
    found = {name: importlib.import_module(f"attacks.{name}") for name in names}
    return {name: module for name, module in found.items() if hasattr(module, "NAME")}


def attack(module: ModuleType, scale: float, seed: int) -> tuple[int, list[str]]:
    """Run one area in a folder of its own; an attack that breaks down is a failure."""
    with tempfile.TemporaryDirectory(prefix="llise-attack-") as folder:
        try:
            return module.run(scale, np.random.default_rng(seed), Path(folder))
        except Exception:
            return 0, [" ".join(traceback.format_exc().split())]


def main() -> int:
    areas = modules()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="how much is tried, relative to the whole attack")
    parser.add_argument("--seed", type=int, default=0, help="seed for all random numbers")
    parser.add_argument("--only", action="append", choices=list(areas), help="this module only; may be repeated")
    options = parser.parse_args()
    failures = []
    print("| area | tried | failed | seconds |\n|---|---|---|---|", flush=True)
    for name in options.only or areas:
        begin = time.perf_counter()
        tried, failed = attack(areas[name], options.scale, options.seed)
        print(f"| {areas[name].NAME} | {tried} | {len(failed)} | {time.perf_counter() - begin:.0f} |", flush=True)
        failures += [f"{name}: {' '.join(line.split())}" for line in failed]
    for line in failures:
        print(line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
