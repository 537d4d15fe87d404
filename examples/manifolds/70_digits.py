"""
Digits: one manifold, own classes
=================================

Handwritten digits of 8 x 8 pixels are one block each. Two coordinates make a map, four
keep most of what tells the digits apart.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import llise
from llise import plot

digits = load_digits()
images, labels = digits.images[:600], digits.target[:600]

# %%
# ``data_range`` is the largest grey value possible, here 16. The labels of a map may be
# anything; they get a legend.

plane = llise.LLISE(2, data_range=16).fit(images)
figure = plt.figure(figsize=(7.5, 5), layout="constrained")
shown = (images * 15.9375).astype("uint8")
plot.image_map(plane.image_map(), labels, images=shown, size=14, ax=figure.subplots())
plt.show()

# %%
# How well are the digits told apart by their five nearest neighbours?

for name, learner in {
    "LLISE, 2 coordinates": llise.LLISE(2, data_range=16),
    "LLISE, 4 coordinates": llise.LLISE(4, data_range=16),
    "LLE, 4 coordinates": llise.LLE(4),
    "the paper's problem, 4": llise.LLISE.as_in_paper(4, data_range=16),
}.items():
    coordinates = learner.fit_transform(images)
    right = cross_val_score(KNeighborsClassifier(5), coordinates, labels, cv=5).mean()
    kept = llise.trustworthiness(images, coordinates)
    print(f"{name:24} right {right:.2f}, trustworthiness {kept:.2f}")
