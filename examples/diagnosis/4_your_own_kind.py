"""
Your own kind of distortion
===========================

A kind is a class with a name, a way to make copies at a strength, and a way to find
its settings again. This example adds vignetting: the corners of a picture are darker
than its centre, as with many lenses.
"""

# %%
# The class
# ---------
# :meth:`~llise.kinds.base.Kind.path` gives copies by strength: at 0 the image itself,
# and the error grows from there. :meth:`~llise.kinds.base.Kind.estimate` finds the
# settings that turned one image into another.

import matplotlib.pyplot as plt
import numpy as np

from llise import datasets, diagnose, distortions, plot
from llise.kinds.base import Kind
from llise.kinds.fitting import Fit
from llise.kinds.registry import register, unregister


def from_centre(shape):
    """Squared distance of each pixel from the centre; 1 in the corners."""
    down, across = (np.linspace(-1, 1, side) for side in shape)
    return (down[:, None] ** 2 + across**2) / 2


class Vignetting(Kind):
    """Light lost towards the corners; the strength is the share lost in a corner."""

    name = "vignetting"
    title = short_title = "vignetting"
    strongest = 1.0

    def path(self, image, rng, direction=1):
        return lambda strength: image * (1 - strength * from_centre(image.shape))

    def estimate(self, before, after, mask):
        darkest = (before * from_centre(before.shape))[
            mask
        ]  # what is lost with strength 1
        if not darkest.any():
            return None  # a black picture does not tell
        strength = float(darkest @ (before - after)[mask] / (darkest @ darkest))
        return Fit(
            {"corner": strength},
            lambda image: image * (1 - strength * from_centre(image.shape)),
        )


# %%
# Make copies of a wanted error
# -----------------------------
# Once it is registered, everything that makes copies knows it. The strength for a
# wanted mean squared error is searched.

register(Vignetting())
print("kinds:", *distortions.kinds())

reference = datasets.reference()[40:296, 130:386]
copies = {
    mse: distortions.make(reference, "vignetting", mse=mse)
    for mse in (15, 100, 400, 1600)
}

# %%
# Find the settings again
# -----------------------

everywhere = np.ones(reference.shape, bool)
figure, axes = plt.subplots(2, 2, figsize=(8, 8.4), layout="constrained")
for panel, copy in zip(axes.flat, copies.values()):
    fit = Vignetting().estimate(
        reference.astype(np.float32), copy.image.astype(np.float32), everywhere
    )
    words = f"lost: {copy.strength:.1%}, estimated: {fit.parameters['corner']:.1%}"
    plot.picture(copy.image, f"MSE {copy.measured:.0f}", words, ax=panel)
plt.show()

# %%
# What a diagnosis says
# ---------------------
# The model that comes with the package knows the kinds that it was trained on, and
# this is none of them. So no name of a kind can be right. The explained share shows
# it: even with the best settings of that kind, a part of the error is left.
# :doc:`/add-a-kind` says how a kind becomes a part of the package.

for mse, copy in copies.items():
    diagnosis = diagnose(reference, [copy.image])[0]
    explained = ", ".join(f"{fault.explained:.2f}" for fault in diagnosis.faults)
    verdict, sure = " + ".join(diagnosis.verdict), f"{diagnosis.confidence:.2f}"
    print(f"MSE {mse}: {verdict}, confidence {sure}, explained {explained}")

unregister("vignetting")
