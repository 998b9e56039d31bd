"""Exactly the accepted jobs are charged to their key, whichever call fails."""

import json
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from inference_api.http.gateway import Request
from inference_api.jobs.state.job import Job
from inference_api.jobs.state.table import JobTable
from inference_api.jobs.submission import Submission
from inference_api.keys.key_usage import KeyUsage
from inference_api.keys.named_key import AuthorizedKey
from inference_api.openai.call import OpenAICall
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.errors import ApiError
from inference_api.shared.job_times import JobTimes
from inference_api.shared.request_rules import RequestRules
from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import Limits
from simulation.aws.dynamodb import DynamoDb
from simulation.aws.errors import Refusal
from simulation.aws.table import Table
from simulation.aws.transactions import Transactions
from simulation.runtime.scheduler import Scheduler

OWNER = "a" * 32
# Four bytes a token, and the answer's limit.
BODY, TOKENS = {"prompt": "12345678", "max_tokens": 40}, 42
REQUEST = Request(json.dumps(BODY).encode(), "application/json", OWNER, key=AuthorizedKey("k", tokens_per_month=100))
CALL = OpenAICall(BODY, "prompt", False, "model", False, False, True, True)


class StillClock(Scheduler):
    def sleep(self, seconds: float) -> None: ...


class Deployment:
    """Both tables in memory, and a bucket and a backend that do nothing. failing: the call that fails next."""

    def __init__(self, open_jobs: int = 10) -> None:
        clock = StillClock(1_795_219_200.0)
        self.jobs, self.usage = (Table(name, [], clock, Random(1)) for name in ("jobs", "usage"))
        transactions = Transactions(clock, Random(1))
        self._database = DynamoDb(self.jobs, transactions, others=(self.usage,))
        self.failing = ""
        runtime = Runtime(now=lambda: clock.now, sleep=clock.sleep, random=Random(1))
        client: Any = self
        self._submission = Submission(
            JobTable(client, "jobs", runtime),
            client,
            client,
            rules=RequestRules("engine", ("prompt",), {}, 1000),
            times=JobTimes(3600, 3600, 60),
            limits=Limits(open_jobs, None),
            runtime=runtime,
            deployment="d",
            engine_serves=lambda: True,
            usage=KeyUsage(client, "usage", runtime),
        )

    def submit(self, request: Request = REQUEST) -> Job:
        return self._submission.submit(request)

    def submit_line(self) -> None:
        until = 1_795_300_000
        self._submission.submit_line("0" * 32, OWNER, REQUEST.key, CALL, run_until=until, keep_until=until)

    @property
    def charged(self) -> tuple[int, int]:
        """Return the counted requests and charged tokens."""
        rows = self.usage.items.values()
        requests, charged = (sum(int(row[name]["N"]) for row in rows) for name in ("requests", "charged"))
        return requests, charged

    def put_input(self, *_: Any) -> None:
        if self.failing == "put_input":
            raise Refusal("SlowDown", "", 503).for_caller("PutObject")

    def claim_at_acceptance(self, job: Job) -> Job:
        return job

    def dispatch(self, job: Job) -> None: ...

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            if self.failing == operation:
                raise Refusal("InternalServerError", "", 500).for_caller(operation)
            try:
                return getattr(self._database, operation)(**request)
            except Refusal as refusal:
                raise refusal.for_caller(operation) from None

        return call


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    deployed = SimpleNamespace(model_id="model", adapters=())
    monkeypatch.setattr("inference_api.model.metered_call.settings", lambda: deployed)


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


@pytest.mark.parametrize("failing", ["put_input", "transact_write_items"])
def test_a_job_that_aws_fails_is_not_charged(deployment: Deployment, failing: str) -> None:
    deployment.failing = failing
    for _ in range(3):
        for submit in (deployment.submit, deployment.submit_line):
            with pytest.raises(PASSING_ERRORS):
                submit()
    assert deployment.charged == (0, 0)
    deployment.failing = ""
    deployment.submit()
    assert deployment.charged == (1, TOKENS)


def test_a_job_over_its_owners_limit_is_not_charged() -> None:
    deployment = Deployment(open_jobs=1)
    deployment.submit()
    for submit in (deployment.submit, deployment.submit_line):
        with pytest.raises(ApiError, match="too_many_open_jobs"):
            submit()
    assert deployment.charged == (1, TOKENS)


def test_a_key_at_its_limit_is_told_so_and_has_no_job(deployment: Deployment) -> None:
    for _ in range(3):
        deployment.submit()
    with pytest.raises(ApiError) as refused:
        deployment.submit()
    assert refused.value.code == "tokens_per_month_exceeded"
    assert deployment.charged == (3, 3 * TOKENS)
    assert sum(pk.startswith("job#") for pk in deployment.jobs.items) == 3


def test_a_request_under_the_key_of_an_earlier_one_is_not_charged(deployment: Deployment) -> None:
    request = Request(REQUEST.body, REQUEST.content_type, OWNER, idempotency_key="once")
    assert deployment.submit(request).id == deployment.submit(request).id
    assert deployment.charged == (1, TOKENS)


def test_a_line_of_a_batch_that_is_begun_again_is_not_charged_again(deployment: Deployment) -> None:
    deployment.submit_line()
    deployment.submit_line()
    assert deployment.charged == (1, TOKENS)
