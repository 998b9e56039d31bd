"""A job and its row hold the same values."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inference_api.jobs.state.items import from_item, idempotency_key, to_item
from inference_api.jobs.state.job import CANCELLED, FAILED, QUEUED, RUNNING, SUCCEEDED, Job, Output

ID = "0123456789abcdef" * 2
TIMES = st.integers(1_700_000_000_000, 2_000_000_000_000).map(lambda milliseconds: milliseconds / 1000)
WORDS = st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1, max_size=60)
OUTPUTS = st.builds(
    Output,
    key=WORDS,
    version_id=WORDS,
    etag=WORDS,
    size=st.integers(0, 10**9),
    content_type=WORDS,
    attempt=st.integers(1, 3),
    in_table=st.booleans(),
)
JOBS = st.builds(
    Job,
    id=st.text("0123456789abcdef", min_size=32, max_size=32),
    owner=st.text("0123456789abcdef", min_size=32, max_size=32),
    state=st.sampled_from([QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED]),
    accepted_at=TIMES,
    deadline=TIMES,
    due_at=st.none() | TIMES,
    version=st.integers(1, 1000),
    writer=st.just("0a1b2c3d"),
    attempts=st.integers(0, 3),
    ended=st.frozensets(st.integers(1, 3)),
    lease_until=TIMES,
    sent_at=TIMES,
    marked=st.integers(0, 3),
    output_key=st.none() | WORDS,
    failure_key=st.none() | WORDS,
    output=st.none() | OUTPUTS,
    error_code=st.none() | st.sampled_from(["model_error", "attempt_lost"]),
    error_attempt=st.integers(0, 3),
    refused=st.booleans(),
    holds_slot=st.booleans(),
    announced=st.booleans(),
    ended_at=st.none() | TIMES,
    expires_at=st.none() | st.integers(1_700_000_000, 2_000_000_000),
)


@given(JOBS)
def test_nothing_of_a_job_is_lost_in_its_row(job: Job) -> None:
    assert from_item(to_item(job)) == job


@given(JOBS)
def test_a_row_stays_under_a_kilobyte(job: Job) -> None:
    # As DynamoDB counts: names and values; numbers take less than their digits.
    def size(value: object) -> int:
        if isinstance(value, dict):
            return sum(len(name) + size(part) for name, part in value.items())
        return sum(size(part) for part in value) if isinstance(value, list) else len(str(value))

    assert size(to_item(job)) < 1200
    plain = {name: value for name, value in to_item(job).items() if name != "output"}
    assert size(plain) < 1024


@given(JOBS)
def test_only_a_job_that_is_due_is_in_the_sweepers_index(job: Job) -> None:
    item = to_item(job)
    assert ("due_at" in item) == ("due_shard" in item) == (job.due_at is not None)


@given(JOBS)
def test_a_row_of_a_later_version_can_be_read(job: Job) -> None:
    assert from_item(to_item(job) | {"v": {"N": "2"}, "priority": {"S": "high"}}) == job


def test_newer_jobs_are_listed_first() -> None:
    older = Job(ID, "owner", QUEUED, accepted_at=999_999_999.5, deadline=0, due_at=None)
    newer = replace(older, accepted_at=1_000_000_000.0)
    assert to_item(older)["listed_at"]["S"] < to_item(newer)["listed_at"]["S"]


def test_two_callers_never_share_an_idempotency_key() -> None:
    assert idempotency_key("a" * 32, "k") != idempotency_key("b" * 32, "k")
    assert idempotency_key("a" * 32, "k") == idempotency_key("a" * 32, "k")
