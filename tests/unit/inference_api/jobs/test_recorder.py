"""Notifications of the asynchronous endpoint."""

import json

import pytest

from inference_api.jobs.recorder import Notification

JOB = "0123456789abcdef" * 2


def message(**changes: object) -> str:
    return json.dumps({"inferenceId": f"{JOB}.2", "invocationStatus": "Completed"} | changes)


def test_a_notification_names_the_jobs_attempt() -> None:
    location = "s3://bucket/output/x/2/y.out"
    notification = Notification.read(message(responseParameters={"outputLocation": location}))
    assert notification == Notification(JOB, 2, failed=False, output_location=location, reason="")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "not json",
        "[]",
        '"text"',
        "null",
        "{}",
        "[" * 100_000,
        message(inferenceId="../../etc/passwd"),
        message(inferenceId=f"{JOB}.0"),
        message(inferenceId=f"{JOB}.12"),
        message(inferenceId=None),
        message(inferenceId=7),
        message(inferenceId=JOB.upper() + ".1"),
        message(responseParameters="text"),
    ],
)
def test_a_message_about_no_job_of_ours_is_none(body: str) -> None:
    assert Notification.read(body) is None


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("ClientError: Received client error (400) from model. See the SageMaker Endpoint logs in your account", 400),
        ("ServerError: Received server error (0) from model. See the SageMaker Endpoint logs in your account", 0),
        ("InternalServerError: arn:aws:iam::111122223333:role/x may not read s3://bucket/key", None),
    ],
)
def test_the_reason_of_a_failure_may_hold_the_containers_status(reason: str, status: int | None) -> None:
    notification = Notification.read(message(invocationStatus="Failed", failureReason=reason))
    assert notification
    assert notification.container_status == status
