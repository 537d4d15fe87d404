"""
First diagnosis
===============

Four copies of a photograph went through four programs. What did each of them do?
"""

# %%
# The reference and its copies
# ----------------------------
# Copies are usually read from files with :func:`llise.read_image`. Here they are made
# from a photograph that comes with scikit-image, by other libraries than llise itself.

import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageFilter
from skimage import data

import llise
from llise import plot

photograph = Image.fromarray(data.coffee()).convert("L").crop((100, 0, 500, 400))
reference = np.asarray(photograph)

stream = io.BytesIO()
photograph.save(stream, "JPEG", quality=15)
noise = np.random.default_rng(0).normal(0, 12, reference.shape)
copies = {
    "sent by mail": np.asarray(Image.open(stream)),
    "scanned": np.clip(reference + noise, 0, 255).astype(np.uint8),
    "out of focus": np.asarray(photograph.filter(ImageFilter.GaussianBlur(2))),
    "wrong levels": np.asarray(photograph.point(lambda grey: 16 + grey * 219 / 255)),
}

# %%
# One call
# --------
# Nothing is learned of the reference: the answer comes at once. A diagnosis prints as
# one line.

diagnoses = llise.diagnose(reference, copies.values())
for name, diagnosis in zip(copies, diagnoses):
    print(f"{name:13} {diagnosis}")

# %%
# What it tells
# -------------
# Each fault has its kinds and its settings with a 90 % interval. The settings are
# those that were used above: quality 15, a standard deviation of 12, a sigma of 2; and
# a gain of 219/255 = 0.859, which is what happens when full range is written as video
# levels.

figure, axes = plt.subplots(2, 2, figsize=(8, 8.6), layout="constrained")
for panel, name, diagnosis in zip(axes.flat, copies, diagnoses):
    words = []
    for fault in diagnosis.faults:
        for kind, settings in fault.estimate.items():
            for setting, (value, low, high) in settings.items():
                words.append(f"{kind}: {setting} {value:.3g} ({low:.3g} to {high:.3g})")
    plot.picture(diagnosis.image, name, "\n".join(words), ax=panel)
plt.show()

# %%
# The same from the command line, with a report to open in a browser:
#
# .. code-block:: text
#
#    llise diagnose original.png copies/ --html report.html
