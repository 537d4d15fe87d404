"""The faults of an image in the report, in a real browser."""

import numpy as np
import pytest
from samples import SCENES, context, two_regions

from llise.output.page import HtmlReport

selenium = pytest.importorskip("selenium", reason="selenium is not installed (extra 'test')")
from browsing import assert_no_request_left, drawn, one, opened, press, resize, wait_for  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    """All sorts of diagnoses."""
    path = tmp_path_factory.mktemp("page") / "regions.html"
    of = context(126, 190)
    with HtmlReport(path, of, title="Regions") as page:
        for scene in SCENES:
            page.add(scene(of))
    return path.as_uri()


@pytest.fixture
def scenes(browser, regions):
    return opened(browser, regions)


def show(driver, name):
    """Open the image of a scene."""
    index = [scene.__name__ for scene in SCENES].index(name)
    driver.find_elements("css selector", "#rows tr")[index].click()
    wait_for(driver, f"return document.body.dataset.shown === '{index}'")


def outlined(driver):
    """Numbers of the faults that are outlined on the picture."""
    return driver.execute_script(
        "return [...document.querySelectorAll('#outlines g')].map((group) => Number(group.dataset.fault))"
    )


def test_every_fault_is_outlined_along_the_borders_of_its_region(scenes):
    show(scenes, "two_regions")
    assert outlined(scenes) == [0, 1]
    length = "return document.querySelectorAll('#outlines .line')[arguments[0]].getTotalLength()"
    for number, item in enumerate(two_regions(context(126, 190)).faults):
        inside = np.pad(np.kron(item.region, np.ones((8, 8), int))[:126, :190], 1)
        border = np.abs(np.diff(inside, axis=0)).sum() + np.abs(np.diff(inside, axis=1)).sum()
        assert scenes.execute_script(length, number) == pytest.approx(border)
    colours = {line.get_attribute("stroke") for line in scenes.find_elements("css selector", "#outlines .line")}
    assert len(colours) == 2


def test_the_faults_are_listed_with_estimate_interval_confidence_severity_and_area(scenes):
    show(scenes, "blur_over_jpeg")
    whole, part = (item.text.replace("\u00a0", " ") for item in scenes.find_elements("css selector", ".fault"))
    assert whole.startswith("1") and "JPEG compression, quality about 12, over the whole picture." in whole
    for text in ("91 %", "2.1 px (1.9 to 2.3)", "200 (strong)", "lower left, 14 % of the area", "95 % of the error"):
        assert text in part
    assert one(scenes, "#verdict").text.endswith("at the lower left (14 % of the area).")


@pytest.mark.parametrize("way", ["click", "keyboard"])
def test_pressing_a_fault_shows_it_alone_and_again_all(scenes, way):
    show(scenes, "two_regions")
    before, button = drawn(scenes), one(scenes, ".fault[data-fault='1']")
    press_it = button.click if way == "click" else lambda: button.send_keys(Keys.ENTER)
    press_it()
    assert button.get_attribute("aria-pressed") == "true" and outlined(scenes) == [1]
    assert len(scenes.find_elements("css selector", "#outlines .dim, #outlines .tint")) == 2
    assert drawn(scenes) != before
    press_it()
    assert button.get_attribute("aria-pressed") == "false" and outlined(scenes) == [0, 1]
    assert not scenes.find_elements("css selector", "#outlines .dim") and drawn(scenes) == before


def test_escape_and_another_image_show_all_faults_again(scenes):
    show(scenes, "two_regions")
    one(scenes, ".fault[data-fault='0']").click()
    ActionChains(scenes).send_keys(Keys.ESCAPE).perform()
    assert outlined(scenes) == [0, 1]
    one(scenes, ".fault[data-fault='0']").click()
    show(scenes, "blur_over_jpeg")
    assert outlined(scenes) == [0, 1] and not scenes.find_elements("css selector", "[aria-pressed=true]")


def test_without_overlay_only_a_fault_that_is_shown_alone_is_outlined(scenes):
    show(scenes, "two_regions")
    press(scenes, "overlay", "off")
    assert outlined(scenes) == []
    one(scenes, ".fault[data-fault='0']").click()
    assert outlined(scenes) == [0]


def test_a_doubtful_answer_looks_doubtful(scenes):
    show(scenes, "doubtful")
    assert "doubtful" in one(scenes, "#verdict").get_attribute("class")
    assert one(scenes, "#verdict").text.startswith("Probably ")
    assert one(scenes, ".fault.doubtful .doubt").text == "62 % ?"
    assert one(scenes, "#rows tr[aria-current] .doubt").text == "62 % ?"
    dashes = "return getComputedStyle(document.querySelector('#outlines .line')).strokeDasharray"
    assert scenes.execute_script(dashes) != "none"
    show(scenes, "mixture")
    assert "doubtful" not in one(scenes, "#verdict").get_attribute("class")
    assert scenes.execute_script(dashes) == "none"


def test_pristine_and_foreign_images_are_said_plainly(scenes):
    show(scenes, "pristine_copy")
    assert one(scenes, "#verdict").text == "No difference beyond rounding." and one(scenes, "#faults").text == "None."
    show(scenes, "other_scene")
    assert one(scenes, "#verdict").text == "This does not look like a copy of the reference."
    assert "not a copy" in one(scenes, "#rows tr[aria-current]").text


@pytest.mark.parametrize("width", [390, 1366])
def test_the_list_of_faults_fits_its_window(scenes, width):
    resize(scenes, width)
    for scene in SCENES:
        show(scenes, scene.__name__)
        assert scenes.execute_script("return document.documentElement.scrollWidth") <= width


def test_every_fault_is_outlined_and_the_console_stays_silent(scenes):
    for scene in SCENES:
        show(scenes, scene.__name__)
        assert len(outlined(scenes)) == len(scene(context(126, 190)).faults)
    assert scenes.get_log("browser") == []
    assert_no_request_left(scenes)
