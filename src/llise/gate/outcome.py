"""What a gate says of a pair of files, and the exit status that follows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llise.diagnosis.result import Fault


class Status(Enum):
    """Result of a pair; the later ones outweigh the earlier ones."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"
    ERROR = "error"

    @property
    def exit_status(self) -> int:
        """Exit status of the command: 0 pass, 1 fail, 3 unknown fault, 2 unreadable."""
        return {Status.PASS: 0, Status.FAIL: 1, Status.UNKNOWN: 3, Status.ERROR: 2}[self]


def gravest(statuses: Iterable[Status]) -> Status:
    """Return the status of several pairs together, or of several findings in one pair."""
    order = list(Status)
    return max(statuses, key=order.index, default=Status.PASS)


@dataclass(frozen=True)
class Measures:
    """Measures of a copy; pixels that are ignored take no part.

    Attributes
    ----------
    mse, psnr : float
        Mean squared error and peak signal-to-noise ratio of the luma.
    ssim : float or None
        Mean structural similarity of the luma; None for pictures below 7 x 7 pixels, where it is not defined.
    area : float
        Share of the blocks of 8 x 8 pixels that differ beyond rounding, between 0 and 1.
    color_difference : float or None
        Mean CIEDE2000 of the pixels; None where it was not asked for.
    """

    mse: float = 0.0
    psnr: float = math.inf
    ssim: float | None = 1.0
    area: float = 0.0
    color_difference: float | None = 0.0


@dataclass(frozen=True)
class JudgedFault:
    """A fault of a copy, and whether it is allowed.

    Attributes
    ----------
    fault : Fault
        The fault.
    status : Status
        PASS where it is allowed, otherwise FAIL or UNKNOWN.
    rule : str
        What is allowed of it, such as ``"quality 60 or better"``; empty where no limit was set for its kinds.
    """

    fault: Fault
    status: Status
    rule: str = ""


@dataclass(frozen=True)
class Outcome:
    """What the gate says of one pair.

    Attributes
    ----------
    name : str
        Name of the pair: the path of the files inside their folders, or that of the copy.
    reference, copy : str or None
        The two files; None where there is no such file.
    status : Status
        The result.
    message : str
        The reason where it is neither a measure nor a fault: ``"identical"``, or what is wrong with a file.
    measures : Measures or None
        None where the pictures could not be compared.
    broken : tuple of str
        Limits of measures that are not kept, such as ``"MSE 31.2, at most 20"``.
    faults : tuple of JudgedFault
        All faults, the worst first.
    is_copy : bool
        Whether the image looks like a copy of the reference at all.
    size : tuple of int
        Height and width in pixels.
    seconds : float
        Time that the pair took.
    pictures : dict of str to bytes
        Pictures that were drawn of the pair, as PNG files, by name.
    """

    name: str
    reference: str | None
    copy: str | None
    status: Status
    message: str = ""
    measures: Measures | None = None
    broken: tuple[str, ...] = ()
    faults: tuple[JudgedFault, ...] = ()
    is_copy: bool = True
    size: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    pictures: dict[str, bytes] = field(default_factory=dict)
