"""Images of one's own: folders, lists and arrays in; tables, maps and saved manifolds out."""

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from problems import photographs

import llise
from llise import LLE, LLISE, KernelLLISE
from llise.cli.embed import embed
from llise.images import ImageError
from llise.manifold.collection import read_collection, read_labels
from llise.manifold.coordinates import check_table, coordinates_of, write_table
from llise.output.class_colours import class_colours, in_order
from llise.output.map_page import write_map

IMAGES = np.rint(photographs(24, 16, 24) * 255).astype(np.uint8)
CLASSES = ["cat", "dog", "owl"]


@pytest.fixture
def folder(tmp_path):
    """24 images in three subfolders, and a hidden file that is none of them."""
    for i, image in enumerate(IMAGES):
        place = tmp_path / "photos" / CLASSES[i // 8]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{i:02d}.png")
    (tmp_path / "photos" / ".hidden.png").write_bytes(b"no image")
    (tmp_path / "photos" / "notes.txt").write_text("no image")
    return tmp_path


def run(*arguments):
    """The command in this process; an error is returned as its words."""
    result = CliRunner().invoke(embed, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        return result.exit_code, str(result.exception)
    return result.exit_code, result.output


def table(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    columns = [name for name in rows[0] if name not in ("file", "class", "map_x", "map_y")]
    return rows, columns, np.array([[float(row[name]) for name in columns] for row in rows])


# ---------------------------------------------------------------------------------------------------------- reading


def test_a_folder_its_list_and_its_array_are_the_same_images(folder):
    found = read_collection([folder / "photos"])
    np.testing.assert_array_equal(found.images, IMAGES)
    assert found.classes == [name for name in CLASSES for _ in range(8)]
    (folder / "list.txt").write_text("# all of them\n" + "\n".join(found.names) + "\n")
    listed = read_collection([folder / "list.txt"])
    np.testing.assert_array_equal(listed.images, IMAGES)
    assert listed.classes == found.classes
    np.save(folder / "images.npy", IMAGES)
    np.savez(folder / "images.npz", images=IMAGES, labels=np.array(found.classes), other=np.zeros(3))
    for file, classes in (("images.npy", None), ("images.npz", found.classes)):
        stored = read_collection([folder / file])
        np.testing.assert_array_equal(stored.images, IMAGES)
        assert stored.classes == classes
    assert read_collection([folder / "photos" / "cat"]).classes is None


def test_learners_take_folders_and_lists_of_paths(folder):
    learner = LLISE(2, n_neighbors=5)
    expected = learner.fit_transform(IMAGES)
    np.testing.assert_array_equal(learner.fit_transform(folder / "photos"), expected)
    np.testing.assert_array_equal(learner.fit_transform(str(folder / "photos")), expected)
    owls = sorted((folder / "photos" / "owl").iterdir())
    np.testing.assert_allclose(learner.transform(owls), expected[16:], atol=1e-7)
    assert learner.score(owls) == pytest.approx(learner.score(IMAGES[16:]), abs=1e-6)


def test_images_of_two_sizes_are_named_or_resized(folder):
    odd = folder / "photos" / "owl" / "odd.png"
    Image.new("L", (10, 12), 90).save(odd)
    with pytest.raises(ImageError, match=r"odd\.png: 10 x 12 pixels, but .*00\.png has 24 x 16; .*--size"):
        read_collection([folder / "photos"])
    found = read_collection([folder / "photos"], size=(12, 8))
    assert found.images.shape == (25, 8, 12)
    coloured = read_collection([folder / "photos"], size=(12, 8), color=True)
    np.testing.assert_array_equal(coloured.images, np.repeat(found.images[..., None], 3, axis=3))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent", None, "absent: no such file"),
        ("empty.txt", b"# nothing\n", "empty.txt: an empty list"),
        ("binary.txt", b"\xff\xfe\x00", "binary.txt: cannot be read as a list"),
        ("bad.npy", b"no array", "bad.npy: not a NumPy file"),
        ("bad.png", b"no image", "bad.png: not an image"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ImageError, match=message):
        read_collection([tmp_path / name])


def test_arrays_that_are_no_images_are_refused(tmp_path):
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.savez(tmp_path / "two.npz", a=IMAGES, b=IMAGES)
    np.savez(tmp_path / "short.npz", images=IMAGES, labels=np.arange(3))
    np.save(tmp_path / "objects.npy", np.array([None, {}], dtype=object), allow_pickle=True)
    for name, message in {
        "flat": r"shape \(5,\)", "two": "name that of the images", "short": "3 labels for 24", "objects": "not a NumPy"
    }.items():  # fmt: skip
        with pytest.raises(ImageError, match=message):
            read_collection([next(tmp_path.glob(f"{name}.*"))])
    with pytest.raises(ImageError, match="one array alone"):
        read_collection([tmp_path / "two.npz", tmp_path])


def test_labels_by_line_or_by_file(tmp_path):
    names = ["photos/a.png", "photos/b.png"]
    (tmp_path / "lines").write_text("x\ny\n")
    (tmp_path / "pairs.csv").write_text("file,class\nb.png,y\nphotos/a.png,x\n")
    assert read_labels(tmp_path / "lines", names) == read_labels(tmp_path / "pairs.csv", names) == ["x", "y"]
    with pytest.raises(ImageError, match="2 labels for 3 images"):
        read_labels(tmp_path / "lines", [*names, "c.png"])
    with pytest.raises(ImageError, match=r"no label for c\.png"):
        read_labels(tmp_path / "pairs.csv", [*names, "c.png"])


# ---------------------------------------------------------------------------------------------------------- writing


def test_the_table_has_what_the_learner_returns(folder):
    status, said = run(folder / "photos", "-o", folder / "out.csv", "--components", 2, "--neighbors", 5)
    assert status == 0 and "24 images of 3 classes, 2 coordinates of 2 x 3 blocks" in said
    rows, columns, values = table(folder / "out.csv")
    learner = LLISE(2, n_neighbors=5)
    np.testing.assert_allclose(values, learner.fit_transform(IMAGES), rtol=1e-15)
    assert columns == list(learner.get_feature_names_out())
    assert [row["class"] for row in rows] == [name for name in CLASSES for _ in range(8)]
    places = np.array([[float(row["map_x"]), float(row["map_y"])] for row in rows])
    np.testing.assert_allclose(places, learner.image_map(), rtol=1e-15)
    assert run(folder / "photos", "-o", folder / "out.npz", "--components", 2, "--neighbors", 5)[0] == 0
    with np.load(folder / "out.npz") as stored:
        np.testing.assert_array_equal(stored["coordinates"], learner.fit_transform(IMAGES))
        np.testing.assert_array_equal(stored["labels"], [row["class"] for row in rows])
        assert list(stored["columns"]) == columns


@pytest.mark.parametrize(
    ("options", "learner"),
    [
        (["--whole"], LLISE(block_size=None)),
        (["--method", "kernel-llise", "--kernel", "poly"], KernelLLISE(kernel="poly")),
        (["--method", "lle", "--neighbors", 5], LLE(n_neighbors=5)),
        (["--constraint", "sphere", "--luminance", 0, "--block-size", 4], LLISE.as_in_paper(block_size=4)),
    ],
)
def test_options_are_the_learners_parameters(folder, options, learner):
    assert run(folder / "photos", "-o", folder / "out.csv", *options)[0] == 0
    np.testing.assert_allclose(table(folder / "out.csv")[2], learner.fit_transform(IMAGES), rtol=1e-15)


def test_a_saved_manifold_places_new_images(folder):
    photos = folder / "photos"
    assert run(photos, "-o", folder / "all.csv", "--save", folder / "m.llise")[0] == 0
    status, said = run(
        photos / "owl", "-o", folder / "owls.csv", "--onto", folder / "m.llise", "--plot", folder / "m.html"
    )
    assert status == 0 and "24 training images" in said
    np.testing.assert_allclose(table(folder / "owls.csv")[2], table(folder / "all.csv")[2][16:], atol=1e-7)
    page = json.loads(re.search(r'application/json">(.*?)</script>', (folder / "m.html").read_text(), re.DOTALL)[1])
    np.testing.assert_allclose(page["background"][16:], page["places"], atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "out.csv", "--kernel", "rbf"], "--kernel does not go with --method llise"),
        (["-o", "out.csv", "--method", "lle", "--block-size", 4], "--block-size does not go with --method lle"),
        (["-o", "out.csv", "--whole", "--block-size", 4], "exclude each other"),
        (["-o", "out.csv", "--onto", "m", "--components", 2], "--components does not go with --onto"),
        (["-o", "out.csv", "--onto", "m", "--save", "n"], "--save does not go with --onto"),
        (["-o", "out.csv", "--size", "64"], "such as 64x48"),
        (["-o", "out.csv", "--plot", "map.gif"], "name a .html page or a .png"),
        (["-o", "out.txt"], "a table ends with .csv, .parquet, .npz"),
        (["-o", "out.csv", "--onto", "absent.llise"], "absent.llise: no such file"),
        (["-o", "out.csv", "--components", 30], "n_components=30 needs"),
    ],
)
def test_wrong_usage_is_one_line_and_writes_nothing(folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    status, said = run("photos", *options)
    assert status != 0 and message in said
    assert not list(folder.glob("out.*"))


def test_parquet_is_written_with_pyarrow_or_refused(tmp_path, monkeypatch):
    found = coordinates_of(LLE(2, n_neighbors=5), IMAGES, fit=True)
    try:
        from pyarrow import parquet
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install pyarrow, or name a \.csv or \.npz"):
            check_table(tmp_path / "out.parquet")
        return
    write_table(tmp_path / "out.parquet", ["a"] * 24, found, ["x"] * 24)
    rows = parquet.read_table(tmp_path / "out.parquet")
    assert rows.column_names == ["file", "class", "map_x", "map_y", "lle0", "lle1"]
    np.testing.assert_array_equal(rows["lle1"].to_numpy(), found.rows[:, 1])


# ------------------------------------------------------------------------------------------------------------- maps


def test_the_page_is_self_contained_and_holds_every_image(tmp_path):
    places = np.random.default_rng(0).random((24, 2))
    names = [f"</script><b>{i}" for i in range(24)]
    write_map(tmp_path / "map.html", places, names, ["s10", "s2"] * 12, IMAGES, title="<i>", about="a & b")
    page = (tmp_path / "map.html").read_text()
    assert "<b>" not in page and "<i>" not in page and "a &amp; b" in page
    assert not re.search(r"(src|href)=[\"']?http|@import|url\(", page)
    data = json.loads(re.search(r'application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert data["names"] == names and data["classes"] == ["s2", "s10"] and data["codes"] == [1, 0] * 12
    assert data["thumbnails"]["images"] == list(range(24))
    np.testing.assert_allclose(data["places"], places, rtol=1e-5)


def test_very_many_images_have_thumbnails_evenly_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr("llise.output.map_page.SHEET_PIXELS", 7 * 28**2)
    write_map(tmp_path / "map.html", np.zeros((24, 1)), ["x"] * 24, None, IMAGES.astype(float) / 255)
    page = (tmp_path / "map.html").read_text()
    data = json.loads(re.search(r'application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert len(data["thumbnails"]["images"]) == 7
    assert data["thumbnails"]["images"][0] == 0 and data["thumbnails"]["images"][-1] == 23


def test_a_picture_of_the_map(folder):
    pytest.importorskip("matplotlib")
    assert run(folder / "photos", "-o", folder / "out.csv", "--plot", folder / "map.png")[0] == 0
    with Image.open(folder / "map.png") as picture:
        assert picture.width > 1000


def test_classes_have_their_own_colours_and_numbers_go_by_value():
    assert in_order(["s10", "s2", "b", "1", "10", "9"]) == ["1", "9", "10", "b", "s2", "s10"]
    colours = class_colours(60)
    assert len(set(colours)) == 60 and all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


# -------------------------------------------------------------------------------------------------------- notebooks


def test_a_fitted_learner_shows_what_it_learned_in_a_notebook():
    learner = LLISE(2, n_neighbors=5)
    assert "circle" not in learner._repr_html_()
    page = learner.fit(IMAGES)._repr_mimebundle_()["text/html"]
    assert page.count("<circle") == learner._repr_html_().count("<circle") == 24
    assert "24 images of 16 x 24: 6 manifolds, one at each block position, 2 coordinates each; stationarity" in page
    assert "one manifold of whole images" in LLE(2, n_neighbors=5).fit(IMAGES)._repr_html_()


def test_the_map_of_one_manifold_is_its_first_two_coordinates():
    learner = LLISE(4, n_neighbors=5, block_size=None).fit(IMAGES)
    np.testing.assert_array_equal(learner.image_map(), learner.embedding_[0, :, :2])
    assert list(learner.get_feature_names_out()) == ["llise0", "llise1", "llise2", "llise3"]
    rows = LLISE(4, n_neighbors=5).fit(IMAGES.reshape(24, -1))
    np.testing.assert_allclose(learner.embedding_, rows.embedding_, atol=1e-9)


def test_the_command_is_there():
    done = subprocess.run([sys.executable, "-m", "llise", "embed", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--onto" in done.stdout


def test_the_papers_problem_is_one_call_away():
    paper = llise.KernelLLISE.as_in_paper(2, kernel="poly", n_neighbors=5)
    same = KernelLLISE(2, kernel="poly", n_neighbors=5, constraint="sphere", luminance=0.0)
    assert paper.get_params() == same.get_params()
    ridges = [LLISE.as_in_paper(2, ridge=ridge).fit_transform(IMAGES) for ridge in (0.01, 1.0)]
    np.testing.assert_array_equal(*ridges)
