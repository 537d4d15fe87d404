"""Ways to look at an image of the report: difference, swipe, zoom, keys, paper, many rows; and accessibility."""

import base64
import re
import time

import numpy as np
import pytest
from samples import SCENES, context, diagnosis, two_regions

from llise.output import pictures
from llise.output.page import HtmlReport
from llise.output.pictures import DISPLAY_SIDE

selenium = pytest.importorskip("selenium", reason="selenium is not installed (extra 'test')")
from browsing import drawn, emulate, one, opened, press, resize, serious_findings, wait_for  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

MANY = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("viewer")


@pytest.fixture(scope="module")
def scenes(browser, folder):
    of = context(126, 190)
    with HtmlReport(folder / "scenes.html", of) as page:
        for scene in SCENES:
            page.add(scene(of))
        page.add_failure("a.png: truncated")
    return (folder / "scenes.html").as_uri()


@pytest.fixture
def page(browser, scenes):
    """The report of all scenes, with the third, of two regions, open."""
    show(opened(browser, scenes), 3)
    return browser


@pytest.fixture(scope="module")
def large(browser, folder):
    """An image that is shown smaller than it is; its copy has a fault in each of two regions."""
    of = context(800, DISPLAY_SIDE + 176)
    result = two_regions(of)
    result.file = "large.png"
    with HtmlReport(folder / "large.html", of) as page:
        page.add(result)
    return (folder / "large.html").as_uri()


@pytest.fixture(scope="module")
def many(browser, folder):
    """3000 images; every tenth is a doubtful JPEG."""
    of = context(16, 16)
    results = {kind: diagnosis(of, (kind,), confidence=sure) for kind, sure in [("blur", 0.95), ("jpeg", 0.6)]}
    coded = {}  # the pictures are always the same: each is compressed once

    def picture_uri(image, *settings, **options):
        key = image.tobytes(), *settings, *options.values()
        coded[key] = coded.get(key) or pictures.picture_uri(image, *settings, **options)
        return coded[key]

    with pytest.MonkeyPatch.context() as patch, HtmlReport(folder / "many.html", of, n_images=MANY) as page:
        patch.setattr("llise.output.page.picture_uri", picture_uri)
        for i in range(MANY):
            result = results["jpeg" if i % 10 == 0 else "blur"]
            result.file, result.ssim, result.psnr = f"copies/image {i}.png", (i * 7919 % MANY) / MANY, 30.0
            page.add(result)
    return folder / "many.html"


def show(driver, index):
    driver.find_elements("css selector", "#rows tr")[index].click()
    wait_for(driver, f"return document.body.dataset.shown === '{index}'")


def rows_in_sight(driver):
    """Names of the rows that lie inside the frame of the table."""
    return driver.execute_script(
        "const f = document.getElementById('table-frame').getBoundingClientRect(), head = 20;"
        "return [...document.querySelectorAll('#rows tr')].filter((row) => {const r = row.getBoundingClientRect();"
        "return r.top >= f.top + head && r.bottom <= f.bottom + 1}).map((row) => row.children[1].textContent)"
    )


def grey(driver, x, y):
    """A pixel of the canvas, at shares of its width and height."""
    return driver.execute_script(
        "const c = document.getElementById('canvas');"
        "return c.getContext('2d').getImageData(arguments[0] * c.width, arguments[1] * c.height, 1, 1).data[0]", x, y
    )  # fmt: skip


@pytest.mark.parametrize("width", [390, 800, 1024, 1366, 1920])
def test_a_click_on_a_row_brings_the_image_into_sight(page, width):
    resize(page, width, 800)
    page.execute_script("scrollTo(0, 0)")
    row = page.find_elements("css selector", "#rows tr")[1]
    row.click()
    wait_for(page, "return document.body.dataset.shown === '1'")
    top, bottom = page.execute_script(
        "return ['file', 'verdict'].map((id) => document.getElementById(id).getBoundingClientRect())"
        ".map((box, i) => i ? box.bottom : box.top)"
    )
    assert 0 <= top < bottom <= 800


def test_the_way_back_to_the_table_is_shown_where_it_is_needed(page):
    assert not one(page, "#to-table").is_displayed()
    resize(page, 390)
    show(page, 1)
    assert page.execute_script("return scrollY") > 0
    one(page, "#to-table").click()
    top = "return document.getElementById('summary').getBoundingClientRect().top"
    assert abs(page.execute_script(top)) < 20


def test_confidence_is_visible_on_a_phone(page):
    resize(page, 390)
    cell = one(page, "#rows tr[data-index='5'] .doubt")
    assert cell.is_displayed() and cell.text.replace("\u00a0", " ") == "62 % ?"
    frame, text = one(page, "#table-frame").rect, cell.rect
    assert frame["x"] <= text["x"] and text["x"] + text["width"] <= frame["x"] + frame["width"]
    show(page, 5)
    assert "62 % ?: check this one yourself" in one(page, "#confidence").text.replace("\u00a0", " ")


def test_the_difference_is_grey_where_nothing_differs(page):
    press(page, "overlay", "off")
    press(page, "picture", "difference")
    lighter = grey(page, 0.8, 0.75)
    assert abs(grey(page, 0.1, 0.9) - 128) <= 3 and lighter > 170
    assert "lighter by" in one(page, "#scale").text


def test_swipe_shows_the_copy_on_the_left_and_the_reference_on_the_right(page):
    press(page, "overlay", "off")
    copy, pictures = (drawn(page), {})
    for name in ("reference", "swipe"):
        press(page, "picture", name)
        pictures[name] = drawn(page)
    slider = one(page, "#swipe")
    slider.send_keys(Keys.END)
    assert drawn(page) == copy
    slider.send_keys(Keys.HOME)
    assert drawn(page) == pictures["reference"]
    assert pictures["swipe"] not in (copy, pictures["reference"])


def test_the_divider_follows_the_pointer(page):
    press(page, "picture", "swipe")
    canvas = one(page, "#canvas")
    quarter = round(-canvas.rect["width"] / 4)
    ActionChains(page).move_to_element_with_offset(canvas, quarter, 0).perform()
    assert abs(float(one(page, "#swipe").get_attribute("value")) - 25) <= 2
    assert one(page, "#divider").is_displayed() and one(page, "#label-copy").is_displayed()


def test_the_overlay_of_ssim_covers_only_what_is_bad(page):
    press(page, "overlay", "off")
    one(page, "#opacity").send_keys(Keys.END)
    places = {"good": (0.1, 0.9), "bad": (0.2, 0.28)}
    before = {name: grey(page, *place) for name, place in places.items()}
    press(page, "overlay", "ssim")
    after = {name: grey(page, *place) for name, place in places.items()}
    assert abs(after["good"] - before["good"]) <= 3
    assert abs(after["bad"] - before["bad"]) > 3


def visible(driver):
    """The part of the picture that is in sight: x, y, width, height."""
    return [float(number) for number in one(driver, "#outlines").get_dom_attribute("viewBox").split()]


def test_buttons_and_keys_zoom_and_the_whole_picture_comes_back(page):
    before = drawn(page)
    assert visible(page) == [0, 0, 190, 126] and not one(page, "#zoom-out").is_enabled()
    one(page, "#zoom-in").click()
    x, y, width, height = visible(page)
    assert width == pytest.approx(190 / 1.5) and width / height == pytest.approx(190 / 126)
    assert x == pytest.approx((190 - width) / 2) and y == pytest.approx((126 - height) / 2)
    assert drawn(page) != before and one(page, "#zoom").text == "1.5×"
    canvas = one(page, "#canvas")
    canvas.send_keys("+", "+")
    assert visible(page)[2] == pytest.approx(190 / 1.5**3)
    canvas.send_keys("0")
    assert visible(page) == [0, 0, 190, 126] and drawn(page) == before


def test_a_drag_moves_the_zoomed_picture_and_the_wheel_zooms_at_the_pointer(page):
    canvas = one(page, "#canvas")
    canvas.send_keys("+", "+", "+")
    x, y, width, _ = visible(page)
    move = round(canvas.rect["width"] / 8)
    ActionChains(page).move_to_element(canvas).click_and_hold().move_by_offset(move, 0).release().perform()
    assert visible(page)[0] == pytest.approx(x - width / 8, abs=width / 50) and visible(page)[1] == y
    wheel = (
        "const c = document.getElementById('canvas'), r = c.getBoundingClientRect();"
        "const e = new WheelEvent('wheel', {ctrlKey: arguments[0], deltaY: -100, clientX: r.left + 1,"
        "clientY: r.top + 1, cancelable: true}); c.dispatchEvent(e); return e.defaultPrevented"
    )
    before = visible(page)
    assert page.execute_script(wheel, False) is False and visible(page) == before  # the page scrolls as usual
    assert page.execute_script(wheel, True) is True
    assert visible(page)[:2] == pytest.approx(before[:2], abs=1) and visible(page)[2] == pytest.approx(before[2] / 1.25)


def test_the_block_that_keys_select_stays_in_sight(page):
    canvas = one(page, "#canvas")
    canvas.send_keys(*["+"] * 4, *[Keys.ARROW_DOWN] * 16, *[Keys.ARROW_RIGHT] * 24)
    assert "row 16, column 24;" in one(page, "#block").text
    x, y, width, height = visible(page)
    assert x + width == pytest.approx(190) and y + height == pytest.approx(126)


def test_a_large_picture_has_full_resolution_where_its_faults_are(browser, large):
    page = opened(browser, large)
    assert len(page.find_elements("css selector", "#patches li")) == 2
    press(page, "overlay", "off")
    one(page, "[data-patch='0']").click()
    x, y, width, _ = visible(page)
    assert width < 400
    image = two_regions(context(800, DISPLAY_SIDE + 176)).image
    # Noise of single pixels is still there in the middle of the patch, where the stored picture has lost it.
    code = (
        "const c = document.getElementById('canvas'), p = c.getContext('2d'), k = c.width / arguments[2];"
        "return arguments[3].map(([px, py]) =>"
        "p.getImageData((px + .5 - arguments[0]) * k, (py + .5 - arguments[1]) * k, 1, 1).data[0])"
    )
    box = page.execute_script("return JSON.parse(document.getElementById('image-0').textContent).patches[0].box")
    places = [(box[0] + 60 + i % 16, box[1] + 60 + i // 16) for i in range(256)]
    seen = np.array(page.execute_script(code, x, y, width, places), float)
    true = np.array([image[py, px] for px, py in places], float)
    smooth = np.abs(np.diff(true.reshape(16, 16), axis=1)).mean()
    assert np.abs(seen - true).mean() < smooth / 3


def test_the_viewer_is_reached_in_two_tab_stops_and_the_rows_are_one(page):
    page.refresh()
    wait_for(page, "return document.body.dataset.shown !== undefined")
    ActionChains(page).send_keys(Keys.TAB).perform()
    assert page.switch_to.active_element.text == "Skip to the picture"
    ActionChains(page).send_keys(Keys.ENTER).perform()
    assert page.switch_to.active_element.get_attribute("id") == "canvas"
    stops = "return document.querySelectorAll('#rows [tabindex=\"0\"]').length"
    assert page.execute_script(stops) == 1


def test_arrow_keys_open_the_rows_and_enter_goes_on_to_the_image(page):
    button = one(page, "#rows tr[aria-current] .open")
    button.send_keys(Keys.ARROW_DOWN)
    wait_for(page, "return document.body.dataset.shown === '4'")
    assert page.switch_to.active_element.text.replace("\n", "") == "mixture.png"
    page.switch_to.active_element.send_keys(Keys.END)
    wait_for(page, f"return document.body.dataset.shown === '{len(SCENES) - 1}'")
    page.switch_to.active_element.send_keys(Keys.HOME)
    wait_for(page, "return document.body.dataset.shown === '0'")
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("id") == "file"


def test_the_search_finds_files_kinds_and_doubt_and_steps_stay_inside(page):
    search = one(page, "#search")
    for text, files in [
        ("MIXTURE", ["mixture.png"]),
        ("doubtful contrast", ["doubtful.png"]),
        ("in 3 pixels", ["hot pixels.png"]),
    ]:
        search.clear()
        search.send_keys(text)
        assert [row.text.replace("\n", "") for row in page.find_elements("css selector", ".open")] == files
    assert one(page, "#count").text == f"1 of {len(SCENES)}"
    search.clear()
    search.send_keys("no such image")
    assert one(page, "#nothing").is_displayed() and not page.find_elements("css selector", "#rows tr")
    search.send_keys(*[Keys.BACKSPACE] * 20)
    assert len(page.find_elements("css selector", "#rows tr")) == len(SCENES)


def test_a_table_of_thousands_draws_the_rows_in_sight_and_sorts_all(browser, many):
    assert many.stat().st_size < 20_000_000
    page = opened(browser, many.as_uri())
    drawn_rows = "return document.querySelectorAll('#rows tr').length"
    assert page.execute_script(drawn_rows) < 100
    assert rows_in_sight(page)[:3] == ["image 0.png", "image 1.png", "image 2.png"]
    page.execute_script("document.getElementById('table-frame').scrollTop = 54 * 1500")
    wait_for(page, "return document.querySelector('#rows').textContent.includes('image 1505.png')")
    assert {"image 1502.png", "image 1505.png"} <= set(rows_in_sight(page)) and page.execute_script(drawn_rows) < 100
    for width in (390, 1366, 1600):  # columns are hidden on narrow screens; the others fill the table
        resize(page, width)
        edges = "return [...arguments].map((e) => e.getBoundingClientRect().right)"
        frame, row = page.execute_script(edges, one(page, "#table-frame"), one(page, "#rows tr"))
        last = page.execute_script("return document.querySelector('#rows td:last-child').getBoundingClientRect().right")
        assert frame - 20 < last <= row + 1
    one(page, "button[data-key=ssim]").click()
    order = sorted(range(MANY), key=lambda i: (i * 7919 % MANY, i))
    assert rows_in_sight(page)[:3] == [f"image {i}.png" for i in order[:3]]
    one(page, "#search").send_keys("jpeg")
    assert one(page, "#count").text == f"{MANY // 10} of {MANY}"
    expected = [i for i in order if i % 10 == 0]
    assert rows_in_sight(page)[:3] == [f"image {i}.png" for i in expected[:3]]
    one(page, "#rows .open").send_keys(Keys.END)
    wait_for(page, f"return document.body.dataset.shown === '{expected[-1]}'")
    assert rows_in_sight(page)[-1] == f"image {expected[-1]}.png"
    assert page.switch_to.active_element.get_attribute("title") == f"copies/image {expected[-1]}.png"


def test_an_address_with_a_number_opens_that_image_among_thousands(browser, many):
    browser.get("about:blank")
    browser.get(f"{many.as_uri()}#2501")
    wait_for(browser, "return document.body.dataset.shown === '2500'")
    assert "image 2500.png" in rows_in_sight(browser)


def test_paper_has_every_image_with_its_faults(page):
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert len(re.findall(rb"/Subtype /Image", pdf)) == len(SCENES)  # one copy equals the reference
    # While it is printed, each image has an article; afterwards the page is as before.
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    page.execute_script("document.documentElement.dataset.theme = 'dark'")
    emulate(page, "dark", media="print")
    assert page.execute_script("return getComputedStyle(document.body).color") == "rgb(27, 31, 36)"  # dark on paper
    articles = page.find_elements("css selector", "#paper article")
    assert [article.find_element("css selector", "h2").text for article in articles] == [
        scene(context(126, 190)).file for scene in SCENES
    ]
    assert not one(page, "#main").is_displayed()
    loaded = "return [...document.querySelectorAll('#paper img')].every((i) => i.complete && i.naturalWidth > 0)"
    wait_for(page, loaded)
    assert len(articles[3].find_elements("css selector", "svg g")) == 2
    assert "14 % of the area" in articles[3].text.replace("\u00a0", " ")
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    emulate(page)
    assert not page.find_elements("css selector", "#paper article") and one(page, "#main").is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1366])
def test_the_report_has_no_serious_accessibility_findings(page, axe, scheme, width):
    resize(page, width)
    emulate(page, scheme)
    for index in (3, 5):
        show(page, index)
        press(page, "picture", "swipe")
        time.sleep(0.3)  # bars grow
        assert serious_findings(page, axe) == {}


def test_a_large_picture_has_no_serious_accessibility_findings(browser, large, axe):
    assert serious_findings(opened(browser, large), axe) == {}


def test_the_error_of_the_selected_block_is_its_own(page):
    of = context(126, 190)
    severity = two_regions(of).block_severity
    row, col = np.unravel_index(severity.argmax(), severity.shape)
    text = one(page, "#block").text
    assert f"row {row + 1}, column {col + 1};" in text
    assert f"MSE {severity[row, col]:.0f} in this block" in text
