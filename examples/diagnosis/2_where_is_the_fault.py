"""
Where is the fault?
===================

A copy can have several faults in several places, and one on top of another. This
example makes the two copies that the README shows, and draws what a diagnosis says of
each block.
"""

# %%
# Two copies with faults in regions
# ---------------------------------
# The first is a JPEG of quality 12 everywhere, with a blur of 2.1 pixels over it at
# the lower left. The second has noise with a standard deviation of 14 at the upper
# right, and is 22 grey levels lighter at the lower left.

import io

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from PIL import Image
from scipy import ndimage
from skimage import data

import llise
from llise import plot

original = np.asarray(Image.fromarray(data.coffee()).convert("L"))

stream = io.BytesIO()
Image.fromarray(original).save(stream, "JPEG", quality=12)
jpeg_and_blur = np.array(Image.open(stream))
blurred = slice(230, 390), slice(20, 240)
jpeg_and_blur[blurred] = ndimage.gaussian_filter(jpeg_and_blur, 2.1)[blurred]

two_regions = original.copy()
upper, lower = (slice(20, 140), slice(400, 580)), (slice(250, 380), slice(60, 260))
noise = np.random.default_rng(0).normal(0, 14, original[upper].shape)
two_regions[upper] = np.clip(np.rint(original[upper] + noise), 0, 255)
two_regions[lower] = np.clip(original[lower].astype(int) + 22, 0, 255)

# %%
# The faults
# ----------
# The worst one comes first. ``box`` is top, left, bottom and right in pixels;
# ``region`` has the blocks of 8 x 8 pixels over which the fault extends, whatever its
# shape.

copies = {"JPEG and blur": jpeg_and_blur, "two regions": two_regions}
diagnoses = llise.diagnose(original, copies.values())
for name, diagnosis in zip(copies, diagnoses):
    print(name)
    for fault in diagnosis.faults:
        kinds, share = " + ".join(fault.kinds), f"{fault.area:.0%} of the picture"
        print(f"  {kinds}: box {fault.box}, {share}, sure {fault.confidence:.0%}")

# %%
# A map of the blocks
# -------------------
# Colours are the kinds, and what equals the original stays clear. The dashed frames
# are where the faults really are.

places = {"JPEG and blur": [blurred], "two regions": [upper, lower]}
figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for row, (name, diagnosis) in zip(axes, zip(copies, diagnoses)):
    row[0].imshow(copies[name], cmap="gray", vmin=0, vmax=255)
    row[0].set_axis_off()
    row[0].set_title(name)
    plot.block_map(diagnosis, ax=row[1])
    for down, across in places[name]:
        corner, size = (
            (across.start, down.start),
            (across.stop - across.start, down.stop - down.start),
        )
        row[1].add_patch(
            Rectangle(
                corner,
                *size,
                fill=False,
                edgecolor="white",
                linestyle="--",
                linewidth=1.5,
            )
        )
plt.show()

# %%
# A block that equals the original is never called anything else: outside the frames of
# the second copy every block is ``original``.

inside = np.zeros(original.shape, bool)
inside[upper] = inside[lower] = True
rows, cols = diagnoses[1].block_grid
blocks = (
    np.add.reduceat(
        np.add.reduceat(inside, np.arange(rows) * 8, axis=0),
        np.arange(cols) * 8,
        axis=1,
    )
    > 0
)
print(
    "labels outside:",
    sorted({llise.LABELS[code] for code in diagnoses[1].block_labels[~blocks]}),
)

# %%
# As files and a report, from the command line:
#
# .. code-block:: text
#
#    llise diagnose original.png jpeg_and_blur.png two_regions.png --html report.html
