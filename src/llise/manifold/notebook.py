"""What a fitted learner shows in a notebook, below scikit-learn's diagram: what was learned, and a small map."""

from __future__ import annotations

from typing import Any

import numpy as np

WIDTH, HEIGHT, MARGIN = 340, 210, 8
MOST_POINTS = 2000


class InNotebooks:
    """Mixin of a learner that adds to scikit-learn's diagram what was learned; it comes first among the bases."""

    def _repr_html_inner(self):
        return notebook_html(self, super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = notebook_html(self, bundle["text/html"])
        return bundle


def notebook_html(learner: Any, diagram: str) -> str:
    """The diagram of a learner, and a summary of it once it is fitted."""
    if not hasattr(learner, "embedding_"):
        return diagram
    return f"<div>{diagram}<p style='margin:.4em 0'>{summary(learner)}</p>{small_map(learner.image_map())}</div>"


def summary(learner: Any) -> str:
    """What a fitted learner has learned, in one line."""
    b, n, p = learner.embedding_.shape
    shape = learner.image_shape_
    kind = f"rows of {learner.n_features_in_}" if shape is None else f"images of {' x '.join(map(str, shape))}"
    what = "one manifold of whole images" if b == 1 else f"{b} manifolds, one at each block position"
    text = f"{n} {kind}: {what}, {p} coordinates{'' if b == 1 else ' each'}"
    if hasattr(learner, "stationarity_"):
        text += (
            f"; stationarity {learner.stationarity_:.1g}, constraints kept within {learner.constraint_violation_:.1g}"
        )
    return text + "."


def small_map(places: np.ndarray) -> str:
    """A map as a drawing."""
    plane = np.zeros((len(places), 2))
    plane[:, : places.shape[1]] = places
    plane = plane[np.linspace(0, len(plane) - 1, min(len(plane), MOST_POINTS)).round().astype(int)]
    low, span = plane.min(axis=0), np.ptp(plane, axis=0)
    unit = (plane - low) / np.where(span > 0, span, 1)
    x, y = MARGIN + unit[:, 0] * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - unit[:, 1] * (HEIGHT - 2 * MARGIN)
    marks = "".join(f"<circle cx='{a:.1f}' cy='{b:.1f}' r='2.2'/>" for a, b in zip(x, y))
    return (
        f"<svg width='{WIDTH}' height='{HEIGHT}' role='img' aria-label='Map of {len(places)} images' "
        f"style='border:1px solid #9aa5b1;border-radius:6px' fill='#0072b2' fill-opacity='.6'>{marks}</svg>"
    )
