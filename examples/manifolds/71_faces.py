"""
Faces: the whole image or its blocks
====================================

The 200 small pictures of scikit-image are half faces, half other cuts of photographs.
One manifold of whole images has p coordinates, one at each block has p for each block.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import lfw_subset
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import llise
from llise import plot

images = lfw_subset()  # 25 x 25, floats in [0, 1]
labels = np.repeat(["face", "other"], 100)

figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for panel, (title, size) in zip(panels, {"whole": None, "blocks of 8": 8}.items()):
    learner = llise.LLISE(4, block_size=size).fit(images)
    coordinates = learner.transform(images)
    right = cross_val_score(KNeighborsClassifier(5), coordinates, labels, cv=5).mean()
    columns = learner.get_feature_names_out()
    print(f"{title}: {len(columns)} columns, {columns[0]} to {columns[-1]}")
    shown = (images * 255).astype("uint8")
    plot.image_map(learner.image_map(), labels, images=shown, size=14, ax=panel)
    panel.set_title(f"{title}: {right:.0%} right by 5 neighbours")
plt.show()
