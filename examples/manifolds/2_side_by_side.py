"""
LLISE, LLE, Isomap and PCA side by side
=======================================

The same images, four methods: structural similarity by blocks (LLISE), and Euclidean
distances between whole images (LLE, Isomap, PCA). First distorted copies of one image,
then scikit-learn's handwritten digits.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import llise
from llise import plot

# %%
# Distorted copies of one image
# -----------------------------
# Every kind has copies of the same mean squared errors. To Euclidean methods these are
# at equal distances from the original and differ in direction only; LLISE sees which
# structure has changed.

training = llise.datasets.training_set(llise.datasets.reference()[128:256, 128:256])
rows = training.images.reshape(len(training.images), -1) / 255.0

maps = {
    "LLISE": llise.LLISE(constraint="affine", luminance=0.5, n_jobs=-1)
    .fit(training.images)
    .image_map(),
    "LLE": llise.LLE(2).fit_transform(training.images),
    "Isomap": Isomap(n_neighbors=10).fit_transform(rows),
    "PCA": PCA(2).fit_transform(rows),
}
figure, axes = plt.subplots(2, 2, figsize=(8.5, 8), layout="constrained")
for panel, (name, places) in zip(axes.flat, maps.items()):
    plot.image_map(places, training.labels, ax=panel)
    panel.set_title(name)
plot.kind_legend(figure)
plt.show()

# %%
# Can the kind be read off the map?
# ---------------------------------
# The nearest three images in the plane, ten-fold. This is a question of two
# coordinates only; :doc:`/reproduction` asks it of all of them.

distorted = training.labels != "original"  # there is only one original
for name, places in maps.items():
    accuracy = cross_val_score(
        KNeighborsClassifier(3), places[distorted], training.labels[distorted], cv=10
    ).mean()
    print(f"{name:7} {accuracy:.0%} of the kinds right")

# %%
# Handwritten digits
# ------------------
# 8 x 8 pixels are one block: LLISE becomes LLE with another distance. Grey values go
# from 0 to 16. Digits of equal stroke but another mean are the same to SSIM, so a
# little luminance is added here as well.

images, digits = load_digits(n_class=6, return_X_y=True)
images, digits = images[:600], digits[:600]

maps = {
    "LLISE": llise.LLISE(
        2, n_neighbors=15, constraint="affine", luminance=0.5, data_range=16
    ).fit_transform(images),
    "LLE": llise.LLE(2, n_neighbors=15).fit_transform(images),
    "Isomap": Isomap(n_neighbors=15).fit_transform(images),
    "PCA": PCA(2).fit_transform(images),
}
figure, axes = plt.subplots(2, 2, figsize=(8.5, 8), layout="constrained")
for panel, (name, places) in zip(axes.flat, maps.items()):
    points = panel.scatter(*places.T, c=digits, cmap="tab10", vmax=9, s=8)
    panel.set(title=name, xticks=[], yticks=[])
    accuracy = cross_val_score(KNeighborsClassifier(5), places, digits, cv=5).mean()
    kept = llise.trustworthiness(images, places)
    panel.set_xlabel(f"{accuracy:.0%} of the digits right\ntrustworthiness {kept:.2f}")
figure.legend(*points.legend_elements(), loc="outside right center", title="digit")
plt.show()

# %%
# On digits the four differ less: strokes that overlap are near in any distance, and no
# distance has been made equal on purpose. On copies of one image, which have equal
# errors, it matters that LLISE looks at structure.
