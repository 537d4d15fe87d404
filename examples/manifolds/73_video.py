"""
A video: time as a curve
========================

The frames of a moving camera lie on a curve. The manifold is learned from every second
frame; the others are placed on it afterwards and fall between their neighbours in time.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import llise
from llise import plot

picture = data.camera()
time = np.linspace(0, 1, 240)
tops = (200 + 160 * np.sin(2 * np.pi * time)).astype(int)
lefts = (200 + 160 * np.cos(2 * np.pi * time)).astype(int)
frames = np.stack([picture[t : t + 64, l : l + 64] for t, l in zip(tops, lefts)])

learner = llise.LLISE().fit(frames[::2])
known, new = learner.image_map(), learner.image_map(frames[1::2])

figure = plt.figure(figsize=(7, 5), layout="constrained")
panel = figure.subplots()
panel.plot(*known.T, color="0.7", linewidth=1, zorder=1)
plot.image_map(known, values=time[::2], images=frames[::2], size=20, ax=panel)
panel.scatter(*new.T, s=14, marker="x", color="k", linewidth=0.8, zorder=3)
panel.set_title("colour: time; crosses: frames that were placed afterwards")
plt.show()

# %%
# The nearest known frame of a new one is the one before or the one after it.

coordinates = learner.transform(frames[::2])
placed = learner.transform(frames[1::2])
distances = np.linalg.norm(placed[:, None] - coordinates[None], axis=-1)
steps = np.abs(2 * distances.argmin(axis=1) - np.arange(1, 240, 2))
print(f"at most three frames away: {(steps <= 3).mean():.0%}")
