"""Models on disk: they come back as they were, and a file that lies is refused, whatever it lies about."""

import json
import os
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as to_bytes

import llise
from llise.storage.models import FORMAT_VERSION, ModelError, content_hash, load, read_header, save

fuzzed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class LLE:
    """The two methods that a model needs, under the name of a class that may be saved."""

    def __init__(self, arrays, settings):
        self.arrays, self.settings = arrays, settings

    def to_state(self):
        return self.arrays, self.settings

    @classmethod
    def from_state(cls, arrays, settings):
        return cls(arrays, settings)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(vars(llise), "LLE", LLE)


def model():
    rng = np.random.default_rng(0)
    arrays = {
        "reference": rng.integers(0, 256, (16, 24)).astype(np.uint8),
        "embedding": rng.standard_normal((6, 5, 4)).astype(np.float32),
        "neighbors": rng.integers(0, 5, (6, 5, 2)).astype(np.int16),
        "mask": rng.random(7) > 0.5,
        "transposed": rng.standard_normal((3, 4)).T,
        "big_endian": np.arange(4, dtype=">i4"),
        "scalar": np.float64(2.5),
        "nothing": np.zeros((0, 3)),
    }
    return LLE(arrays, {"n_neighbors": np.int64(20), "kernel": "rbf", "gamma": None, "labels": ["blur"]})


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    save(model(), path)
    return path


def edited(path, change):
    """The file with its JSON header changed by a function, lengths made to agree."""
    whole = path.read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    head = json.loads(whole[8 : 8 + length])
    content = json.loads(head["__metadata__"]["llise"])
    change(head, content)
    head["__metadata__"]["llise"] = json.dumps(content)
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + whole[8 + length :]


def assert_same(one, other):
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        assert np.array_equal(array, other.arrays[name]), name
        assert np.asarray(array).dtype == other.arrays[name].dtype.newbyteorder("="), name
        assert np.shape(array) == other.arrays[name].shape
    assert one.settings == other.settings


def test_a_model_comes_back_as_it_was(written):
    loaded, original = load(written), model()
    original.arrays["big_endian"] = original.arrays["big_endian"].astype("<i4")
    assert_same(original, loaded)


def test_the_header_tells_what_made_the_file(written):
    header = read_header(written)
    assert header.format_version == FORMAT_VERSION and header.class_name == "LLE"
    assert header.versions["llise"] == llise.__version__ and header.versions["numpy"] == np.__version__
    assert header.reference_sha256 == content_hash(model().arrays["reference"])
    assert header.arrays["embedding"] == ("float32", (6, 5, 4))


def test_the_same_model_gives_the_same_bytes(written, tmp_path):
    save(model(), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == written.read_bytes()


def test_the_hash_of_an_image_depends_on_pixels_and_shape():
    image = np.arange(64, dtype=np.uint8)
    hashes = {
        content_hash(image.reshape(8, 8)),
        content_hash(image.reshape(4, 16)),
        content_hash(image[::-1]),
    }
    assert len(hashes) == 3


def test_a_failed_save_leaves_the_old_file(written, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    unsaveable = model()
    unsaveable.settings["kernel"] = lambda x, y: 0
    with pytest.raises(ModelError, match="a setting is a function"):
        save(unsaveable, path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["m"]


def test_only_our_models_are_saved(tmp_path):
    with pytest.raises(ModelError, match="a dict cannot be saved"):
        save({}, tmp_path / "m")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a model of llise"),
        (b"\x05\0\0\0\0\0\0\0", "truncated within its header"),
        (b"PK\x03\x04" + bytes(100), "not a model of llise"),
        (b"\x80\x04\x95\x10\0\0\0\0\0\0\0.", "not a model of llise"),  # a pickle
        (struct.pack("<Q", 2**63) + b"{}", "not a model of llise"),
        (struct.pack("<Q", 3_000_000) + b"{}", "truncated"),
        (struct.pack("<Q", 200_000) + b"[" * 200_000, "not a model of llise"),
        (to_bytes({"weights": np.zeros(9)}), "not a model of llise"),
        (to_bytes({"weights": np.zeros(9)}, metadata={"format": "pt"}), "not a model of llise"),
        (to_bytes({"weights": np.zeros(9)}, metadata={"llise": "3"}), "not a model of llise"),
    ],
)
def test_other_programs_files_are_refused(tmp_path, content, reason):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelError, match=reason) as caught:
        load(tmp_path / "m")
    assert str(caught.value).startswith(f"{tmp_path / 'm'}: ")


def test_missing_files_and_folders_are_refused(tmp_path):
    for path, reason in [
        (tmp_path / "absent", "no such file"),
        (tmp_path, "is a folder"),
        ("/dev/null", "ordinary"),
    ]:
        with pytest.raises(ModelError, match=reason):
            load(path)


def set_in_content(key, value):
    return lambda head, content: content.__setitem__(key, value)


def set_in_array(key, value):
    return lambda head, content: head["embedding"].__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (set_in_content("format_version", 2), "newer llise.*upgrade"),
        (set_in_content("format_version", "1"), "damaged header"),
        (set_in_content("format_version", 0), "damaged header"),
        (set_in_content("class", "Popen"), "unknown to this llise"),
        (set_in_content("class", "__builtins__"), "unknown to this llise"),
        (set_in_content("settings", []), "damaged header"),
        (set_in_content("settings", {"n_neighbors": 21}), "changed or damaged"),
        (set_in_content("reference_sha256", "0"), "changed or damaged"),
        (set_in_array("shape", [6, 5, 400_000_000]), "disagree"),
        (set_in_array("shape", [6, 5, -4]), "disagree"),
        (set_in_array("shape", [2**62, 2**62, 2**62]), "disagree"),
        (set_in_array("shape", [5, 6, 4]), "changed or damaged"),
        (set_in_array("shape", "abc"), "disagree"),
        (set_in_array("dtype", "F64"), "disagree"),
        (set_in_array("dtype", "I32"), "changed or damaged"),
        (set_in_array("dtype", "OBJECT"), "disagree"),
        (set_in_array("data_offsets", [0, 10**15]), "disagree"),
        (set_in_array("data_offsets", [10**15, 10**15 + 480]), "damaged"),
        (lambda head, content: head.pop("embedding"), "truncated or damaged"),
        (lambda head, content: head.__setitem__("more", head["embedding"]), "truncated or damaged"),
    ],
)
def test_a_lying_header_is_refused(written, tmp_path, change, reason):
    (tmp_path / "m").write_bytes(edited(written, change))
    with pytest.raises(ModelError, match=reason):
        load(tmp_path / "m")


def assert_refused_or_unchanged(path, content):
    path.write_bytes(content)
    try:
        loaded = load(path)
    except ModelError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
        return
    # Only a change without meaning, such as a blank in the JSON, may pass.
    original = model()
    original.arrays["big_endian"] = original.arrays["big_endian"].astype("<i4")
    assert_same(original, loaded)


@fuzzed
@given(st.data())
def test_flipped_bytes_are_refused(written, tmp_path, data):
    content = bytearray(written.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    assert_refused_or_unchanged(tmp_path / "m", bytes(content))


@fuzzed
@given(st.data())
def test_truncated_and_lengthened_files_are_refused(written, tmp_path, data):
    whole = written.read_bytes()
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))] + data.draw(st.binary(max_size=20))
    (tmp_path / "m").write_bytes(cut if cut != whole else whole[:-1])
    with pytest.raises(ModelError):
        load(tmp_path / "m")
    (tmp_path / "m").write_bytes(whole + data.draw(st.binary(min_size=1, max_size=20)))
    with pytest.raises(ModelError):
        load(tmp_path / "m")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@fuzzed
@given(st.data())
def test_headers_with_anything_in_any_place_are_refused(written, tmp_path, data):
    def change(head, content):
        where = data.draw(st.sampled_from([content, head["embedding"], head["reference"], content["settings"]]))
        key = data.draw(st.sampled_from(sorted(where)))
        where[key] = data.draw(json_values)

    assert_refused_or_unchanged(tmp_path / "m", edited(written, change))


@fuzzed
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes_are_refused(tmp_path, content, with_length):
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(content)) + content if with_length else content)
    with pytest.raises(ModelError):
        load(tmp_path / "m")


def test_memory_for_a_lying_header_is_bounded(written, tmp_path):
    (tmp_path / "m").write_bytes(edited(written, set_in_array("shape", [10**6, 10**6])))
    tracemalloc.start()
    with pytest.raises(ModelError):
        load(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_a_state_that_the_class_refuses_is_one_line_with_the_file(written, monkeypatch):
    def refuse(arrays, settings):
        raise KeyError("embedding\nof blocks")

    monkeypatch.setattr(LLE, "from_state", refuse)
    with pytest.raises(ModelError, match="not a usable LLE") as caught:
        load(written)
    assert "\n" not in str(caught.value)
