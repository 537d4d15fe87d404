"""
Images larger than memory
=========================

Training images may be a memory map: a file whose rows are read when their chunk is
worked on. What a fit needs beyond its input and its result does not grow with the size
of the images.
"""

# %%
# Images in a file
# ----------------
# Forty copies of a picture with noise of growing strength, written one after the
# other, so that never more than one is in memory.

import tempfile
from pathlib import Path
from threading import Event, Thread

import matplotlib.pyplot as plt
import numpy as np
import psutil
from skimage.transform import resize

import llise

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)


def write_images(side, count=40):
    """Write a file of images; return it as a memory map that is only read."""
    path = Path(folder.name, f"{side}.npy")
    picture = 255 * resize(llise.datasets.reference(), (side, side))
    images = np.lib.format.open_memmap(path, "w+", np.uint8, (count, side, side))
    for i in range(count):
        images[i] = np.clip(picture + rng.normal(0, 1 + i / 2, picture.shape), 0, 255)
    images.flush()
    return np.load(path, mmap_mode="r")


# %%
# Fit, and watch the memory
# -------------------------
# ``store_weights=False`` leaves out what only research needs. Pages of the file that
# the system keeps in memory are not counted: it takes them away when others need the
# space.


class Watch:
    """The most memory of its own that this process has needed, in MB."""

    def __enter__(self):
        self.start, self.most, self.done = self.now(), 0.0, Event()
        self.thread = Thread(target=self.look)
        self.thread.start()
        return self

    def now(self):
        memory = psutil.Process().memory_info()
        return (memory.rss - getattr(memory, "shared", 0)) / 1e6

    def look(self):
        while not self.done.wait(0.01):
            self.most = max(self.most, self.now() - self.start)

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()


settings = {"n_components": 2, "constraint": "affine", "store_weights": False}
llise.LLISE(**settings).fit(
    write_images(64)
)  # compiles the kernels where that was not done before

sides = (256, 512, 768, 1024)
sizes = {"input": [], "result": [], "needed besides": []}
for side in sides:
    images = write_images(side)
    with Watch() as watch:
        learner = llise.LLISE(**settings, n_jobs=2).fit(images)
    result = learner.embedding_.nbytes / 1e6
    for values, value in zip(
        sizes.values(), (images.nbytes / 1e6, result, max(watch.most - result, 0))
    ):
        values.append(value)
    print(
        f"{side} x {side}:",
        ", ".join(f"{name} {values[-1]:.0f} MB" for name, values in sizes.items()),
    )

# %%
# The result is smaller than the input. What is needed besides is used again and again,
# chunk after chunk, so that the process hardly grows.

figure, panel = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for (name, values), style in zip(sizes.items(), ("o-", "s-", "^--")):
    panel.plot(sides, values, style, label=name)
panel.set(xlabel="side of the images in pixels", ylabel="MB", xticks=sides)
panel.legend()
plt.show()

# %%
# The coordinates can be looked at block by block: how far the noisiest image is from
# the first one, in every place.

rows, cols = learner.block_grid_
distance = np.linalg.norm(
    learner.embedding_[:, -1] - learner.embedding_[:, 0], axis=1
).reshape(rows, cols)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
axes[0].imshow(images[-1], cmap="gray")
axes[0].set_title("noisiest image")
axes[1].imshow(distance, cmap="viridis")
axes[1].set_title("distance from the first one, block by block")
for panel in axes:
    panel.set_axis_off()
plt.show()

# %%
# New images are placed from a memory map in the same way, and ``llise embed`` uses the
# same chunks. A reference of 3840 x 2160 with its 121 training images, 1 GB, needs
# 0.3 GB besides input and result (``python benchmarks/speed.py --only large``).

del images
folder.cleanup()
