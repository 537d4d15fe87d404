"""
Your own kind of distortion
===========================

A fault that only your pictures have is taught by a function that makes it. This example
teaches vignetting: the corners of a picture are darker than its centre, as with many
lenses.
"""

# %%
# The function
# ------------
# It gets an image, a strength from 0 to 1 and a generator of random numbers, and
# returns a copy. :doc:`/custom-kinds` teaches by examples instead.

import matplotlib.pyplot as plt
import numpy as np

from llise import datasets, diagnose, distortions, kinds, plot


def vignetting(image, strength, rng):
    down, across = (np.linspace(-1, 1, side) for side in image.shape)
    from_centre = (down[:, None] ** 2 + across**2) / 2  # 1 in the corners
    return image * (1 - strength * from_centre)


kinds.register("vignetting", vignetting)

# %%
# Copies of a wanted error
# ------------------------
# Once it is registered, everything that makes copies knows it. The strength for a
# wanted mean squared error is searched.

reference = datasets.reference()[40:296, 130:386]
copies = [distortions.make(reference, "vignetting", mse=mse) for mse in (60, 400, 1600)]

# %%
# What a diagnosis says
# ---------------------
# The kind is learned from copies of pictures that come with the dependencies, then
# named beside the built-in ones. Its setting is the strength.

diagnoses = diagnose(reference, [copy.image for copy in copies])
figure, axes = plt.subplots(1, 3, figsize=(9, 3.8), layout="constrained")
for panel, copy, diagnosis in zip(axes, copies, diagnoses):
    verdict = " + ".join(diagnosis.verdict)
    words = f"made with {copy.strength:.2f}"
    for fault in diagnosis.faults:
        for setting in fault.estimate.get("vignetting", {}).values():
            words += f", found {setting.value:.2f}"
    plot.picture(copy.image, f"MSE {copy.measured:.0f}: {verdict}", words, ax=panel)
plt.show()

kinds.unregister("vignetting")
