"""How often the endpoint's status is read, and the answers while it is unknown."""

from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from inference_api.model.endpoint_status import QUICK_RETRIES, EndpointStatus, FirstService
from inference_api.shared.errors import ApiError
from inference_api.shared.model_states import ASLEEP, FAILED, READY, STARTING
from inference_api.shared.runtime import OutOfTimeError

NOT_FOUND = ClientError(
    {"Error": {"Code": "ValidationException", "Message": "Could not find endpoint arn:aws:x"}}, "DescribeEndpoint"
)
DENIED = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "arn:aws:x"}}, "DescribeEndpoint")


class SageMakerFake:
    """SageMaker, which returns the next of its outcomes at each call."""

    def __init__(self, *outcomes: str | dict[str, Any] | Exception) -> None:
        self.outcomes = list(outcomes)

    def describe_endpoint(self, **arguments: Any) -> Any:
        assert arguments == {"EndpointName": "endpoint"}
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, dict) else {"EndpointStatus": outcome}


@pytest.mark.parametrize(("seconds", "status"), [(14.9, "Creating"), (15, "InService")])
def test_a_status_is_kept_for_fifteen_seconds(seconds: float, status: str) -> None:
    times = iter([100, 100 + seconds])
    endpoint = EndpointStatus(SageMakerFake("Creating", "InService"), "endpoint", clock=lambda: next(times))
    assert (endpoint.read(), endpoint.read()) == ("Creating", status)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (DENIED, "AccessDeniedException"),
        (ReadTimeoutError(endpoint_url="https://example.com"), "ReadTimeoutError"),
        (BotoCoreError(), "BotoCoreError"),
    ],
)
def test_an_endpoint_that_cannot_be_described_is_a_503_without_words_of_aws(error: Exception, cause: str) -> None:
    with pytest.raises(ApiError) as caught:
        EndpointStatus(SageMakerFake(error), "endpoint").read()
    assert (caught.value.status, caught.value.code, caught.value.cause) == (503, "status_unknown", cause)
    assert caught.value.retry_after_in_seconds
    assert "arn:aws" not in caught.value.message


def test_a_failure_is_not_kept() -> None:
    endpoint = EndpointStatus(SageMakerFake(DENIED, "InService"), "endpoint", clock=lambda: 100)
    with pytest.raises(ApiError):
        endpoint.read()
    assert endpoint.read() == "InService"


def test_an_endpoint_that_is_not_there_yet_is_being_created() -> None:
    assert EndpointStatus(SageMakerFake(NOT_FOUND), "endpoint").read() == "Creating"


@pytest.mark.parametrize("before", [NOT_FOUND, "Creating", "Failed", "Deleting"])
def test_an_endpoint_that_never_served_takes_no_jobs(before: str | Exception) -> None:
    times = iter([100, 115])
    status = EndpointStatus(SageMakerFake(before, "InService"), "endpoint", clock=lambda: next(times))
    service = FirstService(status)
    with pytest.raises(ApiError) as caught:
        service.demand()
    assert (caught.value.status, caught.value.code) == (503, "endpoint_not_ready")
    assert caught.value.retry_after_in_seconds
    for _ in range(2):  # the second time SageMaker is not asked
        service.demand()


def test_an_endpoint_that_has_served_is_asked_about_once() -> None:
    service = FirstService(EndpointStatus(SageMakerFake("Updating"), "endpoint", clock=iter([100]).__next__))
    for _ in range(3):
        service.demand()


def test_a_status_that_is_not_known_refuses_no_job_and_is_asked_for_again() -> None:
    service = FirstService(EndpointStatus(SageMakerFake(DENIED, BotoCoreError(), "Failed"), "endpoint"))
    service.demand()
    service.demand()
    with pytest.raises(ApiError, match="endpoint_not_ready"):
        service.demand()


def pending(name: str, *stages: str) -> dict[str, Any]:
    variants = [{"VariantName": "AllTraffic", "VariantStatus": [{"Status": stage}]} for stage in stages]
    return {"EndpointConfigName": name, "ProductionVariants": variants or [{"VariantName": "AllTraffic"}]}


@pytest.mark.parametrize(
    ("status", "configuration", "update", "runs"),
    [
        ("InService", "new", None, True),
        ("InService", "old", None, False),  # an update that has not begun, or was rolled back
        ("Creating", "new", pending("new", "Creating"), True),
        ("Updating", "new", None, True),  # scaling
        ("Updating", "old", pending("new", "Creating"), False),
        ("Updating", "new", pending("new", "Creating"), False),  # which name AWS shows meanwhile is not documented
        ("Updating", "old", pending("new", "ActivatingTraffic"), False),
        ("Updating", "old", pending("new", "Baking"), True),
        ("Updating", "new", pending("new"), None),  # AWS may leave the stage out
        ("Updating", "new", pending("another", "Baking"), False),
    ],
)
def test_an_endpoint_runs_a_configuration_once_its_traffic_is_there(
    status: str, configuration: str, update: dict[str, Any] | None, runs: bool | None
) -> None:
    described: dict[str, Any] = {"EndpointStatus": status, "EndpointConfigName": configuration}
    described |= {"PendingDeploymentSummary": update} if update else {}
    assert EndpointStatus(SageMakerFake(described), "endpoint").runs("new") is runs


@pytest.mark.parametrize("stage", ["Creating", "ActivatingTraffic", "Baking"])
def test_an_update_by_parts_leaves_open_which_configuration_answers(stage: str) -> None:
    described: dict[str, Any] = {"EndpointStatus": "Updating", "EndpointConfigName": "old"}
    described |= {"PendingDeploymentSummary": pending("new", stage)}
    by_parts = EndpointStatus(SageMakerFake(described, "InService"), "endpoint", updates_by_parts=True)
    assert by_parts.runs("new") is None


def test_nobody_knows_what_an_endpoint_runs_that_cannot_be_described() -> None:
    assert EndpointStatus(SageMakerFake(BotoCoreError()), "endpoint").runs("new") is None
    assert EndpointStatus(SageMakerFake(OutOfTimeError()), "endpoint").runs("new") is None


def test_every_attempt_together_ends_before_the_function() -> None:
    attempts = QUICK_RETRIES.retries["total_max_attempts"]
    longest_back_off_in_seconds = 2 ** (attempts - 1)
    longest = attempts * (QUICK_RETRIES.connect_timeout + QUICK_RETRIES.read_timeout) + longest_back_off_in_seconds
    assert longest < 10


@pytest.mark.parametrize(
    ("status", "current", "desired", "state"),
    [
        ("InService", 1, 1, READY),
        ("Updating", 1, 2, READY),
        ("Updating", 0, 1, STARTING),
        ("Creating", 0, 1, STARTING),
        ("InService", 0, 1, STARTING),
        ("InService", 0, 0, ASLEEP),
        ("Failed", 0, 1, FAILED),
    ],
)
def test_whether_the_model_answers_now_is_told_by_the_instances(
    status: str, current: int, desired: int, state: str
) -> None:
    counts = {"CurrentInstanceCount": current, "DesiredInstanceCount": desired}
    described = {"EndpointStatus": status, "ProductionVariants": [counts]}
    assert EndpointStatus(SageMakerFake(described), "endpoint").state() == state


def test_an_endpoint_that_is_not_there_yet_starts() -> None:
    assert EndpointStatus(SageMakerFake(NOT_FOUND), "endpoint").state() == STARTING
