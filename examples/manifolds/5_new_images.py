"""
New images, and how good their places are
=========================================

A manifold is learned once; images that come later are placed in it by the weights of
their neighbours. How far is that from learning again with them, and can coordinates be
turned back into images?
"""

# %%
# Place new images
# ----------------
# 90 of the 121 images are learned, 31 are placed by :meth:`~llise.LLISE.transform`.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import procrustes
from sklearn.model_selection import train_test_split

import llise
from llise import plot

reference = llise.datasets.reference()[128:256, 128:256]
training = llise.datasets.training_set(reference)
known, new = train_test_split(
    np.arange(len(training.images)), test_size=31, random_state=0
)
learner = llise.LLISE(constraint="affine", luminance=0.5, n_jobs=-1).fit(
    training.images[known]
)

figure, panel = plt.subplots(figsize=(8, 6), layout="constrained")
plot.image_map(learner.image_map(), training.labels[known], size=18, ax=panel)
plot.image_map(
    learner.image_map(training.images[new]), training.labels[new], size=70, ax=panel
)
panel.set_title("large: placed later")
plot.kind_legend(figure)
plt.show()

# %%
# Against learning again
# ----------------------
# The same map from a fit with all images, turned to fit best. Lines lead from where an
# image was placed to where a fit with it puts it: not far, and never to another kind.
# :doc:`/manifold` has this distance measured on the paper's data.

everything = llise.LLISE(constraint="affine", luminance=0.5, n_jobs=-1).fit(
    training.images
)
placed = np.empty((len(training.images), 2))
placed[known], placed[new] = (
    learner.image_map(),
    learner.image_map(training.images[new]),
)
learned, placed, _ = procrustes(everything.image_map(), placed)

figure, panel = plt.subplots(figsize=(8, 6), layout="constrained")
panel.plot(*np.stack([learned[new], placed[new]], axis=1).T, color="black", linewidth=1)
plot.image_map(learned, training.labels, size=18, ax=panel)
plot.image_map(placed[new], training.labels[new], size=70, ax=panel)
panel.set_title("lines: from there to where a fit with them puts them")
plot.kind_legend(figure)
plt.show()

# %%
# How good is it?
# ---------------
# ``score`` is the mean of trustworthiness and continuity: whether neighbours among the
# new images stay neighbours. The recogniser asks whether their kind can be read off
# their place.

recognizer = llise.DistortionRecognizer(learner).fit(
    training.images[known], training.labels[known]
)
print(f"score of new images {learner.score(training.images[new]):.3f}")
right = recognizer.score(training.images[new], training.labels[new])
print(f"kind of new images right {right:.0%}")

# %%
# Back to images
# --------------
# :meth:`~llise.LLISE.inverse_transform` makes an image of coordinates, from the blocks
# whose coordinates lie around. It shows what a place in the embedding looks like; it
# is no compression. Blur, JPEG and contrast come back; the noise of a new image is
# like no noise of the training, and does not.

kinds = ("blur", "jpeg", "contrast", "gaussian_noise")
chosen = [next(i for i in new if training.labels[i] == kind) for kind in kinds]
back = learner.inverse_transform(learner.transform(training.images[chosen]))
back = np.clip(np.rint(back), 0, 255).astype(np.uint8).reshape(-1, *reference.shape)

figure, axes = plt.subplots(2, 4, figsize=(9, 4.8), layout="constrained")
for column, kind, i, image in zip(axes.T, kinds, chosen, back):
    error = np.sqrt(np.mean((image.astype(float) - training.images[i]) ** 2))
    plot.picture(training.images[i], kind.replace("_", " "), ax=column[0])
    plot.picture(image, "", f"back: {error:.1f} grey levels off", ax=column[1])
plt.show()
