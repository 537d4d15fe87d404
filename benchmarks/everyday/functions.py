# ruff: noqa: E501 (the tables have one program a line)
"""Programs that are functions of Python: llise's own distortions in RGB, OpenCV and kornia."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from PIL import Image

from everyday.damage import Label, Program, Settings, function
from llise import distortions

Damage = Callable[[np.ndarray, SimpleNamespace], np.ndarray]
Range = tuple[tuple[float, float], ...]
ERRORS: Range = ((30, 700),)
"""Wanted mean squared errors of llise's own distortions."""

ON_PLANES = ("contrast", "gaussian_noise", "luminance", "impulse_noise", "speckle_noise", "quantization")
ON_SHADES = ("blur", "sharpening", "pixelation")
IN_COLOUR = ("saturation", "color_cast", "chroma_noise", "chroma_blur")
NONE: Settings = lambda p: {}
FIXED: Range = ((1.0, 1.1),)
BOTH: Range = ((0.4, 0.8), (1.25, 2.2))
UP_DOWN: Range = ((-60, -8), (8, 60))


def _program(tool: str, name: str, kind: str, damage: Damage, ranges: Range, settings: Settings = NONE, expected: tuple[Label, ...] = (), **more: object) -> Program:  # fmt: skip
    labels = expected or ((kind,),)
    return Program(f"{tool} {name}", tool, (kind,), function(damage), ranges, settings, labels, **more)  # type: ignore[arg-type]


def own() -> list[Program]:
    """llise's own distortions, as ``llise distort`` makes them, on RGB."""

    def planes(kind: str) -> Damage:
        """All channels as one grey picture: one gain, one offset, noise of its own in each."""

        def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
            stacked = np.ascontiguousarray(image.transpose(2, 0, 1).reshape(-1, image.shape[1]))
            copy = distortions.make(stacked, kind, mse=p.v, random_state=p.seed)
            p.strength = float(copy.strength)
            return copy.image.reshape(3, *image.shape[:2]).transpose(1, 2, 0)

        return damage

    def shades(kind: str) -> Damage:
        """Each channel alone, with the error of the luma's."""

        def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
            make = lambda plane: distortions.make(np.ascontiguousarray(plane), kind, mse=p.v, random_state=p.seed)
            from llise.kinds import registry

            strength = make(np.asarray(Image.fromarray(image).convert("L"))).strength
            p.strength = float(strength)
            if kind == "pixelation" and strength < 0.5:
                raise RuntimeError("cells of less than 1.5 pixels, which leave most pixels as they are")
            rng = np.random.default_rng(p.seed)
            paths = [registry.get(kind).path(np.ascontiguousarray(image[..., c]), rng) for c in range(3)]
            return np.stack([path(strength) for path in paths], axis=2)

        return damage

    def colour(kind: str) -> Damage:
        def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
            return distortions.make(image, kind, mse=p.v, random_state=p.seed).image

        return damage

    def coded(format_: str, **fixed: object) -> Damage:
        def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
            buffer = io.BytesIO()
            options = {"quality": p.n} if format_ == "JPEG" else {"quality_mode": "rates", "quality_layers": [p.v]}
            Image.fromarray(image).save(buffer, format_, **options, **fixed)
            with Image.open(buffer) as opened:
                return np.asarray(opened.convert("RGB"))

        return damage

    units: dict[str, Settings] = {
        "gaussian_noise": lambda p: {"sigma": p.strength}, "luminance": lambda p: {"offset": p.strength},
        "contrast": lambda p: {"gain": p.strength}, "blur": lambda p: {"sigma": p.strength},
        "impulse_noise": lambda p: {"share": p.strength}, "pixelation": lambda p: {"cell": 1 + p.strength},
    }  # fmt: skip
    quality: Settings = lambda p: {"quality": p.n}
    makers = ((ON_PLANES, planes), (ON_SHADES, shades), (IN_COLOUR, colour))
    found = [
        _program("llise", kind, kind, make(kind), ERRORS, units.get(kind, NONE))
        for kinds, make in makers
        for kind in kinds
    ]
    found += [_program("llise", f"jpeg {s}", "jpeg", coded("JPEG", subsampling=s), ((5, 80),), quality) for s in (0, 2)]
    found.append(
        _program("llise", "jpeg2000", "jpeg2000", coded("JPEG2000"), ((15, 150),), lambda p: {"rate": 24 / p.v})
    )
    return found


def opencv() -> list[Program]:
    """Programs of OpenCV, as its tutorials write them."""
    import cv2

    cv2.setNumThreads(1)
    rng = lambda p: np.random.default_rng(p.seed)

    def jpeg(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
        done = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, p.n])[1]
        return cv2.imdecode(done, cv2.IMREAD_COLOR)[..., ::-1]

    def salt_and_pepper(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
        hit = rng(p).random(image.shape[:2])
        return np.where(hit[..., None] < p.v / 2, 0, np.where(hit[..., None] > 1 - p.v / 2, 255, image))

    def sharpen(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
        return cv2.addWeighted(image, 1 + p.v, cv2.GaussianBlur(image, (0, 0), p.u), -p.v, 0)

    def pixelate(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
        small = cv2.resize(image, (p.dw, p.dh), interpolation=cv2.INTER_LINEAR)
        return cv2.resize(small, (p.w, p.h), interpolation=cv2.INTER_NEAREST)

    def hsv(channel: int, change: Callable[[np.ndarray, SimpleNamespace], np.ndarray]) -> Damage:
        def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
            planes = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
            planes[..., channel] = change(planes[..., channel].astype(float), p)
            return cv2.cvtColor(planes, cv2.COLOR_HSV2RGB)

        return damage

    def in_ycrcb(change: Callable[[np.ndarray, SimpleNamespace], np.ndarray]) -> Damage:
        def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
            planes = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)
            planes[..., 1:] = np.clip(np.rint(change(planes[..., 1:].astype(np.float32), p)), 0, 255)
            return cv2.cvtColor(planes, cv2.COLOR_YCrCb2RGB)

        return damage

    def warp(image: np.ndarray, p: SimpleNamespace, matrix: np.ndarray) -> np.ndarray:
        flags = {"flags": cv2.INTER_CUBIC, "borderMode": cv2.BORDER_REPLICATE}
        return cv2.warpAffine(image, matrix, (p.w, p.h), **flags)

    def text(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
        place = (p.w // 9, int(p.h * (0.2 + 0.6 * (p.seed % 97) / 97)))
        return cv2.putText(
            image.copy(), "Sample 24", place, cv2.FONT_HERSHEY_SIMPLEX, p.v, (220, 30, 60), 3, cv2.LINE_AA
        )

    matrix = (("color_matrix",), ("unknown",))
    turn = lambda x, p, v: warp(x, p, cv2.getRotationMatrix2D(((p.w - 1) / 2, (p.h - 1) / 2), v, 1))
    rows: list[tuple[str, str, Damage, Range, Settings]] = [
        ("GaussianBlur", "blur", lambda x, p: cv2.GaussianBlur(x, (0, 0), p.v), ((0.7, 5),), lambda p: {"sigma": p.v}),
        ("blur", "blur", lambda x, p: cv2.blur(x, (p.odd, p.odd)), ((1, 4),), NONE),
        ("imencode", "jpeg", jpeg, ((5, 80),), lambda p: {"quality": p.n}),
        ("convertScaleAbs", "contrast", lambda x, p: cv2.convertScaleAbs(x, alpha=p.v, beta=127.5 * (1 - p.v)), ((0.45, 0.85), (1.15, 1.9)),
         lambda p: {"gain": p.v, "pivot": 127.5}),
        ("add", "luminance", lambda x, p: cv2.add(x, (p.n, p.n, p.n, 0)), UP_DOWN, lambda p: {"offset": p.n}),
        ("randn", "gaussian_noise", lambda x, p: x + rng(p).normal(0, p.v, x.shape), ((4, 30),), lambda p: {"sigma": p.v}),
        ("salt and pepper", "impulse_noise", salt_and_pepper, ((0.005, 0.1),), lambda p: {"share": p.v, "salt": 0.5}),
        ("speckle", "speckle_noise", lambda x, p: x * (1 + rng(p).normal(0, p.v, x.shape)), ((0.06, 0.35),), NONE),
        ("addWeighted", "sharpening", sharpen, ((0.6, 3),), lambda p: {"amount": p.v, "radius": p.u}),
        ("resize", "pixelation", pixelate, ((2, 12),), lambda p: {"cell": p.w / p.dw}),
        ("LUT", "quantization", lambda x, p: x // p.n * p.n + p.n // 2, ((14, 70),), lambda p: {"levels": -(-256 // p.n)}),
        ("S of HSV", "saturation", hsv(1, lambda s, p: np.clip(s * p.v, 0, 255)), ((0.05, 0.7), (1.4, 2.6)), NONE),
        ("multiply", "color_cast", lambda x, p: x * np.array([p.v, 1, 1 / p.v]), ((0.7, 0.87), (1.15, 1.5)),
         lambda p: {"red_gain": p.v, "green_gain": 1, "blue_gain": 1 / p.v}),
        ("noise of CrCb", "chroma_noise", in_ycrcb(lambda c, p: c + rng(p).normal(0, p.v, c.shape)), ((5, 25),), lambda p: {"sigma": p.v}),
        ("blur of CrCb", "chroma_blur", in_ycrcb(lambda c, p: cv2.GaussianBlur(c, (0, 0), p.v)), ((2, 10),), lambda p: {"sigma": p.v}),
        ("putText", "content", text, ((0.8, 3),), NONE),
        ("warpAffine shift", "misalignment", lambda x, p: warp(x, p, np.array([[1.0, 0, p.x], [0, 1, p.y]])), ((0.6, 14),),
         lambda p: {"shift_x": p.x, "shift_y": p.y}),
        ("roll", "misalignment", lambda x, p: warp(x, p, np.array([[1.0, 0, p.n], [0, 1, 0]])), ((1, 3),), lambda p: {"shift_x": p.n, "shift_y": 0}),
        ("warpAffine turn", "misalignment", lambda x, p: turn(x, p, p.v), ((-3, -0.4), (0.4, 3)), lambda p: {"rotation": p.v}),
    ]  # fmt: skip
    found = [_program("OpenCV", *row) for row in rows]
    blurred = (("misalignment",), ("blur", "misalignment"))
    found = [
        _program("OpenCV", *row, blurred) if row[1] == "misalignment" else program for row, program in zip(rows, found)
    ]
    special: list[tuple[str, str, Damage, Range, tuple[Label, ...], dict[str, object]]] = [
        ("cvtColor BGR", "color_matrix", lambda x, p: x[..., ::-1], FIXED, matrix, {"group": "colour", "family": "channels"}),
        ("hue", "color_matrix", hsv(0, lambda h, p: (h + p.n) % 180), ((10, 80),), matrix, {"group": "colour", "family": "hue"}),
        ("CLAHE", "unknown", in_lightness(cv2), ((2, 6),), (("unknown",),), {"group": "no_name", "family": "local contrast"}),
        ("bilateralFilter", "unknown", lambda x, p: cv2.bilateralFilter(x, 9, 60, p.v), ((3, 9),), (("unknown",),),
         {"group": "no_name", "family": "denoised"}),
        ("stylization", "unknown", lambda x, p: cv2.stylization(x, sigma_s=p.v), ((20, 80),), (("unknown",),),
         {"group": "no_name", "family": "painterly", "held_out": True}),
        ("pencilSketch", "unknown", lambda x, p: cv2.pencilSketch(x, sigma_s=p.v)[1], ((20, 60),), (("unknown",),),
         {"group": "no_name", "family": "sketch", "held_out": True, "near": False}),
    ]  # fmt: skip
    if not hasattr(cv2, "stylization"):
        special = special[:-2]
    for name, kind, damage, ranges, expected, more in special:
        found.append(_program("OpenCV", name, kind, damage, ranges, NONE, expected, **more))
    return found


def in_lightness(cv2: object) -> Damage:
    """CLAHE of the lightness of Lab."""

    def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
        lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)  # type: ignore[attr-defined]
        lab[..., 0] = cv2.createCLAHE(p.v, (8, 8)).apply(lab[..., 0])  # type: ignore[attr-defined]
        return cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)  # type: ignore[attr-defined]

    return damage


def kornia() -> list[Program]:
    """Programs of kornia."""
    import torch
    from kornia import enhance, filters

    def on_tensor(change: Callable[[torch.Tensor, SimpleNamespace], torch.Tensor]) -> Damage:
        def damage(image: np.ndarray, p: SimpleNamespace) -> np.ndarray:
            tensor = torch.from_numpy(image.copy()).permute(2, 0, 1)[None].float() / 255
            return 255 * change(tensor, p).clamp(0, 1)[0].permute(1, 2, 0).numpy()

        return damage

    rows = [
        ("gaussian_blur2d", "blur", lambda x, p: filters.gaussian_blur2d(x, (31, 31), (p.v, p.v)), ((0.7, 5),), lambda p: {"sigma": p.v}),
        ("motion_blur", "blur", lambda x, p: filters.motion_blur(x, p.odd, p.angle, 0.0), ((2, 7),), NONE),
        ("unsharp_mask", "sharpening", lambda x, p: filters.unsharp_mask(x, (9, 9), (p.v, p.v)), ((0.8, 2),), NONE),
        ("adjust_gamma", "contrast", lambda x, p: enhance.adjust_gamma(x, p.v), BOTH, NONE),
        ("adjust_saturation", "saturation", lambda x, p: enhance.adjust_saturation(x, p.v), ((0.1, 0.6), (1.5, 2.5)), NONE),
        ("posterize", "quantization", lambda x, p: enhance.posterize(x, p.n), ((2, 4),), lambda p: {"levels": 2**p.n}),
        ("adjust_brightness", "luminance", lambda x, p: enhance.adjust_brightness(x, p.n / 255), UP_DOWN, lambda p: {"offset": p.n}),
    ]  # fmt: skip
    found = [
        _program("kornia", name, kind, on_tensor(change), ranges, settings)
        for name, kind, change, ranges, settings in rows
    ]
    hue = on_tensor(lambda x, p: enhance.adjust_hue(x, p.v))
    found.append(_program("kornia", "adjust_hue", "color_matrix", hue, ((-2, -0.4), (0.4, 2)), NONE, (("color_matrix",), ("unknown",)),
                          group="colour", family="hue"))  # fmt: skip
    return found


SOURCES = (own, opencv, kornia)
