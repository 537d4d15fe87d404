"""The GPU engine against the CPU engine on the paper's problem: parity, then time.

    python benchmarks/gpu.py [--size 512]

Prints a Markdown table.  Needs an NVIDIA GPU and CuPy.
"""

from __future__ import annotations

import argparse
import time

import cupy
import numpy as np

from llise import LLISE, KernelLLISE, datasets
from llise.manifold.recognition import nearest_labels

CASES = {
    "LLISE, sphere, p = 4": (LLISE, {}),
    "LLISE, affine, p = 4": (LLISE, {"constraint": "affine"}),
    "LLISE, affine, luminance, k = 20, p = 8": (
        LLISE,
        {"n_components": 8, "n_neighbors": 20, "constraint": "affine", "luminance": 0.5},
    ),
    "kernel LLISE (RBF), sphere, p = 4": (KernelLLISE, {}),
    "LLISE, ADMM 230/60": (LLISE, {"solver": "admm", "random_state": 0}),
}


def timed(function, repeats: int) -> float:
    """Median seconds of a warm call."""
    seconds = []
    for _ in range(repeats):
        cupy.cuda.runtime.deviceSynchronize()
        start = time.perf_counter()
        function()
        cupy.cuda.runtime.deviceSynchronize()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=512, help="side of the crop of the built-in image")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cases", type=int, default=len(CASES), help="how many of the cases, from the first")
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    side = options.size
    training = datasets.training_set(datasets.reference(), n_jobs=options.jobs)
    images = np.ascontiguousarray(training.images[:, :side, :side])
    codes = np.unique(training.labels, return_inverse=True)[1]
    new = images[20:32] // 2 + images[60:72] // 2
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"device: {name}; CuPy {cupy.__version__}; {len(images)} images of {side}x{side}\n")
    print(
        "| case | dtype | CPU fit [ms] | device fit [ms] | ratio | transform of 12 [ms] | "
        "objective, relative difference | violation | stationarity | equal labels |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for title, (learner, settings) in list(CASES.items())[: options.cases]:
        for dtype in ("uint8", "float32"):
            values, fresh = (v if dtype == "uint8" else (v / 255).astype(np.float32) for v in (images, new))
            cpu = learner(n_jobs=options.jobs, **settings).fit(values)  # (compiles)
            cpu_seconds = timed(lambda: cpu.fit(values), 3)  # noqa: B023
            tensor, fresh = (cupy.asarray(v) for v in (values, fresh))
            device = learner(**settings).fit(tensor)
            seconds = timed(lambda: device.fit(tensor), options.repeats)  # noqa: B023
            transform = timed(lambda: device.transform(fresh), options.repeats)  # noqa: B023
            labels = [nearest_labels(e, codes, 7) for e in (cpu.embedding_, device.embedding_.get())]
            difference = abs(device.embedding_error_ / cpu.embedding_error_ - 1)
            print(
                f"| {title} | {dtype} | {1e3 * cpu_seconds:.0f} | {1e3 * seconds:.1f} | {cpu_seconds / seconds:.1f} | "
                f"{1e3 * transform:.1f} | {difference:.1e} | "
                f"{device.constraint_violation_:.1e} | {device.stationarity_:.1e} | "
                f"{(labels[0] == labels[1]).mean():.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
