"""Callers are held until the job ends, or told when to come back."""

from dataclasses import replace
from random import Random

import pytest
from botocore.exceptions import ConnectTimeoutError

from inference_api.http.gateway import Request
from inference_api.jobs.long_poll import LongPoll, retry_after, seconds_to_wait
from inference_api.jobs.state.job import SUCCEEDED, Job
from inference_api.jobs.state.transitions import accept
from inference_api.shared.errors import ApiError
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime

OWNER = "a" * 32
JOB = accept("0" * 32, OWNER, 1000.0, JobTimes(3600, 3600, 60))


class Rows:
    """A table with one job that ends after some reads, on a clock of its own."""

    def __init__(self, reads_until_end: int = 10**6, places: int = 50) -> None:
        self.now, self.reads, self.places = 1000.0, list[bool](), places
        self.reads_until_end = reads_until_end
        self.fails = False

    def get(self, job_id: str, *, consistent: bool = True) -> Job | None:
        self.reads.append(consistent)
        if self.fails:
            raise ConnectTimeoutError(endpoint_url="dynamodb")
        if job_id != JOB.id:
            return None
        return replace(JOB, state=SUCCEEDED) if len(self.reads) > self.reads_until_end else JOB

    def take(self, owner: str, until: float) -> str | None:
        assert (owner, until) == (OWNER, 1025)
        if not self.places:
            return None
        self.places -= 1
        return "place"

    def give_back(self, owner: str, place: str) -> None:
        if self.fails:
            raise ConnectTimeoutError(endpoint_url="dynamodb")
        assert (owner, place) == (OWNER, "place")
        self.places += 1

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def long_poll(self) -> LongPoll:
        runtime = Runtime(now=lambda: self.now, sleep=self.sleep, random=Random(1))
        return LongPoll(self, runtime, self, while_held=self)  # type: ignore[arg-type]


def request(**query: str) -> Request:
    return Request(b"", None, OWNER, query=query)


@pytest.mark.parametrize("text", ["0", "1", "25"])
def test_a_caller_may_wait_up_to_25_seconds(text: str) -> None:
    assert seconds_to_wait(request(wait=text), 7, 25) == int(text)


@pytest.mark.parametrize("text", ["26", "-1", "1.5", "", "x", "1e1", "٣", " 5", "9" * 5000])
def test_any_other_wait_is_refused_by_name(text: str) -> None:
    with pytest.raises(ApiError) as refusal:
        seconds_to_wait(request(wait=text), 0, 25)
    assert (refusal.value.status, refusal.value.field) == (400, "wait")


def test_a_held_caller_has_the_end_a_quarter_of_a_second_after_it() -> None:
    rows = Rows(reads_until_end=9)
    job, held = rows.long_poll().until_ended(JOB, 1025)
    assert (job.state, held, round(rows.now - 1000, 2), rows.places) == (SUCCEEDED, True, 2.3, 50)
    assert not any(rows.reads), "every read while it holds is the cheaper kind"


def test_nobody_is_held_longer_than_asked() -> None:
    rows = Rows()
    job, held = rows.long_poll().until_ended(JOB, 1025)
    assert (job.is_open, held) == (True, True)
    assert 1024.5 < rows.now <= 1025


def test_a_caller_without_a_place_is_answered_at_once() -> None:
    rows = Rows(places=0)
    assert rows.long_poll().until_ended(JOB, 1025) == (JOB, False)
    assert (rows.now, rows.reads) == (1000, [])


def test_a_job_that_has_ended_takes_no_place() -> None:
    rows = Rows()
    ended = replace(JOB, state=SUCCEEDED)
    assert rows.long_poll().until_ended(ended, 1025) == (ended, False)
    assert rows.places == 50


def test_a_table_that_fails_while_waiting_costs_no_answer() -> None:
    rows = Rows()
    rows.fails = True
    assert rows.long_poll().until_ended(JOB, 1025) == (JOB, True)


@pytest.mark.parametrize("job_id", ["1" * 32, "", "0" * 31, "0" * 33, "G" * 32, "../" + "0" * 29, "0" * 31 + "A"])
def test_unknown_and_malformed_ids_get_the_same_answer(job_id: str) -> None:
    with pytest.raises(ApiError) as unknown:
        Rows().long_poll().find(job_id, OWNER)
    with pytest.raises(ApiError) as foreign:
        Rows().long_poll().find(JOB.id, "b" * 32)
    assert vars(unknown.value) == vars(foreign.value)
    assert unknown.value.status == 404


def test_a_first_look_is_consistent() -> None:
    rows = Rows()
    rows.long_poll().find(JOB.id, OWNER)
    assert rows.reads == [True]


@pytest.mark.parametrize(("age", "seconds"), [(0, 1), (10, 1), (60, 3), (300, 15), (3000, 30)])
def test_a_caller_that_does_not_wait_comes_back_after_a_share_of_the_jobs_time(age: float, seconds: int) -> None:
    assert retry_after(JOB, 1000 + age, asked=0, held=False) == seconds


def test_only_a_held_caller_may_come_back_at_once() -> None:
    assert retry_after(JOB, 1025, asked=25, held=True) == 0
    assert retry_after(JOB, 1025, asked=25, held=False) == 3
    assert retry_after(replace(JOB, state=SUCCEEDED), 1025, asked=25, held=True) is None
