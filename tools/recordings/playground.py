"""Takes screenshots of the playground of `slipway local` in Chromium."""

import re
import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import expect, sync_playwright

from local_cloud.cloud import free_port
from support import chromium
from tools.recordings.recording import READY, Recording

_ASKED = {"prompt": "The function returns", "samples": "2", "length": "60", "top_k": "6", "top_p": "0.9", "seed": "7"}
_PATIENCE_IN_MS = 120_000


def screenshot(root: Path, scheme: Literal["light", "dark"], width: int, height: int) -> bytes:
    """A PNG of the page after two answers."""
    command = (sys.executable, "-m", "slipway", "local", "gpt2", "--port", str(free_port()))
    with Recording(root).command("", *command) as lines, sync_playwright() as playwright:
        printed = []
        for line in lines:
            printed.append(line)
            if READY in line:
                break
        (url,) = re.findall(r"^playground +(\S+)", "\n".join(printed), re.MULTILINE)
        browser = playwright.chromium.launch(executable_path=chromium.demand(), args=chromium.arguments())
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
        page.goto(url)
        for name, value in _ASKED.items():
            page.locator(f"#{name}").fill(value)
        page.locator("#generate").click()
        expect(page.locator("#phase")).to_have_text("Done", timeout=_PATIENCE_IN_MS)
        page.locator("#answers-title" if width < 960 else "header").scroll_into_view_if_needed()
        return page.screenshot(scale="css")
