"""Numbers of a model that was not calibrated yet; the training replaces them and writes them into model.json.

`llise.diagnosis` reads all of them from `network.model().tuned` and has none of its own.
"""

from __future__ import annotations

from typing import Any

DEFAULTS: dict[str, Any] = {
    "regions": {
        "sets_share": 0.5,  # weight of the distribution over sets against the independent kinds
        "floor": -7.0,  # least log-probability of a label in a block: no block has a veto
        "border": 1.5,  # for each side of a block
        "price": 14.0,  # for each label of an area
        "gap": 2,  # changed blocks that are fewer than twice as many blocks apart are one area
        "candidates": 8,  # labels that are tried in an area
    },
    "refit": {
        "pixels": 8_000,  # of a region that are fitted, at most
        "remakes": 24,  # and further fits, of a set of kinds, at most
        "candidates": 5,  # sets that are fitted again
        "step": 0.25,  # first step of the search over a setting, as a share of it
        "enough": 0.97,  # explained share of the error with which a chain is not improved further
    },
    "score": {
        # In the order of llise.diagnosis.scoring.COLUMNS; from the prototype, to be fitted by score_fit.py.
        "weights": [1.0, 0.3, 0.6, 0.8, -0.6, -1.0, -0.8, -0.8, -0.6, 1.5, -0.15],
        "sizes": [6, 30, 200],  # blocks that divide regions into classes with a calibration each
        "calibration": [[[0.0, 0.0], [1.0, 1.0]]],  # one curve, or one for each class: probability -> share right
        "sure": {"gap": 2.0, "explained": 0.97, "confidence": 0.99},  # when one refit is enough, and what it is worth
        "known": [],  # sorted strangeness of regions with named kinds, for p-values
    },
    "faults": {
        "whole": 0.98,  # share of the blocks with texture that a fault covers to extend over the whole picture
        "most": 0.5,  # and least share of the picture that it covers then
        "texture": 2.0,  # standard deviation of such a block in grey levels
        "not_a_copy": 0.5,  # likeness below which an unknown picture is no copy
    },
    "nature": {"periodic": 0.1, "smooth": 0.7, "noisy": 0.2, "grid": 1.5},
    "custom": {"ridge": 0.01, "false_alarms": 0.004},
    "alignment": {
        "least_side": 48,  # pixels; there is too little in a smaller picture to tell a shift from a fault
        "shift": 16.0,
        "share": 0.13,  # furthest shift that is looked for: pixels, or share of the shorter side
        "rotation": 3.0,
        "scale": 3.0,
        "crop": 25.0,  # furthest degrees; per cent smaller; per cent larger
        "alike": 0.93,  # correlation of the smallest pictures from which turns and sizes need no search
        "least_way": 0.03,  # pixels, root mean square, from which a copy is misaligned
        "least_fall": 0.1,  # of the error, against what remains, below which nothing speaks for a misalignment
        "as_good": 1.01,  # factor on the error within which a simpler place is as good
        "deviations": 4.0,  # factor on standard deviations so that 90 % of the intervals hold the truth
        "least_deviations": [0.015, 0.015, 0.003, 0.006, 0.006],  # half widths in the units of the five numbers
        "tolerance": 0.1,
        "nearest_tolerance": 1.0,  # of the range around a pixel, that interpolation may leave
        "weights": [-0.38, 0.09, -1.3, -12.0, -5.8, -0.39, 0.45],  # of llise.diagnosis.alignment.evidence.COLUMNS
    },
}
