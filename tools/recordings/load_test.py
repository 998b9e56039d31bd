"""Takes a screenshot of a load test's report in Chromium. Its answers are made up, and the report says so."""

from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from slipway.measuring.figures.results import Results
from slipway.measuring.report.files import write
from support import chromium
from support.measured import results, streamed

_CLIENTS = (1, 2, 4, 8, 16, 32)


def made_up() -> Results:
    """Results whose answers take longer with more clients; at 32 clients one answer in twenty fails."""
    loads = [streamed(each, 120, clients=each, failing=20 if each == 32 else 0) for each in _CLIENTS]
    return results(*loads, stand_in=True, region=None)


def screenshot() -> bytes:
    """A PNG of the upper part of the page."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = write(made_up(), Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium.demand(), args=chromium.arguments())
        page = browser.new_page(color_scheme="light", viewport={"width": 1120, "height": 1010})
        page.goto(page_file.as_uri())
        return page.screenshot(scale="css")
