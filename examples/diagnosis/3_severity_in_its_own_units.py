"""
Severity in its own units
=========================

"PSNR 31 dB" tells nobody what to turn. A diagnosis gives the strength of each fault in
the units in which it was made: the quality of a JPEG, the sigma of a blur, grey
levels. How near is it, and do the intervals hold?
"""

# %%
# Copies of growing strength
# --------------------------
# Each kind is made at strengths that are known, by Pillow, SciPy and NumPy.

import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from scipy import ndimage
from skimage import data

import llise

reference = np.asarray(
    Image.fromarray(data.astronaut()).convert("L").crop((40, 0, 424, 384))
)
rng = np.random.default_rng(0)


def jpeg(quality):
    stream = io.BytesIO()
    Image.fromarray(reference).save(stream, "JPEG", quality=int(quality))
    return np.asarray(Image.open(stream))


def as_bytes(image):
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def blur(sigma):
    return as_bytes(ndimage.gaussian_filter(reference.astype(float), sigma))


def noise(sigma):
    return as_bytes(reference + rng.normal(0, sigma, reference.shape))


def lighter(offset):
    return as_bytes(reference + offset)


def stretched(gain):
    return as_bytes(reference.mean() + gain * (reference - reference.mean()))


experiments = {
    ("jpeg", "quality"): (jpeg, np.arange(10, 96, 10)),
    ("blur", "sigma"): (blur, np.arange(0.6, 4, 0.4)),
    ("gaussian_noise", "sigma"): (noise, np.arange(3, 31, 3)),
    ("luminance", "offset"): (lighter, np.array([-24, -18, -12, -6, 6, 12, 18, 24])),
    ("contrast", "gain"): (
        stretched,
        np.array([0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.4]),
    ),
}

# %%
# What is said of them
# --------------------
# All copies are judged in one call. Estimates come as value, low and high: the true
# value lies between the bounds with a probability of 90 %.

diagnoser = llise.Diagnoser(reference)
results = {}
for (kind, setting), (make, strengths) in experiments.items():
    rows = []
    for strength, diagnosis in zip(
        strengths, diagnoser.diagnose(make(strength) for strength in strengths)
    ):
        named = [fault for fault in diagnosis.faults if fault.kinds == (kind,)]
        if len(named) == 1 == len(diagnosis.faults) and setting in named[
            0
        ].estimate.get(kind, {}):
            rows.append((strength, *named[0].estimate[kind][setting], diagnosis.psnr))
    results[kind, setting] = np.array(rows)
    print(f"{kind}: {len(rows)} of {len(strengths)} copies named and estimated")

# %%
# Estimates against the truth
# ---------------------------
# On the line, the estimate is the truth; bars are the intervals.

figure, axes = plt.subplots(2, 3, figsize=(8.5, 5.6), layout="constrained")
for panel, ((kind, setting), rows) in zip(axes.flat, results.items()):
    truth, value, low, high, _ = rows.T
    ends = [truth.min(), truth.max()]
    panel.plot(ends, ends, color="0.7", linewidth=1)
    panel.errorbar(
        truth,
        value,
        [value - low, high - value],
        fmt="o",
        markersize=4,
        linewidth=1.2,
        color="#0072B2",
    )
    panel.set_title(kind)
    panel.set_xlabel(f"{setting}: true")
for panel in axes[:, 0]:
    panel.set_ylabel("estimated")
axes[1, 2].set_axis_off()
plt.show()

# %%
# Why PSNR is not enough
# ----------------------
# Copies of about the same PSNR have nothing in common but that number.

for (kind, setting), rows in results.items():
    nearest = rows[np.abs(rows[:, 4] - 30).argmin()]
    print(f"PSNR {nearest[4]:.1f} dB: {kind} with {setting} {nearest[1]:.3g}")
