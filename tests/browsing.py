"""Headless Chromium for tests: starting it, looking at pages, and the accessibility checks of axe-core."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    "disable-component-update disable-sync disable-dev-shm-usage hide-scrollbars"
)
AXE = "axe-core@4.14.0"
"""The npm package whose checks are run."""


def start_browser(profile):
    """A browser with a profile folder of its own, or a skipped test where there is none."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs the programs chromium and chromedriver on the PATH")
    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS.split(), f"user-data-dir={profile}"]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Chrome(options=options, service=Service(DRIVER))


def axe_script(folder):
    """The text of axe-core, fetched from npm once and then held in a folder; a skipped test where it cannot be had."""
    package = folder / f"{AXE.replace('@', '-')}.tgz"
    if not package.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("the accessibility checks need npm on the PATH, which fetches axe-core")
        try:
            command = [npm, "pack", "--silent", AXE]
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"npm could not fetch {AXE}: {error}")
    with tarfile.open(package) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def serious_findings(driver, axe):
    """What axe-core finds serious or critical: rule, and the elements."""
    driver.execute_script(axe)
    run = "const done = arguments[0]; axe.run(document).then((r) => done(r.violations), (e) => done(String(e)))"
    violations = driver.execute_async_script(run)
    assert isinstance(violations, list), violations
    return {
        item["id"]: [node["html"] for node in item["nodes"]]
        for item in violations
        if item["impact"] in ("serious", "critical")
    }


def emulate(driver, scheme="light", media=""):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def resize(driver, width, height=1000):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def opened(browser, address):
    """The page from the start, in a wide window, with empty logs."""
    resize(browser, 1600)
    emulate(browser)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get("about:blank")
    browser.get(address)
    wait_for(browser, "return document.body.dataset.shown === '0'")
    return browser


def wait_for(driver, script):
    WebDriverWait(driver, 10).until(lambda d: d.execute_script(script))


def one(driver, selector):
    return driver.find_element("css selector", selector)


def drawn(driver):
    """Pixels of the canvas; the frame around the block is left out by choosing block (0, 0) first."""
    return driver.execute_script("return document.getElementById('canvas').toDataURL()")


def press(driver, name, value):
    one(driver, f"input[name={name}][value={value}] + span").click()


def column(driver, number):
    cells = driver.find_elements("css selector", f"#rows td:nth-child({number})")
    return [cell.text.replace("\n", "") for cell in cells]


def assert_no_request_left(driver):
    entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]
    page = driver.current_url.split("#")[0]
    assert page in asked  # the log does record
    # Before the page is opened, newer browsers load the pictures of their own first page.
    assert {address.split(":")[0] for address in asked[asked.index(page) :]} <= {"file", "data", "about"}
