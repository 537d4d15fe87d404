"""The page of llise serve in a real browser: chosen and dropped files, verdicts, report, downloads."""

import json
import time

import numpy as np
import pytest
from PIL import Image
from samples import picture

pytest.importorskip("selenium", reason="selenium is not installed (extra 'test')")
pytest.importorskip("starlette", reason="Starlette is not installed (extra 'serve')")
from browsing import column, emulate, one, resize, serious_findings, wait_for
from serving import served

DROP = """
const data = new DataTransfer(), zone = document.querySelector(`.zone[data-field=${arguments[0]}]`);
for (const [name, text] of arguments[1]) {
  data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
}
for (const type of ["dragenter", "dragover", "drop"]) {
  zone.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
}
"""
DONE = "return !document.getElementById('done').hidden"
HOSTILE = "<img src=x onerror=window.hacked=1>.png"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    limits = {"max_bytes": 200_000, "max_files": 5}
    with pytest.MonkeyPatch.context() as patch, served(patch, tmp_path_factory.mktemp("serve"), **limits) as server:
        yield server


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A reference, copies of it, a broken file and one that is too large, by name."""
    folder = tmp_path_factory.mktemp("pictures")
    reference = picture(64, 96)
    noise = np.random.default_rng(0).normal(0, 15, reference.shape)
    noisy = np.uint8(np.clip(reference + noise, 0, 255))
    for name, image in [
        ("ref.png", reference),
        ("noisy.png", noisy),
        ("same.png", reference),
        (HOSTILE, reference // 2),
    ]:
        Image.fromarray(image).save(folder / name)
    (folder / "broken.png").write_bytes(b"nothing")
    (folder / "large.png").write_bytes(bytes(300_000))
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture
def page(browser, server):
    resize(browser, 1200)
    emulate(browser)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(server.address)
    return browser


def choose(page, files, reference, *copies):
    one(page, "#reference").send_keys(str(files[reference]))
    one(page, "#copies").send_keys("\n".join(str(files[name]) for name in copies))


def test_chosen_files_are_judged_and_the_report_opens(page, server, files):
    assert not one(page, "#compare").is_enabled()
    choose(page, files, "ref.png", "noisy.png", "broken.png", "same.png", HOSTILE)
    one(page, "#compare").click()
    wait_for(page, DONE)
    rows = [row.text for row in page.find_elements("css selector", "#rows tr")]
    assert len(rows) == 4 and "not an image" in rows[1] and "No difference beyond rounding." in rows[2]
    assert HOSTILE in rows[3] and page.execute_script("return window.hacked") is None
    assert one(page, "#status").text == "Done."
    asked = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in page.get_log("performance")
        if 'Network.requestWillBeSent"' in entry["message"]
    ]
    assert asked and all(address.startswith((server.address, "data:")) for address in asked)
    one(page, "#open-report").click()
    wait_for(page, "return document.body.dataset.shown === '0'")
    assert column(page, 2) == ["noisy.png", "same.png", HOSTILE]
    assert "broken.png: not an image" in one(page, "#failures").text
    assert page.get_log("browser") == []


def test_dropped_files_are_judged_and_saved(page, files, browser, tmp_path):
    from base64 import b64encode

    content = {name: b64encode(path.read_bytes()).decode() for name, path in files.items()}
    page.execute_script(DROP, "reference", [["ref.png", content["ref.png"]]])
    page.execute_script(DROP, "copies", [["noisy.png", content["noisy.png"]]])
    one(page, "#copies").send_keys(str(files["same.png"]))
    names = [item.text for item in page.find_elements("css selector", "#copies-list li")]
    assert names == ["noisy.png", "same.png"]  # what is chosen is added to what was dropped
    one(page, "#compare").click()
    wait_for(page, DONE)
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    for link in ("#save-html", "#save-json"):
        one(page, link).click()
    saved = {tmp_path / "llise-report.html", tmp_path / "llise-results.json"}
    for _ in range(100):
        if saved == set(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert json.loads((tmp_path / "llise-results.json").read_text())["reference"] == "ref.png"
    assert "Diagnosis against ref.png" in (tmp_path / "llise-report.html").read_text()


def test_a_selection_dropped_on_the_reference_has_the_copies_too(page, files):
    page.execute_script(DROP, "reference", [["ref.png", ""], ["a.png", ""], ["b.png", ""]])
    assert one(page, "#reference-list").text == "ref.png" and one(page, "#status").text == "Reference, 2 copies"
    assert [item.text for item in page.find_elements("css selector", "#copies-list li")] == ["a.png", "b.png"]


def test_what_would_be_refused_is_said_before_it_is_sent(page, files):
    choose(page, files, "ref.png", "large.png")
    assert "large.png: larger than 0.2 MB" in one(page, "#error").text
    assert not one(page, "#compare").is_enabled()
    one(page, "#clear").click()
    wait_for(page, "return document.getElementById('error').hidden")
    choose(page, files, "ref.png", "noisy.png")
    assert one(page, "#compare").is_enabled()


def test_too_many_copies_are_said_before_they_are_sent(page, files):
    one(page, "#reference").send_keys(str(files["ref.png"]))
    page.execute_script(DROP, "copies", [[f"{i}.png", ""] for i in range(6)])
    assert "More than 5 copies" in one(page, "#error").text and not one(page, "#compare").is_enabled()


def test_a_broken_reference_is_said_and_starting_again_clears_everything(page, server, files):
    choose(page, files, "broken.png", "noisy.png")
    one(page, "#compare").click()
    wait_for(page, "return !document.getElementById('error').hidden")
    assert one(page, "#error").text.startswith("broken.png: not an image")
    one(page, "#clear").click()
    wait_for(page, "return document.getElementById('results').hidden")
    assert not page.find_elements("css selector", ".names li") and not one(page, "#compare").is_enabled()


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_serious_accessibility_findings_and_fits(page, files, axe, scheme, width):
    resize(page, width)
    emulate(page, scheme)
    assert serious_findings(page, axe) == {}
    choose(page, files, "ref.png", "noisy.png", "broken.png")
    one(page, "#compare").click()
    wait_for(page, DONE)
    assert serious_findings(page, axe) == {}
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
