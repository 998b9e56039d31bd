"""What is read of the asynchronous endpoint's notifications."""

import json

import pytest

from inference_api.jobs.recorder import Notification, failure_of

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


@pytest.mark.parametrize(("status", "refused"), [(400, True), (413, True), (422, True), (424, False), (500, False)])
def test_only_what_the_model_itself_refuses_is_final(status: int, refused: bool) -> None:
    side = "client" if status < 500 else "server"
    reason = (
        f"ClientError: Received {side} error ({status}) from model. See the SageMaker Endpoint logs in your account"
    )
    failure = failure_of(reason, "too long")
    assert failure.refused is refused
    assert "too long" in failure.message


def test_awss_own_words_are_not_passed_on() -> None:
    failure = failure_of("InternalServerError: arn:aws:iam::111122223333:role/x may not read s3://bucket/key", "")
    assert (failure.code, failure.message) == ("model_error", "The model failed.")
