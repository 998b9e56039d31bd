"""Each change of a job's row; tests/simulation/test_orders.py explores their orders."""

from dataclasses import replace

import pytest

from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import CANCELLED, EXPIRED, FAILED, QUEUED, RUNNING, SUCCEEDED, Job, Output
from inference_api.shared.job_times import JobTimes

TIMES = JobTimes(deadline=3600, retention=7200, invocation_timeout=60)
NOW = 1_800_000_000.0
OUTPUT = Output("output/x/1/answer", "v1", "etag", 12, "application/json", attempt=1, in_table=True)


def accepted() -> Job:
    return transitions.accept("0" * 32, "owner", NOW, TIMES)


def claimed(attempts: int = 1, now: float = NOW) -> Job:
    job = accepted()
    for _ in range(attempts):
        following = transitions.claim(job, now, TIMES)
        assert following
        job, now = following, now + transitions.LEASE_IN_SECONDS
    return job


def failed(job: Job, attempt: int, *, now: float = NOW, refused: bool = False) -> Job:
    changed = transitions.fail_attempt(job, attempt, "model_error", now, TIMES, refused=refused)
    assert changed
    return changed


def test_a_claim_is_alone_while_its_lease_runs() -> None:
    job = claimed()
    assert (job.state, job.attempts) == (RUNNING, 1)
    assert transitions.claim(job, NOW + transitions.LEASE_IN_SECONDS - 1, TIMES) is None
    assert transitions.claim(job, NOW + transitions.LEASE_IN_SECONDS, TIMES)


def test_a_confirmed_attempt_is_never_taken_for_lost() -> None:
    job = transitions.note_invoked(claimed(), 1, None, None)
    assert job
    assert transitions.claim(job, NOW + 1000, TIMES) is None


def test_there_are_three_attempts() -> None:
    assert transitions.claim(claimed(attempts=3), NOW + 1000, TIMES) is None


def test_nothing_starts_that_could_outlive_the_deadline() -> None:
    latest = NOW + 3600 - 60 - 300
    assert transitions.claim(accepted(), latest, TIMES)
    assert transitions.claim(accepted(), latest + 1, TIMES) is None


def test_an_attempt_that_did_not_run_does_not_count() -> None:
    job = claimed()
    for _ in range(10):
        given_back = transitions.give_back(job, 1, NOW, TIMES)
        assert given_back
        assert (given_back.state, given_back.attempts) == (QUEUED, 0)
        again = transitions.claim(given_back, NOW, TIMES)
        assert again
        job = again


def test_a_failure_is_tried_again_and_the_third_one_is_final() -> None:
    job = accepted()
    for attempt in (1, 2):
        job = failed(transitions.claim(job, NOW, TIMES) or job, attempt)
        assert job.state == QUEUED
    job = failed(transitions.claim(job, NOW, TIMES) or job, 3)
    assert (job.state, job.error_code, job.holds_slot) == (FAILED, "model_error", False)


def test_a_request_that_the_model_refuses_is_final_at_once() -> None:
    assert failed(claimed(), 1, refused=True).state == FAILED


def test_a_refusal_waits_for_an_attempt_that_may_still_bring_an_output() -> None:
    job = failed(claimed(attempts=2), 1, refused=True)
    assert job.state == RUNNING
    assert transitions.claim(job, NOW + 1000, TIMES) is None
    ended = transitions.succeed(job, OUTPUT._replace(attempt=2), NOW, TIMES)
    assert ended
    assert ended.state == SUCCEEDED


def test_an_attempt_that_failed_does_not_keep_the_third_from_starting() -> None:
    job = transitions.note_invoked(claimed(attempts=2), 2, None, None)
    assert job
    job = failed(job, 2)
    assert job.may_be_running
    assert transitions.claim(job, NOW + 10, TIMES)


def test_a_refused_job_ends_when_its_last_claim_is_given_back() -> None:
    job = transitions.give_back(failed(claimed(attempts=2), 1, refused=True), 2, NOW, TIMES)
    assert job
    assert (job.state, job.holds_slot) == (FAILED, False)


def test_a_renewed_lease_keeps_the_attempt() -> None:
    job = claimed()
    renewed = transitions.renew(job, job, NOW + 100)
    assert renewed
    assert renewed.lease_until == NOW + 100 + transitions.LEASE_IN_SECONDS
    assert transitions.lose_attempt(renewed, 1, "attempt_lost", job.lease_until, TIMES) is None
    assert transitions.claim(renewed, job.lease_until, TIMES) is None


def test_a_lease_is_renewed_as_long_as_a_cancelled_job_runs() -> None:
    job = claimed()
    cancelled = transitions.cancel(job, NOW, TIMES)
    assert cancelled
    assert transitions.renew(cancelled, job, NOW + 100)


def test_only_the_holder_of_a_claim_renews_it() -> None:
    job = claimed()
    given_back = transitions.give_back(job, 1, NOW, TIMES)
    assert given_back
    again = transitions.claim(given_back, NOW + 1, TIMES)
    assert again
    assert transitions.renew(again, job, NOW + 2) is None
    assert transitions.renew(again, again, NOW + 2)
    for over in (given_back, failed(job, 1), transitions.succeed(job, OUTPUT, NOW, TIMES)):
        assert over
        assert transitions.renew(over, job, NOW + 2) is None


def test_a_lease_that_was_not_over_before_the_look_loses_no_attempt() -> None:
    job = claimed()
    over = NOW + transitions.LEASE_IN_SECONDS
    assert transitions.lose_attempt(job, 1, "attempt_lost", over - 1, TIMES) is None
    lost = transitions.lose_attempt(job, 1, "attempt_lost", over, TIMES)
    assert lost
    assert lost.state == QUEUED
    again = transitions.claim(lost, over, TIMES)
    assert again
    assert transitions.lose_attempt(again, 1, "attempt_lost", over, TIMES) is None


@pytest.mark.parametrize("state", [SUCCEEDED, FAILED, EXPIRED, CANCELLED])
def test_a_final_state_stays(state: str) -> None:
    job = replace(claimed(), state=state, holds_slot=False, ended_at=NOW)
    assert transitions.succeed(job, OUTPUT, NOW, TIMES) is None
    assert transitions.fail_attempt(job, 1, "model_error", NOW, TIMES) is None
    assert transitions.cancel(job, NOW, TIMES) is None
    assert transitions.expire(job, NOW + 3600, TIMES) is None
    assert transitions.claim(job, NOW + 1000, TIMES) is None


def test_a_queued_job_that_is_cancelled_frees_its_slot_at_once() -> None:
    job = transitions.cancel(accepted(), NOW, TIMES)
    assert job
    assert (job.state, job.holds_slot) == (CANCELLED, False)


@pytest.mark.parametrize("end", ["success", "failure", "given back", "deadline"])
def test_a_cancelled_job_keeps_its_slot_until_the_model_is_done_with_it(end: str) -> None:
    job = transitions.cancel(claimed(), NOW, TIMES)
    assert job
    assert job.holds_slot
    assert transitions.expire(job, NOW + 3599, TIMES) is None
    after = {
        "success": transitions.succeed(job, OUTPUT, NOW, TIMES),
        "failure": transitions.fail_attempt(job, 1, "model_error", NOW, TIMES),
        "given back": transitions.give_back(job, 1, NOW, TIMES),
        "deadline": transitions.expire(job, NOW + 3600, TIMES),
    }[end]
    assert after
    assert (after.state, after.holds_slot, after.output) == (CANCELLED, False, None)


def test_the_row_lives_for_its_retention_after_the_end() -> None:
    job = transitions.succeed(claimed(), OUTPUT, NOW + 5, TIMES)
    assert accepted().expires_at is None
    assert job
    assert job.expires_at == NOW + 5 + 7200


def test_a_cancelled_jobs_row_outlives_the_slot_it_holds() -> None:
    job = transitions.cancel(claimed(), NOW, TIMES)
    assert job
    assert job.expires_at == NOW + 3600 + 7200


def test_a_job_at_its_deadline_keeps_a_known_error() -> None:
    job = transitions.expire(accepted(), NOW + 3600, TIMES)
    assert job
    assert job.state == EXPIRED
    job = transitions.expire(failed(claimed(attempts=2), 1), NOW + 3600, TIMES)
    assert job
    assert job.state == FAILED


def test_looks_become_rarer_and_never_pass_over_the_deadline() -> None:
    job, ages = accepted(), []
    while job.due_at and job.due_at < NOW + 3600:
        now = job.due_at
        ages.append(round(now - NOW))
        following = transitions.look_again(job, now)
        assert following
        assert transitions.look_again(following, now) is None
        job = following
    assert ages == [60, 120, 240, 480, 960, 1860, 2760]
    assert job.due_at == NOW + 3600


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_job_whose_worker_may_have_died_is_looked_at_when_its_lease_is_over(cancelled: bool) -> None:
    job = replace(claimed(), lease_until=NOW + 1000, due_at=NOW + 900)
    job = (cancelled and transitions.cancel(job, NOW + 890, TIMES)) or job
    following = transitions.look_again(job, NOW + 960)
    assert following
    assert following.due_at == NOW + 1000


def test_the_sweeper_forgets_a_job_that_is_over_in_every_respect() -> None:
    job = transitions.cancel(claimed(), NOW, TIMES)
    assert job
    announced = transitions.note_announced(job)
    assert announced
    assert announced.due_at is not None
    released = transitions.give_back(announced, 1, NOW, TIMES)
    assert released
    assert released.due_at is None
