"""Runs one Chromium, and watches every page that a test opens for what our pages must never do."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from support import chromium
from support.patience import PATIENCE_IN_SECONDS

Visit = Callable[..., Page]
expect.set_options(timeout=1000 * PATIENCE_IN_SECONDS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium.demand(), args=chromium.arguments())


@pytest.fixture
def troubles() -> list[str]:
    """Collect requests to other origins, breaches of the policy and errors of scripts; any of them fails the test."""
    return []


@pytest.fixture
def visit(browser: Browser, troubles: list[str]) -> Iterator[Visit]:
    """Open a URL in a new profile. `options`: those of Playwright's contexts. `clock`: whether the test moves time."""
    contexts: list[BrowserContext] = []

    def open_page(url: str, *, clock: bool = False, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(1000 * PATIENCE_IN_SECONDS)
        page = context.new_page()
        watch(page, urlsplit(url).netloc, troubles)
        if clock:
            page.clock.install()
        page.goto(url)
        expect(page.locator("#model")).not_to_have_text("Playground")  # the page has its configuration
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def watch(page: Page, host: str, troubles: list[str]) -> None:
    """Record what a page must not do. `host`: the page's host; empty if it is a file."""

    def look_at_message(message: Any) -> None:
        # The console also reports a status of 4xx or 5xx as an error.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            troubles.append(message.text)

    def look_at_request(request: Any) -> None:
        if not request.url.startswith("data:") and urlsplit(request.url).netloc != host:
            troubles.append(f"asked {request.url}")

    def look_at_dialog(dialog: Any) -> None:
        troubles.append("a dialog")
        dialog.dismiss()

    page.on("console", look_at_message)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", look_at_request)
    page.on("dialog", look_at_dialog)
