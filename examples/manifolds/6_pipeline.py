"""
An estimator in a pipeline, with a grid search
==============================================

The learners follow scikit-learn's conventions, so that they can be steps of a pipeline
and be searched for their best parameters. Here: handwritten digits by LLISE and a
nearest-neighbour classifier, against the classifier alone.
"""

# %%
# The pipeline
# ------------
# Digits are rows of 64 numbers; ``image_shape`` would cut them into blocks, without it
# a row is one block. Only few digits are labelled: the embedding is learned from the
# training digits, and the classifier sees its coordinates.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from llise import LLISE

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=500, stratify=y, random_state=0
)

pipeline = Pipeline([
    ("embed", LLISE(constraint="affine", luminance=0.5, data_range=16)),
    ("classify", KNeighborsClassifier(3)),
])  # fmt: skip

# %%
# The search
# ----------
# Every combination, by three-fold cross-validation.

search = GridSearchCV(
    pipeline,
    {"embed__n_neighbors": [5, 10, 20], "embed__n_components": [2, 4, 8, 12]},
    cv=3,
)
search.fit(X_train, y_train)
print("best:", search.best_params_)

scores = search.cv_results_["mean_test_score"].reshape(4, 3).T
figure, panel = plt.subplots(figsize=(6, 3.4), layout="constrained")
for row, k in zip(scores, (5, 10, 20)):
    panel.plot((2, 4, 8, 12), row, "o-", label=f"k = {k}")
panel.set(
    xlabel="n_components",
    ylabel="share of digits right, cross-validated",
    xticks=(2, 4, 8, 12),
)
panel.legend()
plt.show()

# %%
# What it is worth
# ----------------
# Twelve numbers do nearly as well as 64: most of what tells digits apart is kept.

alone = KNeighborsClassifier(3).fit(X_train, y_train)
components = search.best_params_["embed__n_components"]
right = search.score(X_test, y_test)
print(
    f"{components} coordinates by LLISE: {right:.1%} of {len(y_test)} new digits right"
)
print(f"64 grey values:            {alone.score(X_test, y_test):.1%}")

# %%
# The digits that are confused
# ----------------------------

predicted = search.predict(X_test)
wrong = np.flatnonzero(predicted != y_test)[:12]
figure, axes = plt.subplots(2, 6, figsize=(8, 3.2), layout="constrained")
for panel, i in zip(axes.flat, wrong):
    panel.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    panel.set(xticks=[], yticks=[], title=f"{y_test[i]} as {predicted[i]}")
plt.show()
