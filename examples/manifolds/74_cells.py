"""
Cells: tiles of a slide, in colour
==================================

A slide of tissue is cut into tiles of 32 x 32 pixels. The learners take colour images:
luma and chroma are three planes of each block, and the mean of each plane counts.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.color import rgb2hed

import llise
from llise import plot

slide = data.immunohistochemistry()
side = 32
corners = [(top, left) for top in range(0, 480, side) for left in range(0, 480, side)]
tiles = np.stack([slide[top : top + side, left : left + side] for top, left in corners])
stain = rgb2hed(tiles)[..., 2].mean(axis=(1, 2))  # brown: where the antibody is

learner = llise.LLISE(block_size=16).fit(tiles)
figure = plt.figure(figsize=(7.5, 5), layout="constrained")
panel = figure.subplots()
plot.image_map(learner.image_map(), values=stain, images=tiles, size=18, ax=panel)
figure.colorbar(panel.collections[0], label="brown stain, mean of the tile")
plt.show()

# %%
# The tiles that are nearest to one tile in the embedding.

coordinates = learner.transform(tiles)
chosen = int(stain.argmax())
nearest = np.linalg.norm(coordinates - coordinates[chosen], axis=1).argsort()[:8]
figure, panels = plt.subplots(1, 8, figsize=(9, 1.6), layout="constrained")
for panel, i in zip(panels, nearest):
    panel.imshow(tiles[i])
    panel.set_axis_off()
plt.show()
