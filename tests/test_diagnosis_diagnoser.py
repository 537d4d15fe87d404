"""The whole way of a copy, with a stand-in that says the truth for the network."""

import threading

import numpy as np
import pytest
from look_standin import changed_of, look_of, model_of
from training.tuned import DEFAULTS

from llise.colours import stacked
from llise.diagnosis import Diagnoser, diagnose
from llise.diagnosis.custom_kinds import _picture
from llise.diagnosis.measures import block_errors, likeness, nature_of
from llise.diagnosis.regions import label_of
from llise.diagnosis.result import BLOCK_LABELS, Diagnosis, Fault, Interval
from llise.differences import pixels_of
from llise.images import ImageError
from llise.kinds import registry
from llise.kinds.fitting import as_bytes


@pytest.fixture(scope="module")
def picture():
    return np.ascontiguousarray(_picture("coffee")[104:232, 208:336])


def made(picture, kind, strength):
    return as_bytes(np.asarray(registry.get(kind).draw(picture, np.random.default_rng(3)).path(strength)))


def test_a_blur_is_named_with_its_settings(picture):
    diagnosis = diagnose(picture, [made(picture, "blur", 2.0)], model=model_of(("blur",)))[0]
    (fault,) = diagnosis.faults
    assert diagnosis.verdict == fault.kinds == ("blur",) and fault.is_whole and fault.explained > 0.95
    low_to_high = fault.estimate["blur"]["sigma"]
    assert low_to_high.low <= low_to_high.value <= low_to_high.high
    assert fault.severity["blur"] == pytest.approx(diagnosis.block_severity.mean(), rel=1e-3)
    assert diagnosis.model == ("stand-in", "0" * 64) and "blur" in str(diagnosis.why[0])
    assert diagnosis.why[0].candidates[0].probability == max(one.probability for one in diagnosis.why[0].candidates)
    assert all(one.chain is None for one in diagnosis.why[0].candidates)  # a diagnosis keeps no pictures of trials


def test_grey_and_colour_go_the_same_way(picture):
    grey = np.ascontiguousarray(picture[..., 1])
    copy = made(grey, "luminance", 20.0)
    one, other = (
        diagnose(a, [b], model=model_of(("luminance",)))[0] for a, b in ((grey, copy), (stacked(grey), stacked(copy)))
    )
    assert one.verdict == other.verdict == ("luminance",) and one.confidence == other.confidence
    assert one.color is None and other.color is None  # three equal channels are grey
    assert one.faults[0].estimate == other.faults[0].estimate


def test_a_kind_through_several_regions_is_one_fault(picture):
    left = np.zeros((16, 16), bool)
    left[:, :6] = True
    half = np.where(pixels_of(left, picture.shape)[..., None], made(picture, "blur", 2.0), picture)
    copy = made(half, "luminance", 25.0)
    diagnosis = diagnose(picture, [copy], model=model_of([(("blur",), left), (("luminance",), None)]))[0]
    regions = {fault.kinds: fault.region for fault in diagnosis.faults}
    assert set(regions) == {("blur",), ("luminance",)}
    assert regions[("luminance",)].all()
    assert (regions[("blur",)] & left).sum() > 0.9 * (regions[("blur",)] | left).sum()
    assert diagnosis.verdict == ("luminance", "blur")


def test_equal_blocks_are_original_whatever_the_network_says(picture):
    copy = picture.copy()
    copy[:64] = made(picture, "jpeg", 3.0)[:64]
    diagnosis = diagnose(picture, [copy], model=model_of(("jpeg",)))[0]
    differs = changed_of(picture, copy)
    assert (diagnosis.block_labels[~differs] == BLOCK_LABELS.index("original")).all()
    assert (diagnosis.block_labels[differs] == BLOCK_LABELS.index("jpeg")).all()
    assert sum(diagnosis.shares.values()) == pytest.approx(1)


def test_rounding_that_the_network_calls_original_is_said(picture):
    copy = picture.copy()
    copy[::2, ::4] ^= 1
    diagnosis = diagnose(picture, [copy], model=model_of(()))[0]
    assert diagnosis.verdict == ("original",) and diagnosis.confidence == 1 and diagnosis.mse > 0
    assert diagnosis.rounding == (pytest.approx(1 / 8), 1)
    assert diagnose(picture, [picture], model=model_of(()))[0].rounding is None


def test_a_fault_without_a_name_is_unknown(picture):
    copy = np.clip(picture + 40 * np.sin(np.arange(128) / 2)[:, None], 0, 255).astype(np.uint8)
    fault = diagnose(picture, [copy], model=model_of(("unknown",)))[0].faults[0]
    assert fault.kinds == ("unknown",) and fault.estimate == {} and "periodic" in fault.nature
    assert fault.nearest_kinds and "unknown" not in fault.nearest_kinds


def test_false_alarms_decide_by_the_p_value(picture):
    score = {**DEFAULTS["score"], "known": np.linspace(-60, 0, 400).tolist()}
    copy = made(picture, "blur", 2.0)
    model = model_of(("blur",), score=score)
    p_value = diagnose(picture, [copy], model=model)[0].faults[0].p_value
    assert 0 < p_value < 1
    verdicts = [
        diagnose(picture, [copy], model=model, false_alarms=rate)[0].verdict for rate in (0, 0.9 * p_value, 0.999)
    ]
    assert verdicts == [("blur",), ("blur",), ("unknown",)]


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, True, "0.1", None])
def test_false_alarms_are_checked(picture, rate):
    with pytest.raises(ValueError, match="false_alarms must be a number from 0 to below 1"):
        Diagnoser(picture, model=model_of(()), false_alarms=rate)


def test_another_picture_is_no_copy():
    one, other = _picture("coffee")[:160, :160], _picture("chelsea")[:160, :160]
    diagnosis = diagnose(one, [other], model=model_of(("unknown",)))[0]
    assert not diagnosis.is_copy and diagnosis.verdict == ("unknown",) and len(diagnosis.faults) == 1
    assert likeness(one[..., 1], other[..., 1]) < 0.5 < likeness(one[..., 1], 255 - one[..., 1])


def same(one: Diagnosis, other: Diagnosis) -> bool:
    pairs = zip(one.faults, other.faults, strict=True)
    return repr(one) == repr(other) and all(
        (a.confidence, a.estimate, a.severity, a.explained) == (b.confidence, b.estimate, b.severity, b.explained)
        and np.array_equal(a.region, b.region)
        for a, b in pairs
    )


def test_the_answer_does_not_depend_on_other_copies_their_order_or_threads(picture):
    copies = [made(picture, "luminance", strength) for strength in (10.0, 20.0, 30.0)]
    model = model_of(("luminance",))
    alone = [diagnose(picture, [copy], model=model)[0] for copy in copies]
    diagnoser = Diagnoser(picture, model=model)
    assert all(map(same, alone, diagnoser.diagnose(copies)))
    assert all(map(same, alone[::-1], diagnoser.diagnose(copies[::-1])))
    found = {}

    def work(number):
        found[number] = next(diagnoser.diagnose([copies[number]]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(found[number], alone[number]) for number in range(3))


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3), (9, 13, 3), (17, 300), (8, 1000)])
def test_small_and_narrow_pictures_get_an_answer(shape):
    rng = np.random.default_rng(0)
    reference = rng.integers(0, 200, shape).astype(np.uint8)
    diagnosis = diagnose(reference, [reference + np.uint8(20)], model=model_of(("luminance",)))[0]
    assert diagnosis.verdict == ("luminance",)
    assert diagnosis.block_labels.shape == tuple(-(-side // 8) for side in shape[:2])


@pytest.mark.parametrize("level", [0, 90, 255])
def test_a_flat_copy_gets_an_answer(picture, level):
    diagnosis = diagnose(picture, [np.full_like(picture, level)], model=model_of(("content",)))[0]
    assert diagnosis.verdict != ("original",) and 0 <= diagnosis.confidence <= 1


@pytest.mark.parametrize("reference", [np.zeros((64, 64), np.uint8), np.full((64, 64, 3), 200, np.uint8)])
def test_a_flat_reference_is_refused(reference):
    with pytest.raises(ImageError, match="use a reference with content"):
        Diagnoser(reference, model=model_of(()))


def test_sixteen_bits_and_alpha(picture):
    deep = picture.astype(np.uint16) * 257
    assert diagnose(deep, [deep], model=model_of(()))[0].verdict == ("original",)
    with pytest.raises(ImageError):
        diagnose(picture, [np.dstack([picture, np.full(picture.shape[:2], 9, np.uint8)])], model=model_of(()))
    with pytest.raises(ImageError):
        diagnose(picture, [picture[:64]], model=model_of(()))
    with pytest.raises(ImageError, match="smaller than a block"):
        Diagnoser(picture[:7], model=model_of(()))


def test_the_errors_of_blocks_are_those_of_numpy(picture):
    copy = made(picture, "jpeg", 3.0)[:, :125]
    error, largest = block_errors(picture[:, :125], copy)
    squares = (copy.astype(float) - picture[:, :125]) ** 2
    assert error[3, 4] == pytest.approx(squares[24:32, 32:40].mean())
    assert error[3, 15] == pytest.approx(squares[24:32, 120:].mean())
    assert largest[3, 4] == np.sqrt(squares[24:32, 32:40].max())


def test_the_look_of_an_error_has_words():
    rng, mask = np.random.default_rng(0), np.ones((64, 64), bool)
    wave = np.sin(np.arange(64) / 1.5) * np.ones((64, 1))
    grid = np.kron(rng.normal(size=(8, 8)), np.ones((8, 8)))
    words = DEFAULTS["nature"]
    assert nature_of(wave, mask, words) == ("periodic",)
    assert nature_of(rng.normal(size=(64, 64)), mask, words) == ("noisy",)
    assert "on the 8x8 grid" in nature_of(grid, mask, words)
    assert nature_of(np.zeros((64, 64)), mask, words) == ()


def test_boxes_are_those_of_the_pieces():
    region = np.zeros((6, 8), bool)
    region[0, 0] = region[3:5, 4:8] = True
    fault = Fault(("blur",), 0.9, region, (0, 0, 40, 60), 0.1, {"blur": 1.0}, {"blur": {"sigma": Interval(1, 1, 1)}})
    assert fault.boxes == [(24, 32, 40, 60), (0, 0, 8, 8)] and not fault.is_whole


def test_a_network_that_knows_nothing_of_a_block_has_no_veto(picture):
    """A hole in what the network says is filled by its neighbours."""
    copy = made(picture, "luminance", 20.0)

    def look(reference, other):
        labels = np.full((16, 16), label_of(("luminance",)))
        labels[7, 7] = label_of(("unknown",))
        return look_of(labels, changed_of(reference, other))

    model = model_of(("luminance",))
    object.__setattr__(model, "look", look)
    (fault,) = diagnose(picture, [copy], model=model)[0].faults
    assert fault.kinds == ("luminance",) and fault.region.all()
