"""Accessibility and layout of the page: axe, keyboard, 360 px, dark, no shifts; and the guard of every page."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from browser.conftest import Visit
from support.stand_ins.api import Answerer, StandInApi, chat_chunks

ANSWERS: dict[str, Answerer] = {"POST generate": lambda _: (200, {}, [{"generated_text": "w" * 400}])}
MARKDOWN = "# A\n\n```python\n" + "x" * 400 + "\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [l](https://example.com)\n"
ERROR = {"error": {"code": "c", "message": "m" * 300, "field": "parameters.top_p"}}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def with_answers(page: Page) -> None:
    page.locator("#prompt").fill("Far")
    page.locator("#samples").fill("3")
    page.locator("#length").fill("wrong")
    page.locator("#length").fill("9")
    page.locator("#generate").click()
    expect(page.locator("#phase")).to_have_text("Done")
    page.locator("#code summary").click()
    page.locator("#history summary").click()


def with_an_error(page: Page, api: StandInApi) -> None:
    api.answers["POST generate"] = lambda _: (400, {}, ERROR)
    page.locator("#generate").click()
    expect(page.get_by_role("alert")).to_be_visible()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious(visit: Visit, scheme: str) -> None:
    with StandInApi(ANSWERS, jobs=False, auth="api-key") as api:
        page = visit(api.url, color_scheme=scheme, bypass_csp=True)  # axe evaluates texts
        page.get_by_label("API key").fill("k")
        found = violations(page)
        with_answers(page)
        found += violations(page)
        with_an_error(page, api)
        page.locator("#show-picture").click()
        found += violations(page)
    assert found == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [360, 1280])
def test_a_conversation_is_accessible_too(visit: Visit, scheme: str, width: int) -> None:
    answers: dict[str, Answerer] = {"POST chat/completions": lambda _: (200, {}, chat_chunks([MARKDOWN]))}
    with StandInApi(answers, streams=["chat"], chat_template=True) as api:
        viewport = {"width": width, "height": 740}
        page = visit(api.url, color_scheme=scheme, bypass_csp=True, viewport=viewport)
        for _ in range(2):
            page.get_by_label("Message", exact=True).fill("Hello")
            page.keyboard.press("Enter")
            expect(page.locator("#phase")).to_have_text("Done")
        page.get_by_role("button", name="Edit message 1").click()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def violations(page: Page) -> list[str]:
    report = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in report if each["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("width", [360, 1800])
def test_nothing_is_wider_than_the_screen(visit: Visit, width: int) -> None:
    with StandInApi(ANSWERS, jobs=False, auth="api-key") as api:
        page = visit(api.url, viewport={"width": width, "height": 740})
        page.get_by_label("API key").fill("k")
        with_answers(page)
        with_an_error(page, api)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_and_light_follow_the_reader(visit: Visit) -> None:
    with StandInApi({}) as api:
        grounds = {
            scheme: visit(api.url, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
            for scheme in SCHEMES
        }
    assert grounds["dark"] == "rgb(12, 21, 24)"
    assert grounds["light"] == "rgb(242, 245, 246)"


def test_nothing_moves_for_a_reader_who_wants_no_motion(visit: Visit) -> None:
    with StandInApi({}) as api:
        page = visit(api.url, reduced_motion="reduce")
        assert page.locator("#picture rect").first.evaluate("bar => getComputedStyle(bar).transitionDuration") == "0s"


def test_everything_is_done_with_the_keyboard_alone(visit: Visit) -> None:
    with StandInApi(ANSWERS, jobs=False) as api:
        page = visit(api.url)
        keys = page.keyboard
        keys.press("Tab")
        keys.press("Enter")  # the link that skips to the prompt
        keys.press("Tab")
        expect(page.locator("#prompt")).to_be_focused()
        keys.type("Far")
        tab_to(page.get_by_label("Temperature, slider"))
        keys.press("ArrowRight")
        expect(page.locator("#temperature")).to_have_value("0.85")
        keys.press("Control+Enter")
        expect(page.locator("#phase")).to_have_text("Done")
        assert api.called("POST generate")[0].body["parameters"]["temperature"] == 0.85
        tab_to(page.get_by_role("button", name="Copy sample 1"))
        page.locator("#code summary").focus()
        keys.press("Enter")
        keys.press("Tab")
        expect(page.get_by_role("tab", name="curl")).to_be_focused()
        keys.press("ArrowRight")
        expect(page.get_by_role("tab", name="Python")).to_be_focused()
        expect(page.locator("#snippet")).to_contain_text("urllib.request")


def tab_to(control: Locator) -> None:
    for _ in range(60):
        if control.evaluate("it => it === document.activeElement"):
            return
        control.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {control}")


COUNT_SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.shifts += each.value; })
  .observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_on_the_screen_moves_by_itself(visit: Visit, width: int) -> None:
    """Chromium's layout shifts add up to nothing, from the first paint through a wrong value to the answer."""
    with StandInApi({"POST generate": lambda _: (200, {}, [{"generated_text": "w"}])}, jobs=False) as api:
        page = visit(api.url, viewport={"width": width, "height": 740})
        page.add_init_script(COUNT_SHIFTS)
        page.reload()
        expect(page.locator("#endpoint-status")).to_have_text("Ready")
        page.locator("#length").fill("wrong")
        expect(page.locator("#length-hint")).to_have_text("Not a number.")
        page.locator("#length").fill("9")
        page.locator("#prompt").fill("Far")
        page.locator("#generate").click()
        expect(page.locator("#phase")).to_have_text("Done")
        with_an_error(page, api)
        expect(page.locator("#phase")).to_have_text("Failed")
        assert page.evaluate("window.shifts") < 0.02


def test_the_guard_sees_a_breach_of_the_policy_and_a_foreign_request(visit: Visit, troubles: list[str]) -> None:
    with StandInApi({}) as api:
        page = visit(api.url)
        page.evaluate("document.body.setAttribute('style', 'color: red')")
        page.evaluate("fetch('http://127.0.0.2/').catch(() => 0)")
        page.evaluate("try { document.body.innerHTML = '<b>x</b>' } catch (error) { console.error(error.message) }")
    assert len([each for each in troubles if "Content Security Policy" in each]) >= 2
    assert any("TrustedHTML" in each for each in troubles)
    troubles.clear()
