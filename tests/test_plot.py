"""llise.plot: what each figure shows, and its colours on a light and a dark ground."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import colors, rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from samples import context, picture, two_regions

import llise
from llise import plot
from llise.diagnosis.result import BLOCK_LABELS
from llise.labels import LABELS
from llise.output.words import COLOURS, NAMES

PLACES = np.random.default_rng(0).normal(size=(21, 2))
KINDS_OF_PLACES = [LABELS[i % 7] for i in range(21)]


@pytest.fixture
def axes():
    return plot.panels(1, 1, 4, 4)[1][0, 0]


def pixels(axes):
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def shows(axes, colour):
    """Whether the figure has pixels of a colour."""
    wanted = np.round(255 * np.array(colors.to_rgb(colour)))
    return bool((np.abs(pixels(axes).astype(int) - wanted).max(axis=-1) <= 2).any())


def test_a_map_has_points_of_each_kind_in_its_colour(axes):
    plot.image_map(PLACES, KINDS_OF_PLACES, size=80, ax=axes)
    offsets = np.concatenate([np.asarray(points.get_offsets()) for points in axes.collections])
    assert sorted(offsets.tolist()) == sorted(PLACES.tolist()) and len(axes.collections) == 7
    assert all(shows(axes, colour) for colour in COLOURS[:7])


def test_a_map_of_values_has_one_scale(axes):
    plot.image_map(PLACES, values=np.arange(21), ax=axes)
    np.testing.assert_array_equal(axes.collections[0].get_array(), np.arange(21))
    assert plot.image_map(PLACES, ax=axes).collections[1].get_array() is None


def test_thumbnails_are_at_their_places_and_do_not_overlap(axes):
    images = np.stack([np.full((16, 16), 12 * i, np.uint8) for i in range(21)])
    plot.image_map(PLACES, images=images, thumbnails=5, ax=axes)
    pixels(axes)
    assert 1 < len(axes.artists) <= 5
    for box in axes.artists:
        number = int(np.flatnonzero((box.xy == PLACES).all(axis=1))[0])
        assert (np.asarray(box.offsetbox.get_data()) == 12 * number).all()
    frames = [box.offsetbox.get_window_extent() for box in axes.artists]
    assert not any(a.overlaps(b) for i, a in enumerate(frames) for b in frames[:i])


@pytest.mark.parametrize(("arguments", "message"), [
    ({"places": np.zeros((3, 3))}, r"places have shape \(3, 3\); expected \(n, 2\)"),
    ({"places": PLACES, "labels": ["blur"]}, "1 labels for 21 places"),
    ({"places": PLACES, "images": np.zeros((2, 8, 8), np.uint8)}, "2 images for 21 places"),
    ({"places": PLACES[:1], "labels": ["blur"], "values": [1.0]}, "exclude each other"),
])  # fmt: skip
def test_what_does_not_belong_together_is_refused(arguments, message, axes):
    with pytest.raises(ValueError, match=message):
        plot.image_map(**arguments, ax=axes)


def test_a_block_map_has_the_colours_and_shares_of_a_diagnosis(axes):
    diagnosis = two_regions(context(64, 96))
    plot.block_map(diagnosis, alpha=1.0, ax=axes)
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    expected = [f"{NAMES[label]} {100 * share:.0f} %" for label, share in diagnosis.shares.items() if share]
    assert legend == expected and len(legend) == 3
    kinds = [label for label, share in diagnosis.shares.items() if share and label != "original"]
    assert all(shows(axes, COLOURS[BLOCK_LABELS.index(kind)]) for kind in kinds)
    overlay = axes.images[1].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(overlay), diagnosis.block_labels == 0)


def test_a_block_map_ends_at_the_edge_of_the_image(axes):
    plot.block_map(np.ones((3, 3), int), picture(20, 18), ax=axes)
    assert axes.get_xlim() == (0, 18) and axes.get_ylim() == (20, 0)
    plot.block_map(np.ones((5, 5), int), picture(20, 18), block_size=4, ax=axes)
    assert axes.images[-1].get_extent() == [0, 20, 20, 0]


@pytest.mark.parametrize("codes", [np.zeros(4, int), np.array([[0, len(BLOCK_LABELS)]]), np.array([[-1]])])
def test_codes_that_are_no_labels_are_refused(codes, axes):
    with pytest.raises(ValueError, match=f"expected rows and columns of 0 to {len(BLOCK_LABELS) - 1}"):
        plot.block_map(codes, ax=axes)


def test_a_confusion_matrix_shows_shares_of_each_row(axes):
    plot.confusion_matrix([[6, 2], [0, 0]], ["a", "b"], right=0.75, ax=axes)
    assert [text.get_text() for text in axes.texts] == ["75.0% right", "75", "25"]
    np.testing.assert_array_equal(axes.images[0].get_array(), [[0.75, 0.25], [0, 0]])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    with pytest.raises(ValueError, match=r"shape \(2, 3\); expected 2 x 2"):
        plot.confusion_matrix(np.zeros((2, 3)), ["a", "b"], ax=axes)


def test_numbers_of_a_confusion_matrix_can_be_read_on_both_grounds():
    for dark in (False, True):
        with plot.theme(dark):
            axes = plot.confusion_matrix([[1, 0], [2, 8]], ["a", "b"], ax=plot.panels(1, 1, 3, 3)[1][0, 0])
            shades = axes.images[0].cmap
            for text, share in zip(axes.texts, (1.0, 0.2, 0.8)):
                ground = np.array(shades(share)[:3])
                assert np.abs(np.array(colors.to_rgb(text.get_color())) - ground).sum() > 1.2, (dark, share)


def test_convergence_draws_curves_bands_and_solvers_without_iterations(axes):
    curves = {"slow": ([1, 10, 100], [[1, 1, 1], [2, 2, 2], [3, 3, 3]]), "exact": ([1], [0.5])}
    plot.convergence(curves, colors={"slow": "#ff0000"}, dashes={"slow": "--"}, marked=10, ax=axes)
    slow, exact, mark = axes.lines
    np.testing.assert_array_equal(slow.get_ydata(), [2, 2, 2])
    assert slow.get_color() == "#ff0000" and slow.get_linestyle() == "--"
    assert list(exact.get_ydata()) == [0.5, 0.5] and list(mark.get_xdata()) == [10, 10]
    assert len(axes.collections) == 1 and axes.get_xscale() == "log"


def test_a_theme_ends_with_its_block_and_sets_ground_and_text():
    before = rcParams["figure.facecolor"]
    for dark, chosen in ((False, plot.LIGHT), (True, plot.DARK)):
        with plot.theme(dark):
            drawn = plot.picture(picture(32, 32), "a title", ax=plot.panels(1, 1, 2, 2)[1][0, 0])
            assert drawn.figure.get_facecolor() == colors.to_rgba(chosen.background)
            assert drawn.title.get_color() == chosen.ink
    assert rcParams["figure.facecolor"] == before


def test_a_learners_map_is_drawn_without_axes_in_a_new_figure():
    from matplotlib import pyplot

    learner = llise.LLE(2, n_neighbors=3).fit(np.random.default_rng(0).random((9, 4, 5)))
    axes = plot.image_map(learner.image_map())
    assert axes.figure.number in pyplot.get_fignums() and len(axes.collections) == 1
    pyplot.close(axes.figure)


def test_matplotlib_is_imported_for_figures_only_and_named_where_it_is_missing():
    code = """if True:
        import sys, llise
        llise.LLE, llise.diagnose, llise.trustworthiness
        assert "matplotlib" not in sys.modules
        sys.modules["matplotlib"] = None
        try:
            llise.plot
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'llise[plot]'" in done.stdout, done.stderr
