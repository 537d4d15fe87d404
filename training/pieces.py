"""Pieces of pictures that serve as references: cut, scaled, turned, recoloured, some of them coded as JPEG before."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from training.fields import log_uniform

JPEG_SHARE = 0.2  # of the references; people often compare with a JPEG file
GREY_SHARE = 1 / 3
_FILTERS = Image.Resampling.LANCZOS, Image.Resampling.BICUBIC, Image.Resampling.BOX


def draw_piece(picture: np.ndarray, side: int, rng: np.random.Generator, grey: bool) -> np.ndarray:
    """Draw a piece (side, side, 3), or (side, side) if grey, of a picture; smaller where the picture is smaller."""
    height, width = picture.shape[:2]
    coded = rng.random() < JPEG_SHARE
    rows, cols = (min(side + 8 * coded, n) for n in (height, width))
    most = min(height / rows, width / cols, 3.0)
    zoom = log_uniform(rng, 1, most) if most > 1 and rng.random() < 0.6 else 1.0
    tall, wide = int(rows * zoom), int(cols * zoom)
    top, left = int(rng.integers(height - tall + 1)), int(rng.integers(width - wide + 1))
    page = Image.fromarray(picture[top : top + tall, left : left + wide])
    page = page.convert("L") if grey else page
    if zoom > 1:
        page = page.resize((cols, rows), _FILTERS[int(rng.integers(3))])
    if coded:
        page = _coded(page, side, rng)
    piece = np.asarray(page)[: side // 8 * 8, : side // 8 * 8]
    piece = piece[: piece.shape[0] // 8 * 8, : piece.shape[1] // 8 * 8]
    if rng.random() < 0.35:
        piece = _exposed(piece, rng)
    if not grey and rng.random() < 0.1:
        piece = piece[..., rng.permutation(3)]
    piece = np.rot90(piece, int(rng.integers(4)))
    return np.ascontiguousarray(piece[:, ::-1] if rng.random() < 0.5 else piece)


def _coded(page: Image.Image, side: int, rng: np.random.Generator) -> Image.Image:
    """Code as JPEG and cut, so that the file's blocks lie anywhere."""
    stream = io.BytesIO()
    options = {"subsampling": int(rng.choice([0, 1, 2, 2]))} if page.mode == "RGB" else {}
    page.save(stream, "JPEG", quality=int(rng.integers(60, 98)), **options)
    top, left = (int(rng.integers(max(n - side, 0) + 1)) for n in page.size[::-1])
    return Image.open(stream).crop((left, top, min(left + side, page.width), min(top + side, page.height)))


def _exposed(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another gamma, sometimes a darker or paler picture, as at night or in haze, or another white."""
    table = (np.arange(256) / 255) ** np.exp(rng.uniform(-0.6, 0.6))
    if rng.random() < 0.35:
        share = rng.uniform(0.25, 0.8)
        table = share * table + (1 - share) * rng.choice([0.0, 0.05, rng.random()])
    if piece.ndim == 2 or rng.random() < 0.7:
        return (255 * table + 0.5).astype(np.uint8)[piece]
    gains = rng.uniform(0.75, 1, 3)
    tables = (255 * table[:, None] * gains + 0.5).astype(np.uint8)
    return np.stack([tables[:, c].take(piece[..., c]) for c in range(3)], -1)
