"""A small part of every attack of ``benchmarks/attack.py``: nothing may fail."""

import numpy as np
import pytest

from attack import attack, modules
from attacks import api, pictures
from attacks.picture_bytes import scene

SCALES = {"pictures": 0.05, "models": 0.005, "api": 0.05}
"""How much of each area is tried here.  Lost workers are in test_cluster.py; large pictures need too much memory."""


@pytest.mark.parametrize("area", SCALES)
def test_an_area_withstands_a_small_part_of_its_attack(area):
    tried, failures = attack(modules()[area], SCALES[area], seed=0)
    assert tried > 10 and failures == []


def test_every_kind_of_picture_is_read_right_or_refused(tmp_path):
    image = scene(64, 64)
    wrong, expected = [], []
    for name, content, expectation in pictures.kinds(image):
        (tmp_path / name).write_bytes(content)
        wrong.append(pictures.wrong_reading(tmp_path / name, image, expectation))
        expected.append(expectation)
    assert [answer for answer in wrong if answer] == []
    assert len(wrong) > 200 and np.unique(expected).tolist() == ["any", "bad", "good"]


def test_every_method_of_an_unfitted_object_says_that_it_is_not_fitted():
    assert [wrong for name, call in api.unfitted() if (wrong := api.wrong_outcome(name, call))] == []
