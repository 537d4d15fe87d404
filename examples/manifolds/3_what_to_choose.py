"""
Which constraint, luminance, k and p?
=====================================

The paper takes weights of norm one, ignores luminance, and has k = 10 neighbours and p
= 4 coordinates. Each of the four can be chosen, and each choice can be seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import make_swiss_roll
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

import llise
from llise import plot

# %%
# The constraint: a swiss roll
# ----------------------------
# A swiss roll is a rolled-up strip. Unrolling it means that one coordinate follows the
# length of the strip. Rows of numbers are one block each; ``luminance=1`` makes
# distances Euclidean, and ``data_range`` is about the span of the values.

roll, length = make_swiss_roll(800, random_state=0)
settings = {"n_neighbors": 12, "luminance": 1.0, "data_range": 20}
learners = {
    "sphere (the paper)": llise.LLISE(2, constraint="sphere", **settings),
    "affine": llise.LLISE(2, constraint="affine", **settings),
    "LLE": llise.LLE(2, n_neighbors=12),
}
embedded = {name: learner.fit_transform(roll) for name, learner in learners.items()}

figure = plt.figure(figsize=(8, 7.4), layout="constrained")
panel = figure.add_subplot(2, 2, 1, projection="3d")
panel.scatter(*roll.T, c=length, cmap="viridis", s=4)
panel.set(title="the roll", xticks=[], yticks=[], zticks=[])
panel.view_init(8, -75)
for number, (name, places) in enumerate(embedded.items()):
    panel = figure.add_subplot(2, 2, 2 + number)
    panel.scatter(*places.T, c=length, cmap="viridis", s=6)
    best = max(abs(spearmanr(coordinate, length)[0]) for coordinate in places.T)
    panel.set(
        title=name,
        xlabel=f"rank correlation with the length {best:.2f}",
        xticks=[],
        yticks=[],
    )
plt.show()

# %%
# Why the sphere does not unroll it
# ---------------------------------
# Twelve neighbours in three dimensions can reconstruct a point exactly in infinitely
# many ways, and some of them have norm one. Weights that reconstruct every point
# exactly reconstruct every linear view of the points exactly, too. So such a view
# costs nothing, and it is what comes out: the picture of the sphere above is the roll,
# seen from one side.
#
# LLE's weights are short: a ridge keeps them from growing just to reach what sticks
# out of the surface. They follow the strip and not the space around it. Weights of
# norm one cannot be shortened; affine weights of sum one can. With hardly any ridge,
# they see the roll from one side as well.


def linear_share(places):
    """Share of the variance of each coordinate that is a linear view of the roll."""
    return LinearRegression().fit(roll, places).predict(roll).var(axis=0) / places.var(
        axis=0
    )


print("sphere:", linear_share(embedded["sphere (the paper)"]).round(3))
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for panel, ridge in zip(axes, (1e-4, 1e-3, 1e-2)):
    places = llise.LLISE(2, constraint="affine", ridge=ridge, **settings).fit_transform(
        roll
    )
    panel.scatter(*places.T, c=length, cmap="viridis", s=6)
    best = max(abs(spearmanr(coordinate, length)[0]) for coordinate in places.T)
    panel.set(
        title=f"affine, ridge={ridge:g}",
        xlabel=f"rank correlation with the length {best:.2f}",
        xticks=[],
        yticks=[],
    )
plt.show()

# %%
# On images both constraints work, as blocks of 64 pixels leave less room. Affine
# weights still keep neighbourhoods better.

training = llise.datasets.training_set(llise.datasets.reference()[128:256, 128:256])


def kept(learner):
    """Trustworthiness and continuity of the training images' coordinates."""
    coordinates = learner.fit_transform(training.images)
    rows = training.images.reshape(len(training.images), -1)
    return llise.trustworthiness(rows, coordinates), llise.continuity(rows, coordinates)


for constraint in ("sphere", "affine"):
    trust, continuity = kept(llise.LLISE(constraint=constraint, n_jobs=-1))
    print(f"{constraint:6} trustworthiness {trust:.2f}, continuity {continuity:.2f}")

# %%
# Luminance
# ---------
# Centring removes the mean of each block. A lighter copy then equals the original
# wherever nothing is clipped, and falls onto it in the map. ``luminance`` adds the
# mean as one more coordinate with this weight.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
for panel, luminance in zip(axes, (0.0, 0.5, 1.0)):
    learner = llise.LLISE(constraint="affine", luminance=luminance, n_jobs=-1).fit(
        training.images
    )
    plot.image_map(learner.image_map(), training.labels, ax=panel)
    panel.set_title(
        f"luminance={luminance:g}" + (" (the paper)" if luminance == 0 else "")
    )
plot.kind_legend(figure)
plt.show()

# %%
# k and p
# -------
# ``score`` is the mean of trustworthiness and continuity for images that were not in
# the training, here in five parts. More than four coordinates add directions that new
# images do not follow.

neighbours, components = (5, 10, 20), (2, 4, 8)
folds = KFold(5, shuffle=True, random_state=0)
scores = np.zeros((len(neighbours), len(components)))
for (i, j), _ in np.ndenumerate(scores):
    learner = llise.LLISE(
        components[j],
        n_neighbors=neighbours[i],
        constraint="affine",
        luminance=0.5,
        n_jobs=-1,
    )
    scores[i, j] = cross_val_score(learner, training.images, cv=folds).mean()

figure, panel = plt.subplots(figsize=(5, 3.2), layout="constrained")
panel.imshow(scores, cmap="Blues", aspect="auto")
panel.set_xticks(range(len(components)), components)
panel.set_yticks(range(len(neighbours)), neighbours)
panel.set(xlabel="p, n_components", ylabel="k, n_neighbors")
middle = (scores.min() + scores.max()) / 2
for (i, j), score in np.ndenumerate(scores):
    panel.text(
        j,
        i,
        f"{score:.3f}",
        ha="center",
        va="center",
        color="white" if score > middle else "black",
    )
plt.show()

# %%
# :doc:`/manifold` has these figures for the paper's whole problem.
