"""Small folders in exactly the layouts of the public image quality databases, with pictures of 64 x 64 pixels."""

from functools import cache

import numpy as np
import scipy.io
from PIL import Image

import llise

STRENGTHS = {1: 40.0, 2: 300.0}
"""Mean squared error of each level."""


@cache
def reference(number):
    top = 40 + 64 * number
    return np.ascontiguousarray(llise.datasets.reference()[top : top + 64, 180:244])


@cache
def copy(number, kind, level):
    """A copy with a kind of ours, or the ``original``."""
    image = reference(number)
    if kind == "original":
        return image
    if kind == "pixelation":
        small = image.reshape(16, 4, 16, 4).mean(axis=(1, 3)) if level > 1 else image.reshape(32, 2, 32, 2).mean((1, 3))
        return np.kron(small, np.ones((4, 4) if level > 1 else (2, 2))).astype(np.uint8)
    return llise.distortions.apply(image, kind, STRENGTHS[level], random_state=0, warn=False)


def save(image, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.stack([image] * 3, axis=-1)).save(path)


def tid2013(folder):
    """Two references, four types, two levels; upper and lower case differ as they do in the archives."""
    lines = []
    for number in (1, 2):
        save(reference(number), folder / "reference_images" / (f"I{number:02}.BMP" if number == 1 else "i02.bmp"))
        for key, kind in (("01", "gaussian_noise"), ("08", "blur"), ("10", "jpeg"), ("12", "pixelation")):
            for level in STRENGTHS:
                name = f"i{number:02}_{key}_{level}.bmp"
                save(copy(number, kind, level), folder / "distorted_images" / (name if number == 1 else name.upper()))
                lines.append(f"{6.5 - 2 * level + 0.01 * number:.5f} I{number:02}_{key}_{level}.bmp")
    (folder / "mos_with_names.txt").write_bytes("\r\n".join(lines).encode() + b"\r\n")
    (folder / "mos_std.txt").write_text("0.1\n" * len(lines))
    return folder


def kadid10k(folder):
    """One reference, three types, two levels."""
    save(reference(1), folder / "images" / "I01.png")
    lines = ["dist_img,ref_img,dmos,var"]
    for key, kind in (("01", "blur"), ("11", "gaussian_noise"), ("19", "pixelation")):
        for level in STRENGTHS:
            save(copy(1, kind, level), folder / "images" / f"I01_{key}_{level:02}.png")
            lines.append(f"I01_{key}_{level:02}.png,I01.png,{5 - level},0.4")
    (folder / "dmos.csv").write_text("\n".join(lines) + "\n")
    return folder


CSIQ_FILES = {"awgn": "AWGN", "jpeg": "JPEG", "jpeg2000": "jpeg2000", "fnoise": "fnoise", "blur": "BLUR",
              "contrast": "contrast"}  # fmt: skip
CSIQ_SHEET = {"awgn": "noise", "jpeg2000": "jpeg 2000"}
CSIQ_KINDS = {"awgn": "gaussian_noise", "jpeg": "jpeg", "jpeg2000": "jpeg2000", "fnoise": "gaussian_noise",
              "blur": "blur", "contrast": "contrast"}  # fmt: skip


def csiq(folder, form="xlsx"):
    """One reference whose name is a number, all six types, two levels; the scores as the sheet or exported."""
    save(reference(1), folder / "src_imgs" / "1600.png")
    rows = [[], ["", "", "", "CSIQ"], [], ["", "", "", "image", "dst_idx", "dst_type", "dst_lev", "dmos_std", "dmos"]]
    for index, (key, name) in enumerate(CSIQ_FILES.items(), 1):
        for level in STRENGTHS:
            save(copy(1, CSIQ_KINDS[key], level), folder / "dst_imgs" / key / f"1600.{name}.{level}.png")
            rows.append(["", "", "", 1600, index, CSIQ_SHEET.get(key, key), level, 0.05, 0.3 * level + 0.01 * index])
    if form == "xlsx":
        import pandas

        wide = [row + [""] * (9 - len(row)) for row in rows]
        sheet = folder / "csiq.DMOS.xlsx"
        pandas.DataFrame(wide).to_excel(sheet, sheet_name="all_by_image", header=False, index=False)
    else:
        (folder / "csiq.DMOS.csv").write_text("\n".join(form.join(map(str, row)) for row in rows))
    return folder


LIVE_COUNTS = {"jp2k": 227, "jpeg": 233, "wn": 174, "gblur": 174, "fastfading": 174}
LIVE_KINDS = {"jp2k": "jpeg2000", "jpeg": "jpeg", "wn": "gaussian_noise", "gblur": "blur", "fastfading": "pixelation"}


def live(folder, realigned=True):
    """All 982 scores; each folder has three images of the reference aaa.bmp, which is the first by name."""
    save(reference(1), folder / "refimgs" / "aaa.bmp")
    names, scores, unchanged = [], [], []
    for kind, count in LIVE_COUNTS.items():
        for number in range(1, count + 1):
            names.append("aaa.bmp" if number <= 3 else "other.bmp")
            unchanged.append(number == 3)
            scores.append(0.0 if number == 3 else 20.0 * number + len(kind))
        for level in STRENGTHS:
            save(copy(1, LIVE_KINDS[kind], level), folder / kind / f"img{level}.bmp")
        save(reference(1), folder / kind / "img3.bmp")
        (folder / kind / "info.txt").write_text("aaa.bmp img1.bmp 0.8\naaa.bmp img2.bmp 0.3\naaa.bmp img3.bmp 0\n")
    flags = np.array([unchanged], dtype=np.uint8)
    scipy.io.savemat(folder / "dmos.mat", {"dmos": np.array([scores]) / 2, "orgs": flags})
    if realigned:
        deviation = np.ones((1, len(scores)))
        variables = {"dmos_new": np.array([scores]), "dmos_std": deviation, "orgs": flags}
        scipy.io.savemat(folder / "dmos_realigned.mat", variables)
    scipy.io.savemat(folder / "refnames_all.mat", {"refnames_all": np.array([names], dtype=object)})
    return folder
