"""Make the two copies that the README shows, with faults in regions, and diagnose them.

python examples/faults_in_regions.py FOLDER
cd FOLDER && llise diagnose original.png jpeg_and_blur.png two_regions.png --html report.html
"""

import io
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage
from skimage import data

import llise

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(parents=True, exist_ok=True)
original = np.asarray(Image.fromarray(data.coffee()).convert("L"))

# JPEG of quality 12 everywhere, and a blur of 2.1 pixels over it at the lower left.
stream = io.BytesIO()
Image.fromarray(original).save(stream, "JPEG", quality=12)
jpeg_and_blur = np.array(Image.open(stream))
here = slice(230, 390), slice(20, 240)
jpeg_and_blur[here] = ndimage.gaussian_filter(jpeg_and_blur, 2.1)[here]

# Noise with a deviation of 14 at the upper right, 22 grey levels lighter at the lower left.
two_regions = original.copy()
upper, lower = (slice(20, 140), slice(400, 580)), (slice(250, 380), slice(60, 260))
noise = np.random.default_rng(0).normal(0, 14, original[upper].shape)
two_regions[upper] = np.clip(np.rint(original[upper] + noise), 0, 255)
two_regions[lower] = np.clip(original[lower].astype(int) + 22, 0, 255)

copies = {"jpeg_and_blur": jpeg_and_blur, "two_regions": two_regions}
for name, image in {"original": original, **copies}.items():
    Image.fromarray(image).save(folder / f"{name}.png")
for name, diagnosis in zip(copies, llise.diagnose(original, copies.values())):
    print(name, diagnosis.faults)
