"""Answers token by token: the first word, stops, broken streams, and routes or models without a stream."""

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Visit
from support.patience import wait_for
from support.stand_ins.api import Answerer, Call, Reply, StandInApi, chat_chunks

CHAT = {"chat_template": True, "streams": ["chat", "text"]}


class SlowModel:
    """A model that writes a word and then waits until the test lets it go on."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.was_left = threading.Event()

    def answer(self, call: Call) -> Reply:
        return 200, {}, self._pieces()

    def _pieces(self) -> Iterator[bytes]:
        try:
            yield from chat_chunks(self._words())
        finally:
            self.was_left.set()

    def _words(self) -> Iterator[str]:
        yield "First"
        while not self.may_go_on.wait(0.05):
            yield ""  # tokens without text, by which the server notices a closed connection
        yield " and **last**"


@pytest.fixture
def model() -> Iterator[SlowModel]:
    slow = SlowModel()
    yield slow
    slow.may_go_on.set()


@pytest.fixture
def api(model: SlowModel) -> Iterator[StandInApi]:
    with StandInApi({"POST chat/completions": model.answer}, **CHAT) as running:
        yield running


def say(page: Page, text: str = "Hello") -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def test_the_first_word_is_on_the_page_while_the_model_still_writes(
    visit: Visit, api: StandInApi, model: SlowModel
) -> None:
    page = visit(api.url)
    say(page)
    expect(page.locator(".sample .written")).to_have_text("First")
    expect(page.locator("#phase")).to_have_text("Running")
    expect(page.locator("#elapsed")).to_contain_text("s")
    model.may_go_on.set()
    expect(page.locator(".sample .written")).to_have_text("First and last")
    expect(page.locator(".sample .written strong")).to_have_text("last")
    expect(page.locator("#phase")).to_have_text("Done")
    expect(page.locator("#elapsed")).to_contain_text("first word after")
    (call,) = api.called("POST chat/completions")
    assert (call.body["stream"], call.body["messages"]) == (True, [{"role": "user", "content": "Hello"}])
    assert api.called("POST jobs") == []


def test_a_stop_ends_the_stream_and_keeps_what_was_written(visit: Visit, api: StandInApi, model: SlowModel) -> None:
    page = visit(api.url)
    say(page)
    expect(page.locator(".sample .written")).to_have_text("First")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#phase")).to_contain_text("Stopped")
    expect(page.locator(".sample .written")).to_have_text("First")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    assert model.was_left.wait(60), "the connection is closed"
    say(page, "Go on")
    (call,) = wait_for(lambda: api.called("POST chat/completions")[1:] or None, "the second call")
    assert [each["content"] for each in call.body["messages"]] == ["Hello", "First", "Go on"]


def test_a_key_goes_where_openais_routes_take_it(visit: Visit, model: SlowModel) -> None:
    model.may_go_on.set()
    with StandInApi({"POST chat/completions": model.answer}, **CHAT, auth="api-key") as api:
        page = visit(api.url)
        page.get_by_label("API key").fill("a-secret-key")
        say(page)
        expect(page.locator("#phase")).to_have_text("Done")
        headers = api.called("POST chat/completions")[0].headers
    assert headers["authorization"] == "Bearer a-secret-key"
    assert "x-api-key" not in headers


def test_a_text_streams_too_and_goes_on_behind_its_prompt(visit: Visit) -> None:
    def complete(call: Call) -> Reply:
        texts = [b'data: {"choices": [{"index": 0, "text": " and far", "finish_reason": "length"}]}\n\n']
        return 200, {}, iter([*texts, b"data: [DONE]\n\n"])

    with StandInApi({"POST completions": complete}, streams=["text"], bodies=["inputs"]) as api:
        page = visit(api.url)
        page.get_by_label("Prompt", exact=True).fill("Near")
        page.get_by_label("Samples", exact=True).fill("2")
        page.get_by_role("button", name="Generate").click()
        expect(page.locator("#phase")).to_have_text("Done")
        expect(page.locator(".sample .written")).to_have_text(["and far"] * 2)
        expect(page.locator(".sample .facts").first).to_have_text("Cut off here: the length is reached.")
        assert {call.body["prompt"] for call in api.called("POST completions")} == {"Near"}


def test_a_stream_that_breaks_off_shows_an_error_beside_its_text(visit: Visit) -> None:
    broken = next(chat_chunks(["Half"]))
    with StandInApi({"POST chat/completions": lambda _: (200, {}, iter([broken]))}, **CHAT) as api:
        page = visit(api.url)
        say(page)
        expect(page.get_by_role("alert")).to_contain_text("The answer broke off")
        expect(page.locator(".sample .written")).to_have_text("Half")
        expect(page.locator("#phase")).to_have_text("Failed")


def test_an_error_within_a_stream_is_shown(visit: Visit) -> None:
    events = [next(chat_chunks(["Half"])), b'data: {"error": {"code": "model_error", "message": "It broke."}}\n\n']
    with StandInApi({"POST chat/completions": lambda _: (200, {}, iter(events))}, **CHAT) as api:
        page = visit(api.url)
        say(page)
        expect(page.get_by_role("alert")).to_contain_text("It broke.")


def test_a_character_that_the_network_cuts_stays_whole(visit: Visit) -> None:
    events = 'data: {"choices": [{"delta": {"content": "\u00fcber"}}]}\n\ndata: [DONE]\n\n'.encode()
    pieces = [bytes([each]) for each in events]
    with StandInApi({"POST chat/completions": lambda _: (200, {}, iter(pieces))}, **CHAT) as api:
        page = visit(api.url)
        say(page)
        expect(page.locator(".sample .written")).to_have_text("\u00fcber")


def test_thoughts_are_shown_while_there_is_no_answer_yet(visit: Visit) -> None:
    may_answer = threading.Event()

    def think(call: Call) -> Reply:
        def pieces() -> Iterator[bytes]:
            yield b'data: {"choices": [{"delta": {"reasoning_content": "Hm."}}]}\n\n'
            may_answer.wait(60)
            yield from chat_chunks(["Yes."])

        return 200, {}, pieces()

    with StandInApi({"POST chat/completions": think}, **CHAT) as api:
        page = visit(api.url)
        say(page)
        expect(page.locator(".thought[open]")).to_contain_text("Hm.")
        may_answer.set()
        expect(page.locator(".sample .written")).to_have_text("Yes.")
        expect(page.locator(".thought[open]")).to_have_count(0)


def job_answers(text: str) -> dict[str, Answerer]:
    answer = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    job = {"id": "job1", "status": "succeeded", "output": answer}
    return {
        "POST jobs": lambda _: (202, {}, {"id": "job1", "status": "queued"}),
        "GET jobs/": lambda _: (200, {}, job),
    }


@pytest.mark.parametrize("seen", [True, False], ids=["seen asleep", "found asleep"])
def test_a_model_that_sleeps_answers_by_a_job(visit: Visit, seen: bool) -> None:
    asleep = {"error": {"code": "endpoint_not_ready", "message": "Not ready."}}
    with StandInApi(job_answers("By a job."), **CHAT) as api:
        api.answers["POST chat/completions"] = lambda _: (503, {"retry-after": "30"}, asleep)
        if seen:
            api.answers["GET endpoint"] = lambda _: (200, {}, {"status": "Creating"})
        page = visit(api.url)
        expect(page.locator("#endpoint-status")).to_have_text("Creating" if seen else "Ready")
        say(page)
        expect(page.locator(".sample .written")).to_have_text("By a job.")
        assert len(api.called("POST chat/completions")) == (0 if seen else 1)
        assert api.called("POST jobs")[0].body["messages"] == [{"role": "user", "content": "Hello"}]


def test_a_route_without_a_stream_answers_by_a_job(visit: Visit) -> None:
    with StandInApi(job_answers("By a job."), chat_template=True, mode="async") as api:
        page = visit(api.url)
        say(page)
        expect(page.locator(".sample .written")).to_have_text("By a job.")


def test_a_busy_api_is_asked_again_before_the_first_word_only(visit: Visit, model: SlowModel) -> None:
    model.may_go_on.set()
    with StandInApi({}, **CHAT) as api:
        busy = {"error": {"code": "throttled", "message": "Too many requests at once."}}
        api.answers["POST chat/completions"] = lambda _: (429, {"retry-after": "1"}, busy)
        page = visit(api.url)
        say(page)
        expect(page.locator("#phase")).to_have_text("Too many requests at once.")
        api.answers["POST chat/completions"] = model.answer
        expect(page.locator(".sample .written")).to_have_text("First and last")
