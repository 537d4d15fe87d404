"""
The same on a GPU and on a cluster
==================================

The work is cut into chunks of blocks that do not depend on each other. They run on
threads, on a Dask cluster or on a GPU, and give the same coordinates. This page was
built on whatever machine it was built on: what it does not have is said below.
"""

# %%
# Threads
# -------
# ``n_jobs`` is the number of threads; -1 takes all cores.

from contextlib import ExitStack
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from joblib import parallel_config

import llise
from llise import plot

training = llise.datasets.training_set(llise.datasets.reference()[128:256, 128:256])
settings = {"constraint": "affine", "luminance": 0.5}
learners, seconds = {}, {}


def fit(name, learner, images=training.images):
    start = perf_counter()
    learners[name] = learner.fit(images)
    seconds[name] = perf_counter() - start
    print(f"{name}: {seconds[name]:.2f} s")


llise.LLISE(**settings).fit(
    training.images
)  # compiles the kernels where that was not done before
fit("one thread", llise.LLISE(**settings, n_jobs=1))
fit("all cores", llise.LLISE(**settings, n_jobs=-1))

# %%
# A cluster
# ---------
# The chunks go through joblib, so a Dask cluster is one ``with`` around the fit. Here
# its workers are threads of this process; in earnest, the client gets the address of a
# scheduler: ``Client("tcp://scheduler:8786")``. A worker that is lost costs nothing
# but time. On the command line it is ``--scheduler ADDRESS``.

try:
    from distributed import Client
except ImportError:
    print("Dask is not installed: pip install 'llise[cluster]'")
else:
    with ExitStack() as stack:
        stack.enter_context(
            Client(
                processes=False,
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
            )
        )
        stack.enter_context(parallel_config("dask"))
        fit("Dask cluster", llise.LLISE(**settings))

# %%
# A GPU
# -----
# ``device="cuda"`` takes NumPy arrays there and back. Arrays of CuPy and tensors of
# torch are worked on where they are, and the coordinates are of the same kind. Where no
# NVIDIA GPU is, this part is left out.

try:
    import cupy

    gpus = cupy.cuda.runtime.getDeviceCount()
except Exception as error:  # no CuPy, or no driver
    print(f"no GPU here ({type(error).__name__}): pip install 'llise[gpu]'")
else:
    fit(f"GPU (of {gpus})", llise.LLISE(**settings, device="cuda"))

# %%
# The same map
# ------------
# However it is computed, an image ends in the same place: the largest difference of a
# coordinate is below each map.

figure, axes = plt.subplots(
    1,
    len(learners),
    figsize=(2.9 * len(learners), 3.8),
    layout="constrained",
    squeeze=False,
)
first = next(iter(learners.values()))
for panel, (name, learner) in zip(axes[0], learners.items()):
    plot.image_map(learner.image_map(), training.labels, ax=panel)
    difference = np.abs(learner.embedding_ - first.embedding_).max()
    panel.set(title=name, xlabel=f"largest difference {difference:.1g}")
plot.kind_legend(figure)
plt.show()

# %%
# :doc:`/engine` has the times of the paper's problem: 121 images of 512 x 512, on
# two cores and on an H200.
