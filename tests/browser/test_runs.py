"""A run from its start to its end: progress, cold machines, cancels, errors, advice, hostile texts."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Visit
from support.patience import wait_for
from support.stand_ins.api import Call, Reply, StandInApi

TEXT = " and far away"
CLOCK = datetime.now(UTC) + timedelta(hours=1)  # the page's clock stands still at this time


class Jobs:
    """The jobs of a stand-in API. All have the state that the test sets; a poll is held until it is final."""

    def __init__(self) -> None:
        self.state, self.count = "queued", 0
        self._changed = threading.Condition()

    def set(self, state: str) -> None:
        with self._changed:
            self.state = state
            self._changed.notify_all()

    def submit(self, call: Call) -> Reply:
        self.count += 1
        return 202, {}, {"id": f"job{self.count}", "status": "queued"}

    def poll(self, call: Call) -> Reply:
        with self._changed:
            if not self._is_final():
                self._changed.wait(0.2)  # the API holds a poll for a moment
            job: dict[str, Any] = {"id": call.path, "status": self.state}
            if self.state == "succeeded":
                job["output"] = [{"generated_text": TEXT}]
            if self.state == "failed":
                job["error"] = {"code": "model_error", "message": "The model broke.", "field": "parameters.top_k"}
            return 200, {}, job

    def cancel(self, call: Call) -> Reply:
        self.set("cancelled")
        return 200, {}, {"id": call.path, "status": "cancelled"}

    def _is_final(self) -> bool:
        return self.state not in ("queued", "running")


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


@pytest.fixture
def api(jobs: Jobs) -> Iterator[StandInApi]:
    answers = {"POST jobs": jobs.submit, "GET jobs/": jobs.poll, "DELETE jobs/": jobs.cancel}
    with StandInApi(answers) as running:
        yield running


def begin(page: Page, prompt: str = "Far", **values: str) -> None:
    page.locator("#prompt").fill(prompt)
    for name, value in values.items():
        page.locator(f"#{name}").fill(value)
    page.locator("#generate").click()


def test_a_slow_job_is_followed_from_the_queue_to_its_answer(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    page = visit(api.url)
    begin(page, samples="2")
    phase = page.locator("#phase")
    expect(phase).to_have_text("Queued")
    expect(page.locator("#generate")).to_be_disabled()
    jobs.set("running")
    expect(phase).to_have_text("Running")
    expect(page.locator(".sample.running")).to_have_count(2)
    jobs.set("succeeded")
    expect(phase).to_have_text("Done")
    expect(page.locator(".sample .written")).to_have_text([TEXT.strip()] * 2)
    expect(page.locator("#elapsed")).to_contain_text("in ")
    expect(page.locator("#generate")).to_be_enabled()
    assert len({call.headers["idempotency-key"] for call in api.called("POST jobs")}) == 2


def test_a_machine_that_starts_is_shown_with_its_usual_time(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    began = (CLOCK - timedelta(seconds=45)).isoformat()
    endpoint: dict[str, Any] = {"status": "Starting", "start": {"since": began, "usual_seconds": 130}}
    polls_before_it_serves = []

    def describe(call: Call) -> Reply:
        if endpoint["status"] == "InService":
            polls_before_it_serves.append(len(api.called("GET jobs/")))
        return 200, {}, endpoint

    api.answers["GET endpoint"] = describe
    api.answers["POST jobs"] = lambda _: (202, {"retry-after": "100000"}, {"id": "job1", "status": "queued"})
    api.config = api.config | {"mode": "ec2", "engine": "transformers"}
    jobs.set("succeeded")
    page = visit(api.url, clock=True)
    page.clock.pause_at(CLOCK)
    begin(page)
    expect(page.locator("#phase")).to_have_text("The machine is starting")
    expect(page.locator("#elapsed")).to_contain_text("of usually 2:10")
    assert 0 < float(page.locator("#progress").get_attribute("value") or 0) < 1
    expect(page.locator("#endpoint-status")).to_have_text("Starting")
    page.clock.run_for(20_000)
    endpoint["status"] = "InService"
    wait_for(lambda: a_second_later(page), "the answer, long before retry-after: the machine is there")
    assert polls_before_it_serves[0] == 0, "until then the API's advice is followed"


def a_second_later(page: Page) -> bool | None:
    """Put the clock forward by a second; return True if the run is done, None if not."""
    page.clock.run_for(1000)
    return page.locator("#phase").inner_text() == "Done" or None


def test_advice_to_come_back_later_is_followed(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    busy = {"error": {"code": "throttled", "message": "Too many requests at once."}}
    api.answers["POST jobs"] = lambda _: (429, {"retry-after": "9"}, busy)
    jobs.set("succeeded")
    page = visit(api.url, clock=True)
    page.clock.pause_at(CLOCK)
    begin(page)
    expect(page.locator("#phase")).to_have_text("Too many requests at once.")
    page.clock.run_for(8000)
    assert len(api.called("POST jobs")) == 1
    api.answers["POST jobs"] = jobs.submit
    page.clock.run_for(2000)
    expect(page.locator("#phase")).to_have_text("Done")
    first, second = api.called("POST jobs")
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"], "sent twice, it is one job"


def test_a_stop_ends_every_job_on_the_api_too(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    page = visit(api.url)
    expect(page.locator("#cancel")).to_be_disabled()
    begin(page, samples="2")
    jobs.set("running")
    expect(page.locator(".sample.running")).to_have_count(2)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#phase")).to_have_text("Stopped")
    expect(page.locator(".sample.cancelled")).to_have_count(2)
    expect(page.locator("#generate")).to_be_focused()
    expect(page.locator("#error")).to_be_hidden()
    assert {call.path for call in api.called("DELETE jobs/")} == {"jobs/job1", "jobs/job2"}


def test_a_stop_before_the_job_has_a_name_cancels_it_once_it_has(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    may_answer = threading.Event()

    def slowly(call: Call) -> Reply:
        may_answer.wait()
        return jobs.submit(call)

    api.answers["POST jobs"] = slowly
    page = visit(api.url)
    begin(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#phase")).to_have_text("Stopping")
    may_answer.set()
    expect(page.locator("#phase")).to_have_text("Stopped")
    assert [call.path for call in api.called("DELETE jobs/")] == ["jobs/job1"]


def test_without_jobs_a_stop_aborts_the_call(visit: Visit) -> None:
    never = threading.Event()
    with StandInApi({"POST generate": lambda _: (never.wait(), (200, {}, "late"))[1]}, jobs=False) as api:
        page = visit(api.url)
        begin(page)
        expect(page.locator("#phase")).to_have_text("Running")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#phase")).to_contain_text("Stopped here; the model may go on")
        never.set()


def test_a_refusal_shows_our_message_marks_its_control_and_names_the_request(visit: Visit, api: StandInApi) -> None:
    message = "parameters.temperature: 0.8 is refused by vllm; it must be at least 1."
    error = {"error": {"code": "invalid_parameter", "message": message, "field": "parameters.temperature"}}
    api.answers["POST jobs"] = lambda _: (400, {"x-request-id": "request-17"}, error)
    page = visit(api.url, permissions=["clipboard-read", "clipboard-write"])
    begin(page)
    shown = page.get_by_role("alert")
    expect(shown).to_contain_text(message)
    expect(shown).to_contain_text("invalid_parameter · HTTP 400")
    expect(page.locator("#temperature")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#temperature-hint")).to_have_text("0.8 is refused by vllm; it must be at least 1.")
    page.get_by_role("button", name="Copy the request id").click()
    assert page.evaluate("navigator.clipboard.readText()") == "request-17"
    page.locator("#temperature").fill("1")
    expect(page.locator("#temperature")).to_have_attribute("aria-invalid", "false")


def test_a_job_that_failed_shows_its_error(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    jobs.set("failed")
    page = visit(api.url)
    begin(page)
    expect(page.get_by_role("alert")).to_contain_text("The model broke.")
    expect(page.get_by_role("alert")).to_contain_text("model_error · job job1")
    expect(page.locator("#top_k")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#phase")).to_have_text("Failed")


@pytest.mark.parametrize("code", ["quota_exceeded", "daily_tokens_exceeded"])
def test_a_limit_that_does_not_pass_soon_is_an_error_at_once(visit: Visit, api: StandInApi, code: str) -> None:
    error = {"error": {"code": code, "message": "Used up."}}
    api.answers["POST jobs"] = lambda _: (429, {"retry-after": "10"}, error)
    page = visit(api.url)
    begin(page)
    expect(page.get_by_role("alert")).to_contain_text("Used up.")


def test_a_poll_without_an_answer_is_sent_again(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    api.answers["GET jobs/"] = lambda _: (502, {}, "gone")
    page = visit(api.url)
    begin(page)
    expect(page.locator("#phase")).to_have_text("No answer from the API; asking again")
    jobs.set("succeeded")
    api.answers["GET jobs/"] = jobs.poll
    expect(page.locator("#phase")).to_have_text("Done")
    assert len(api.called("POST jobs")) == 1


def test_a_page_that_is_loaded_again_follows_its_open_jobs(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    jobs.set("running")
    page = visit(api.url)
    begin(page, samples="2")
    expect(page.locator(".sample.running")).to_have_count(2)
    page.reload()
    expect(page.locator(".sample.running")).to_have_count(2)
    expect(page.locator("#prompt")).to_have_value("Far")
    jobs.set("succeeded")
    expect(page.locator(".sample .written")).to_have_text([TEXT.strip()] * 2)
    assert len(api.called("POST jobs")) == 2
    page.reload()
    expect(page.locator("#phase")).to_have_text("Nothing asked yet.")


def test_a_stop_that_comes_too_late_shows_the_answer(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    def too_late(call: Call) -> Reply:
        jobs.set("succeeded")
        return 409, {}, {"error": {"code": "job_ended", "message": "The job has ended."}}

    jobs.set("running")
    api.answers["DELETE jobs/"] = too_late
    page = visit(api.url, viewport={"width": 360, "height": 640})
    begin(page)
    expect(page.locator(".sample.running")).to_be_visible()
    expect(page.locator("#cancel")).to_be_in_viewport()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".sample .written")).to_have_text(TEXT.strip())
    expect(page.locator("#phase")).to_have_text("Done")


def test_a_prompt_that_is_too_large_is_marked(visit: Visit, api: StandInApi) -> None:
    error = {"error": {"code": "body_too_large", "message": "The body is too large."}}
    api.answers["POST jobs"] = lambda _: (413, {}, error)
    page = visit(api.url)
    begin(page)
    expect(page.locator("#prompt-hint")).to_have_text("The body is too large.")


def test_a_lost_connection_is_shown(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    page.context.set_offline(True)
    begin(page)
    expect(page.get_by_role("alert")).to_contain_text("check the connection, then try again")


HOSTILE = (
    "</div><img src=x onerror=alert(1)><script>alert(2)</script><b>bold</b> {{7*7}} ${alert(3)} javascript:alert(4)"
)


def test_html_and_script_in_prompt_answer_and_error_stay_text(visit: Visit, api: StandInApi, jobs: Jobs) -> None:
    hostile = {"status": "succeeded", "id": "job1", "output": [{"generated_text": HOSTILE}]}
    api.answers["GET jobs/"] = lambda _: (200, {}, hostile)
    page = visit(api.url)
    begin(page, HOSTILE)
    expect(page.locator(".sample .text")).to_have_text(HOSTILE)
    page.locator("#history summary").click()
    expect(page.locator("#history-list .written")).to_have_text(HOSTILE[:80])
    api.answers["POST jobs"] = lambda _: (400, {}, {"error": {"code": HOSTILE, "message": HOSTILE, "field": HOSTILE}})
    begin(page, HOSTILE)
    expect(page.get_by_role("alert").locator("p").first).to_have_text(HOSTILE)
    assert page.locator("main img, main script, main b:text('bold')").count() == 0


def test_a_large_answer_is_a_link_that_nothing_but_a_download_can_follow(visit: Visit, api: StandInApi) -> None:
    job = {"status": "succeeded", "id": "job1", "output_url": "https://bucket.s3.amazonaws.com/output"}
    api.answers["GET jobs/"] = lambda _: (200, {}, job)
    page = visit(api.url)
    begin(page)
    link = page.get_by_role("link", name="The answer is large")
    expect(link).to_have_attribute("href", "https://bucket.s3.amazonaws.com/output")
    job["output_url"] = "javascript:alert(1)"
    begin(page)
    expect(page.locator(".sample.done")).to_be_visible()
    assert page.locator("a[href^=javascript]").count() == 0
