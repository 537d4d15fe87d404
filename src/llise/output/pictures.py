"""Pictures for the report: compressed for display, the difference, and patches at full resolution."""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np

from llise.diagnosis.result import Diagnosis
from llise.differences import BLOCK

DISPLAY_SIDE = 1024
"""Longest side of a displayed picture in pixels."""

DISPLAY_BYTES_PER_PIXEL = 0.42
"""Largest size of a displayed picture."""

LOWEST_QUALITY = 20
"""WebP quality below which a picture is made smaller instead."""

LEAST_BYTES_PER_PIXEL = 0.15
"""A picture with fewer bytes for each pixel is made smaller instead."""

DIFFERENCE_SIDE = 512
"""Longest side of the picture of the difference."""

DIFFERENCE_BYTES_PER_PIXEL = 0.2
"""Largest size of the picture of the difference, which is often noise."""

PATCH_SIDE = 192
"""Side of a patch at full resolution."""

MAX_PATCHES = 4
"""Patches of one image."""


def picture_uri(image: np.ndarray, longest: int = DISPLAY_SIDE, quality: int = 88, most_bytes: float = math.inf) -> str:
    """Compress a picture for display."""
    from PIL import Image

    picture = Image.fromarray(image)
    affordable = math.sqrt(most_bytes / LEAST_BYTES_PER_PIXEL * max(image.shape[:2]) / min(image.shape[:2]))
    first_side = max(64, round(min(longest, affordable)))
    picture.thumbnail((first_side, first_side), Image.Resampling.BOX)
    while True:
        budget = min(max(4096, DISPLAY_BYTES_PER_PIXEL * picture.width * picture.height), most_bytes)
        content = _webp(picture, quality, budget)
        side = max(picture.size)
        # Noise compresses badly: the budget of a report of very many images needs smaller pictures.
        if len(content) <= most_bytes or side <= 64:
            return "data:image/webp;base64," + base64.b64encode(content).decode("ascii")
        smaller = max(64, round(0.75 * side))
        picture.thumbnail((smaller, smaller), Image.Resampling.BOX)


def _webp(picture: Any, quality: int, budget: float) -> bytes:
    """Encode with the highest quality that is within the budget, or the lowest."""
    while True:
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", quality=quality, method=3)
        if buffer.tell() <= budget or quality <= LOWEST_QUALITY:
            return buffer.getvalue()
        quality -= 12


def difference_picture(reference: np.ndarray, copy: np.ndarray) -> tuple[np.ndarray, int]:
    """Show how much lighter or darker a copy is."""
    difference = np.subtract(copy, reference, dtype=np.int16)
    largest = max(8, int(np.quantile(np.abs(difference), 0.998, method="higher")))
    shown = 128 + np.clip(difference, -largest, largest) * (127.5 / largest)
    return np.clip(np.rint(shown), 0, 255).astype(np.uint8), largest


def patch_boxes(diagnosis: Diagnosis) -> list[tuple[int, tuple[int, int, int, int]]]:
    """Choose the parts of a large picture that are shown at full resolution: around the worst block of each fault."""
    height, width = diagnosis.image.shape[:2]
    if max(height, width) <= DISPLAY_SIDE:
        return []
    patch_width, patch_height = min(PATCH_SIDE, width), min(PATCH_SIDE, height)
    boxes: list[tuple[int, tuple[int, int, int, int]]] = []
    uncovered = np.ones(diagnosis.block_severity.shape, bool)
    for number, fault in enumerate(diagnosis.faults):
        severity = np.where(fault.region & uncovered, diagnosis.block_severity, -1.0)
        row, col = np.unravel_index(np.argmax(severity), severity.shape)
        if severity[row, col] < 0:  # the patches of other faults show all of it
            continue
        x = int(np.clip(BLOCK * col + BLOCK // 2 - patch_width // 2, 0, width - patch_width))
        y = int(np.clip(BLOCK * row + BLOCK // 2 - patch_height // 2, 0, height - patch_height))
        boxes.append((number, (x, y, patch_width, patch_height)))
        uncovered[y // BLOCK : (y + patch_height) // BLOCK, x // BLOCK : (x + patch_width) // BLOCK] = False
        if len(boxes) == MAX_PATCHES:
            break
    return boxes
