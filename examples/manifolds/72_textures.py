"""
Textures: which choices tell them apart?
========================================

Crops of brick, grass and gravel at random places have no pixel in common. What tells
them apart is structure and level, so the mean of a block must count.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import llise
from llise import plot

names, side, count = ("brick", "grass", "gravel"), 32, 60
generator = np.random.default_rng(0)
images, labels = [], np.repeat(names, count)
for name in names:
    picture = getattr(data, name)()
    for top, left in generator.integers(0, 512 - side, (count, 2)):
        images.append(picture[top : top + side, left : left + side])
images = np.stack(images)

for luminance in (0.0, 0.5, 1.0):
    coordinates = llise.LLISE(luminance=luminance).fit_transform(images)
    right = cross_val_score(KNeighborsClassifier(5), coordinates, labels, cv=5).mean()
    print(f"luminance {luminance}: {right:.2f} right")

# %%
# The map of the default, which counts the mean like all else.

learner = llise.LLISE().fit(images)
figure = plt.figure(figsize=(7, 4.8), layout="constrained")
places = learner.image_map()
plot.image_map(places, labels, images=images, size=16, ax=figure.subplots())
plt.show()
