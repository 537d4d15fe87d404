"""Settings that must be made before anything is imported, and the browser that several files of tests share."""

import os

import pytest

# scikit-learn's estimator checks on array API input run only under this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium; tests are skipped where it or selenium is missing."""
    pytest.importorskip("selenium", reason="selenium is not installed (extra 'test')")
    from browsing import start_browser

    driver = start_browser(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def axe(pytestconfig):
    """The script of axe-core."""
    from browsing import axe_script

    return axe_script(pytestconfig.cache.mkdir("axe-core"))
