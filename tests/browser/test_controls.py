"""The playground's controls: what they send, what they refuse, the picture, links, code, history."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Visit
from support.stand_ins.api import Call, StandInApi

ANSWER = [{"generated_text": " and far"}]


def at_once(call: Call) -> tuple[int, dict[str, str], Any]:
    return 200, {}, ANSWER


def standing_in(**config: Any) -> StandInApi:
    return StandInApi({"POST generate": at_once}, **({"jobs": False} | config))


def fill(page: Page, **values: str) -> None:
    for name, value in values.items():
        page.locator(f"#{name}").fill(value)


def sent_by(page: Page, api: StandInApi) -> list[Any]:
    page.locator("#generate").click()
    expect(page.locator("#phase")).to_have_text("Done")
    return sorted((call.body for call in api.called("POST generate")), key=json.dumps)


SETTINGS = {"samples": "2", "length": "30", "temperature": "0.7", "top_k": "40", "top_p": "0.9", "seed": "7"}
SAMPLING = {"temperature": 0.7, "top_k": 40, "top_p": 0.9}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"engine": "tgi", "bodies": ["inputs"]},
            [
                {"inputs": "Far", "parameters": {"max_new_tokens": 30, "do_sample": True, **SAMPLING, "seed": seed}}
                for seed in (7, 8)
            ],
        ),
        (
            {"engine": "vllm", "bodies": ["messages", "prompt"]},
            [{"prompt": "Far", "max_tokens": 30, **SAMPLING, "seed": seed} for seed in (7, 8)],
        ),
        (
            {"engine": "sglang", "bodies": ["messages"]},
            [
                {"messages": [{"role": "user", "content": "Far"}], "max_tokens": 30, **SAMPLING, "seed": seed}
                for seed in (7, 8)
            ],
        ),
        (
            {"engine": "transformers", "bodies": ["inputs", "messages", "prompt"]},
            [
                {"prompt": "Far", "num_samples": 2, "length": 30, "temperature": 0.7}
                | {"top_p": 0.9, "top_n": 40, "seed": 7}
            ],
        ),
    ],
    ids=lambda value: value["engine"] if isinstance(value, dict) else "",
)
def test_every_control_reaches_the_engine_under_its_own_name(
    visit: Visit, config: dict[str, Any], expected: list[Any]
) -> None:
    with standing_in(**config, parameters={}) as api:
        page = visit(api.url)
        page.locator("textarea:visible").fill("Far")
        fill(page, **SETTINGS)
        assert sent_by(page, api) == expected


def test_a_control_that_is_off_is_not_sent_and_zero_temperature_is_greedy(visit: Visit) -> None:
    with standing_in(bodies=["inputs"], parameters={"temperature": {"exclusive_minimum": 0}}) as api:
        page = visit(api.url)
        fill(page, prompt="Far", length="5", temperature="0", top_k="0", top_p="1", seed="")
        assert sent_by(page, api) == [{"inputs": "Far", "parameters": {"max_new_tokens": 5, "do_sample": False}}]


WRONG = [
    ("samples", "9", "Give a number from 1 to 8."),
    ("samples", "1.5", "Give a whole number."),
    ("length", "", "Give a number."),
    ("length", "2000", "lmi-vllm takes 1023 or less."),
    ("temperature", "hot", "Not a number."),
    ("temperature", "0,8", "Write 0.8, with a point."),
    ("temperature", "-1", "Give a number from 0 to 10."),
    ("top_k", "-3", "Give a number from 0 to 100000."),
    ("top_p", "1.2", "Give a number from 0.01 to 1."),
    ("top_p", "0.2", "lmi-vllm needs a number above 0.3."),
    ("seed", "x", "Not a number."),
]


def test_a_wrong_value_is_explained_beside_its_control_and_never_sent(visit: Visit) -> None:
    parameters = {"max_new_tokens": {"maximum": 1023}, "top_p": {"exclusive_minimum": 0.3}}
    with standing_in(parameters=parameters) as api:
        page = visit(api.url)
        page.locator("#prompt").fill("Far")
        for name, value, said in WRONG:
            control, hint = page.locator(f"#{name}"), page.locator(f"#{name}-hint")
            explanation, before = hint.inner_text(), control.input_value()
            control.fill(value)
            expect(hint).to_have_text(said)
            expect(control).to_have_attribute("aria-invalid", "true")
            page.locator("#generate").click()
            expect(control).to_be_focused()
            control.fill(before)
            expect(hint).to_have_text(explanation)
            expect(control).to_have_attribute("aria-invalid", "false")
        assert len(sent_by(page, api)) == 1


def test_an_empty_prompt_is_explained_and_never_sent(visit: Visit) -> None:
    with standing_in() as api:
        page = visit(api.url)
        page.locator("#generate").click()
        expect(page.locator("#prompt-hint")).to_have_text("Write a prompt.")
        expect(page.locator("#prompt")).to_be_focused()
        page.get_by_label("Chat").check()
        page.locator("#generate").click()
        expect(page.locator("#message-hint")).to_have_text("Write a message.")
        page.get_by_label("Message", exact=True).fill("Far")
        assert len(sent_by(page, api)) == 1


def test_sliders_examples_dice_and_reset_move_the_controls(visit: Visit) -> None:
    with standing_in() as api:
        page = visit(api.url)
        page.locator("[data-control=temperature] [type=range]").fill("1.5")
        expect(page.locator("#temperature")).to_have_value("1.5")
        page.locator("#top_k").fill("12")
        expect(page.locator("[data-control=top_k] [type=range]")).to_have_value("12")
        page.get_by_role("button", name="Dear neighbour").click()
        expect(page.locator("#prompt")).to_have_value("Dear neighbour, about the noise last night:")
        page.get_by_role("button", name="Random seed").click()
        assert page.locator("#seed").input_value().isdecimal()
        page.get_by_role("button", name="Reset").click()
        expect(page.locator("#temperature")).to_have_value("0.8")
        expect(page.locator("#prompt")).to_have_value("")


# By hand: softmax(logits / temperature), cut after k, then after the token that reaches p.
PICTURES = [
    ({"temperature": "0", "top_k": "0", "top_p": "1"}, 1, "Only \u201cblue\u201d can follow."),
    (
        {"temperature": "1", "top_k": "3", "top_p": "1"},
        3,
        "3 of 10 tokens can follow; \u201cblue\u201d comes in 53 % of all cases.",
    ),
    (
        {"temperature": "1", "top_k": "0", "top_p": "0.5"},
        2,
        "2 of 10 tokens can follow; \u201cblue\u201d comes in 65 % of all cases.",
    ),
    (
        {"temperature": "10", "top_k": "0", "top_p": "1"},
        10,
        "10 of 10 tokens can follow; \u201cblue\u201d comes in 12 % of all cases.",
    ),
]


def test_the_picture_shows_what_sampling_does(visit: Visit) -> None:
    with standing_in() as api:
        page = visit(api.url)
        expect(page.locator("#picture")).to_be_hidden()
        page.get_by_role("button", name="What sampling does").click()
        for values, kept, caption in PICTURES:
            fill(page, **values)
            expect(page.locator("#picture-caption")).to_have_text(caption)
            expect(page.locator("#picture g:not(.cut)")).to_have_count(kept)


def test_a_link_holds_the_set_up_and_never_the_key(visit: Visit) -> None:
    with standing_in(auth="api-key") as api:
        page = visit(api.url, permissions=["clipboard-read", "clipboard-write"])
        page.get_by_label("API key").fill("a-secret-key")
        fill(page, prompt="Far <b>away</b> & ümläut", temperature="0.3")
        page.get_by_role("button", name="Copy link").click()
        expect(page.locator("#share")).to_have_text("Copied")
        link = page.evaluate("navigator.clipboard.readText()")
        assert link == page.url
        assert link.startswith(f"{api.url}#")
        assert "secret" not in link
        other = visit(link)
        expect(other.locator("#prompt")).to_have_value("Far <b>away</b> & ümläut")
        expect(other.locator("#temperature")).to_have_value("0.3")
        other.get_by_label("API key").fill("k")
        assert len(sent_by(other, api)) == 1, "a link sends nothing by itself"


BROKEN = ["nonsense", "%7B", "%22text%22", "null", '{"kind":7,"messages":[3],"temperature":{},"prompt":[]}']


def test_a_broken_link_breaks_nothing(visit: Visit) -> None:
    with standing_in() as api:
        page = visit(f"{api.url}#nonsense")
        for fragment in BROKEN:
            page.goto(f"{api.url}#{fragment}")
            fill(page, prompt="Far", temperature="1")
        assert len(sent_by(page, api)) == 1


def test_the_key_stays_in_the_tab_and_goes_with_calls_only(visit: Visit) -> None:
    with standing_in(auth="api-key") as api:
        page = visit(api.url)
        page.locator("#prompt").fill("Far")
        page.locator("#generate").click()
        expect(page.locator("#key-hint")).to_contain_text("AWS CLI or console")
        expect(page.locator("#key")).to_be_focused()
        page.get_by_label("API key").fill("a-secret-key")
        sent_by(page, api)
        assert {call.headers.get("x-api-key") for call in api.called("POST generate")} == {"a-secret-key"}
        assert "a-secret-key" not in page.evaluate("JSON.stringify({...localStorage}) + document.body.textContent")
        page.reload()
        expect(page.locator("#key")).to_have_value("a-secret-key")
        page.get_by_role("button", name="Forget").click()
        page.reload()
        expect(page.locator("#key")).to_have_value("")


def test_an_iam_api_without_the_proxy_shows_the_command_and_calls_nothing(visit: Visit) -> None:
    with standing_in(auth="iam") as api:
        page = visit(api.url)
        expect(page.locator("#command")).to_have_text("slipway playground gpt2")
        expect(page.locator("#generate")).to_be_disabled()
        page.wait_for_load_state("networkidle")
        assert api.calls == []


def run_snippet(page: Page, tab: str, api: StandInApi) -> Call:
    """Run the code that the page shows, as a user pastes it, and return the call that arrived."""
    page.get_by_role("tab", name=tab, exact=True).click()
    code = page.locator("#snippet").inner_text()
    command = ["bash", "-c", code] if tab == "curl" else [sys.executable, "-c", code]
    secrets = {"API_KEY": "k", "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": ""}
    subprocess.run(command, env=os.environ | secrets, check=True, capture_output=True)
    return api.calls[-1]


@pytest.mark.parametrize("auth", ["api-key", "iam"])
def test_the_code_is_the_same_call(visit: Visit, auth: str) -> None:
    with standing_in(auth=auth) as api:
        page = visit(api.url)
        fill(page, prompt='It\'s "quoted"\n\\ $HOME `id` ü', seed="3")
        page.locator("#code summary").click()
        tabs = page.get_by_role("tab").all_text_contents()
        calls = [
            run_snippet(page, tab, api) for tab in tabs if page.get_by_role("tab", name=tab, exact=True).is_visible()
        ]
    assert len(calls) == 2
    body = {"max_new_tokens": 80, "do_sample": True, "temperature": 0.8, "seed": 3}
    for call in calls:
        assert call.body == {"inputs": 'It\'s "quoted"\n\\ $HOME `id` ü', "parameters": body}
        assert call.headers["content-type"] == "application/json"
        if auth == "iam":
            assert call.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIA/")
        else:
            assert call.headers["x-api-key"] == "k"


def test_history_stays_in_the_browser_brings_a_set_up_back_and_can_be_cleared(visit: Visit) -> None:
    with standing_in() as api:
        page = visit(api.url)
        fill(page, prompt="Far", temperature="0.4")
        sent_by(page, api)
        page.reload()
        page.locator("#history summary").click()
        fill(page, prompt="Near", temperature="2")
        page.locator("#history-list button").click()
        expect(page.locator("#prompt")).to_have_value("Far")
        expect(page.locator("#temperature")).to_have_value("0.4")
        expect(page.locator(".sample .written")).to_have_text("and far")
        page.get_by_role("button", name="Clear history").click()
        expect(page.locator("#history-list li")).to_have_count(0)
        assert page.evaluate("localStorage.length") == 0
        assert len(api.called("POST generate")) == 1


def test_a_full_history_loses_its_oldest_entry_and_names_each_cut(visit: Visit) -> None:
    with StandInApi({"POST generate": lambda _: (200, {}, [{"generated_text": "w" * 30_000}])}, jobs=False) as api:
        page = visit(api.url)
        for prompt in ("First", "Second", "Third"):
            fill(page, prompt=prompt)
            sent_by(page, api)
            if prompt == "Second":  # no room for a third
                page.evaluate("localStorage.setItem('other', 'x'.repeat(5242880 - 45_000))")
        page.locator("#history summary").click()
        expect(page.locator("#history-list .prompt")).to_have_text(["Third", "Second"])
        page.locator("#history-list button").first.click()
        expect(page.locator("#phase")).to_contain_text("only the beginning of its long texts was kept")
        expect(page.get_by_role("button", name="Continue with sample 1")).to_have_count(0)
