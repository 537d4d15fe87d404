"""The rules of a gate: limits of measures, faults that are allowed, pixels that are ignored.

A pair passes if all limits of measures are kept and all faults are allowed. Faults of known kinds are allowed

- as ``allow`` says, if there is an ``allow``, or if they are weaker than :data:`WEAK`;
- all, if there are only limits of measures, which then decide;
- none, if there are no rules at all.

A fault of no known kind is allowed only by ``allow`` with ``unknown``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from llise.gate.outcome import JudgedFault, Measures, Status
from llise.kinds.limits import limit_of
from llise.kinds.sources import names as own_names
from llise.labels import COLOR_KINDS, MISALIGNMENT, NAMED_KINDS, UNKNOWN
from llise.picture_files.decoding import Background, color_of

if TYPE_CHECKING:
    from llise.diagnosis.result import Fault

WEAK = 1.0
"""Mean squared error inside its region below which the kind of a fault is hard to tell, so that any is allowed."""


class RuleError(ValueError):
    """A rule makes no sense; the message says what was expected."""


class Box(NamedTuple):
    """A rectangle of pixels.

    Attributes
    ----------
    x, y : int
        Its left and upper edge.
    width, height : int
        Its size.
    """

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Rules:
    """What a copy must keep to pass.

    Attributes
    ----------
    max_mse, min_psnr, min_ssim, max_color_difference, max_area : float or None
        Limits of the measures; the area in per cent. None where there is no limit.
    allow : dict of str to (float or None), or None
        Allowed kinds with the limit of each, or None for any strength. None where no kind was mentioned.
    ignore : tuple of Box
        Rectangles that are not compared.
    mask : Path or None
        A picture whose white pixels are not compared.
    align : bool
        Name a shift, a rotation or a change of size as such, and judge what remains after aligning.
    background : tuple of int or None
        Red, green and blue on which transparent pixels are laid. None where they are refused.
    """

    max_mse: float | None = None
    min_psnr: float | None = None
    min_ssim: float | None = None
    max_color_difference: float | None = None
    max_area: float | None = None
    allow: dict[str, float | None] | None = None
    ignore: tuple[Box, ...] = ()
    mask: Path | None = None
    align: bool = True
    background: Background | None = None

    def broken_by(self, measures: Measures) -> tuple[str, ...]:
        """List the limits that measures do not keep."""
        most, least = 1, -1
        rows = (
            ("MSE", measures.mse, most, self.max_mse, ""),
            ("PSNR", measures.psnr, least, self.min_psnr, " dB"),
            ("SSIM", measures.ssim, least, self.min_ssim, ""),
            ("colour difference", measures.color_difference, most, self.max_color_difference, ""),
            ("changed area", 100 * measures.area, most, self.max_area, " %"),
        )
        broken = []
        for name, measure, sign, limit, unit in rows:
            if limit is not None and (measure is None or sign * measure > sign * limit):
                value = "not defined for so small a picture" if measure is None else _rounded(measure, limit) + unit
                broken.append(f"{name} {value}, at {'most' if sign == most else 'least'} {limit:g}{unit} is allowed")
        return tuple(broken)

    def judge(self, fault: Fault) -> JudgedFault:
        """Tell whether a fault is allowed."""
        allow = self.allow or {}
        if UNKNOWN in fault.kinds:
            return JudgedFault(fault, Status.PASS if UNKNOWN in allow else Status.UNKNOWN)
        if self.allow is None:
            return JudgedFault(fault, Status.PASS if self.has_limits else Status.FAIL)
        limits = [(kind, limit) for kind in fault.kinds if (limit := allow.get(kind)) is not None]
        rules = [found.words.format(f"{limit:g}") for kind, limit in limits if (found := limit_of(kind))]
        weak = sum(fault.severity.values()) < WEAK
        passes = weak or all(kind in allow and _within(kind, allow[kind], fault) for kind in fault.kinds)
        return JudgedFault(fault, Status.PASS if passes else Status.FAIL, " and ".join(rules))

    @property
    def has_limits(self) -> bool:
        """Whether any measure is limited."""
        limits = self.max_mse, self.min_psnr, self.min_ssim, self.max_color_difference, self.max_area
        return any(limit is not None for limit in limits)


def _rounded(measure: float, limit: float) -> str:
    """A measure with as many digits as are needed to tell it from the limit, four at least."""
    return next(text for digits in range(4, 18) if float(text := f"{measure:.{digits}g}") != limit)


def _within(kind: str, limit: float | None, fault: Fault) -> bool:
    """Whether the estimated strength keeps a limit; it is rounded to the two digits that are shown of it."""
    known = limit_of(kind)
    if limit is None or known is None:
        return limit is None
    settings = {name: interval.value for name, interval in fault.estimate.get(kind, {}).items()}
    try:
        value = known.value(settings)
    except KeyError:
        return False
    return known.holds(float(f"{value:.2g}") if abs(value) < 100 else round(value), limit)


def make_rules(values: Mapping[str, Any]) -> Rules:
    """Make rules of values by key, as a settings file or the command line has them."""
    return Rules(**{key.replace("-", "_"): read_rule(key, value) for key, value in values.items() if value is not None})


def read_rule(key: str, value: Any) -> Any:
    """Check one rule and bring it into the form that :class:`Rules` has."""
    if key not in READERS:
        raise RuleError(f"{key} is not a setting; {suggestion(key, READERS)}")
    return READERS[key](key, value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Name the known word that is most like a mistyped one, or all of them."""
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]}?" if near else f"the known ones are {', '.join(known)}"


def _number_between(low: float, high: float) -> Callable[[str, Any], float]:
    def read(key: str, value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and low <= value <= high):
            bounds = f"of {low:g} or more" if high == math.inf else f"from {low:g} to {high:g}"
            raise RuleError(f"{key} is {_short(value)}; expected a number {bounds}")
        return float(value)

    return read


def _read_allowed(key: str, value: Any) -> dict[str, float | None]:
    """``["jpeg:60", "blur"]`` as kinds and limits."""
    if not isinstance(value, list | tuple):
        raise RuleError(f'{key} is {_short(value)}; expected a list such as ["jpeg:60", "luminance:2"]')
    return dict(_read_kind(key, item) for item in value)


def _read_kind(key: str, item: Any) -> tuple[str, float | None]:
    if not isinstance(item, str):
        raise RuleError(f'{key} has {_short(item)}; expected a kind, or a kind and a limit such as "jpeg:60"')
    kind, colon, text = item.partition(":")
    known = (*NAMED_KINDS, MISALIGNMENT, *COLOR_KINDS, UNKNOWN, *own_names())
    if kind not in known:
        raise RuleError(f"{key} has {_short(item)}, which is no kind; {suggestion(kind, known)}")
    if not colon:
        return kind, None
    allowed = limit_of(kind)
    if allowed is None:
        raise RuleError(f"{key} has {_short(item)}, but {kind} has no limit; write {kind} alone")
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not 0 <= limit <= allowed.highest:
        raise RuleError(
            f"{key} has {_short(item)}; expected a number from 0 to {allowed.highest:g} after the colon, "
            f"which allows {allowed.words.format('that')}"
        )
    return kind, limit


def _read_boxes(key: str, value: Any) -> tuple[Box, ...]:
    """``["0,0,100,20"]`` or ``[[0, 0, 100, 20]]`` as boxes."""
    if not isinstance(value, list | tuple):
        raise RuleError(f"{key} is {_short(value)}; expected a list of X,Y,W,H such as [[0, 0, 100, 20]]")
    return tuple(_read_box(key, item) for item in value)


def _read_box(key: str, item: Any) -> Box:
    numbers = item.split(",") if isinstance(item, str) else item
    try:
        if any(isinstance(number, bool | float) for number in numbers):
            raise ValueError
        box = Box(*map(int, numbers))
    except (TypeError, ValueError):
        raise RuleError(f"{key} has {_short(item)}; expected X,Y,W,H in whole pixels, such as 0,0,100,20") from None
    if min(box.x, box.y) < 0 or min(box.width, box.height) < 1:
        raise RuleError(f"{key} has {_short(item)}; expected X and Y of 0 or more, W and H of 1 or more")
    return box


def _read_mask(key: str, value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise RuleError(f"{key} is {_short(value)}; expected the name of a picture")
    return Path(value)


def _read_align(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise RuleError(f"{key} is {_short(value)}; expected true or false")
    return value


def _read_background(key: str, value: Any) -> Background:
    try:
        return color_of(value)
    except ValueError as error:
        raise RuleError(f"{key} is {_short(value)}; {error}") from None


def _short(value: Any) -> str:
    """A value as the user would write it, cut if it is long."""
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


READERS: dict[str, Callable[[str, Any], Any]] = {
    "max-mse": _number_between(0, 255**2),
    "min-psnr": _number_between(0, math.inf),
    "min-ssim": _number_between(0, 1),
    "max-color-difference": _number_between(0, 200),
    "max-area": _number_between(0, 100),
    "allow": _read_allowed,
    "ignore": _read_boxes,
    "mask": _read_mask,
    "align": _read_align,
    "background": _read_background,
}
"""For each rule, by its name in settings files and on the command line, the function that checks its value."""
