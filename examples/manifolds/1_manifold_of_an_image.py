"""
The manifold of one image
=========================

Distort an image in six ways, each from hardly visible to strong, and all these copies
together form a set in which every kind of distortion is a path that leaves the
original. LLISE finds coordinates for it, block by block, and one map for whole images.
"""

# %%
# The paper's training images
# ---------------------------
# The original and 20 copies of each of six kinds, at mean squared errors of 45 to 900:
# 121 images.

import matplotlib.pyplot as plt
import numpy as np

import llise
from llise import plot

reference = llise.datasets.reference()[128:384, 128:384]
training = llise.datasets.training_set(reference)
print(training)

# %%
# Learn it
# --------
# Affine weights and a coordinate for luminance make the map easier to read than the
# paper's settings do; another example compares them.

learner = llise.LLISE(constraint="affine", luminance=0.5, n_jobs=-1).fit(
    training.images
)
places = learner.image_map()

# %%
# The map
# -------
# Each kind begins beside the original, the star, and moves away from it as it becomes
# stronger.

figure, panel = plt.subplots(figsize=(8, 7), layout="constrained")
plot.image_map(places, training.labels, images=training.images, thumbnails=14, ax=panel)
plot.kind_legend(figure)
plt.show()

# %%
# The same points by error.

figure, panel = plt.subplots(figsize=(8, 6), layout="constrained")
plot.image_map(places, values=np.sqrt(training.mse), ax=panel)
figure.colorbar(panel.collections[0], label="root of the mean squared error")
plt.show()

# %%
# How a distortion moves an image
# -------------------------------
# New copies are placed by :meth:`~llise.LLISE.transform` without learning again. Here
# are two paths: more and more JPEG, and a mixture that begins as blur and gets noise
# on top. The first follows the JPEG images of the training; the second leaves the path
# of blur and turns towards that of noise.

jpeg = [
    llise.distortions.apply(reference, "jpeg", mse=mse)
    for mse in (20, 60, 120, 200, 300)
]
blurred = llise.distortions.apply(reference, "blur", mse=200)
noisy = [
    blurred,
    *(
        llise.distortions.apply(blurred, "gaussian_noise", mse=mse, random_state=0)
        for mse in (60, 150, 300, 500)
    ),
]

axes = plot.image_map(places, training.labels, size=14)
for path, name in ((jpeg, "more JPEG"), (noisy, "blur, then noise")):
    along = learner.image_map(np.stack(path))
    axes.plot(*along.T, "-", color="black", linewidth=1.2, zorder=4)
    axes.plot(*along[-1], "o", color="black", markersize=5, zorder=4)
    axes.annotate(name, along[-1], xytext=(6, 6), textcoords="offset points", zorder=5)
axes.figure.set_size_inches(8, 6)
plot.kind_legend(axes.figure)
plt.show()

# %%
# One block
# ---------
# The map above is that of whole images. What is learned are the coordinates of every
# block. At one place in the picture, two of the four coordinates look like this: 121
# copies of the same 8 x 8 pixels.

block = (
    np.abs(learner.embedding_).max(axis=(1, 2)).argmin()
)  # the one that is spread most evenly
row, column = divmod(block, learner.block_grid_[1])
axes = plot.image_map(
    learner.embedding_[block][:, :2],
    training.labels,
    images=training.images[:, 8 * row : 8 * row + 8, 8 * column : 8 * column + 8],
)
axes.set_title(f"block in row {row}, column {column}")
axes.figure.set_size_inches(8, 6)
plot.kind_legend(axes.figure)
plt.show()
