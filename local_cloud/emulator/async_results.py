"""What becomes of an asynchronous invocation: objects in S3 and notifications, written with the execution role."""

import base64
import functools
import json
import threading
import time
from datetime import UTC, datetime
from typing import Any

from local_cloud.emulator import iam, ministack
from local_cloud.emulator.async_invocation import AsyncInvocation
from local_cloud.emulator.container_call import ContainerAnswer

_MAX_INCLUDED_BYTES = 128 * 1024
_MORE = "Check S3 path location(if configured) or Cloudwatch for additional details."
_making_clients = threading.Lock()


def read_object(role_arn: str, location: str) -> bytes:
    """Raises botocore's ClientError."""
    bucket, key = _parts(location)
    content: bytes = _client("s3", role_arn).get_object(Bucket=bucket, Key=key)["Body"].read()
    return content


def write_object(role_arn: str, location: str, answer: ContainerAnswer) -> None:
    """Raises botocore's ClientError."""
    bucket, key = _parts(location)
    _client("s3", role_arn).put_object(Bucket=bucket, Key=key, Body=answer.body, ContentType=answer.content_type)


def notify(role_arn: str, invocation: AsyncInvocation, answer: ContainerAnswer, failure: str | None) -> None:
    """Tell the topic of the outcome, if there is one; raises botocore's ClientError."""
    settings, outcome = invocation.notifications, "Error" if failure else "Success"
    topic = settings.get(f"{outcome}Topic")
    if not topic:
        return
    included = f"{outcome.upper()}_NOTIFICATION_TOPIC" in settings.get("IncludeInferenceResponseIn", [])
    message = _message(invocation, answer, failure, include_response=included)
    _client("sns", role_arn).publish(TopicArn=topic, Message=json.dumps(message, separators=(",", ":")))


def _message(
    invocation: AsyncInvocation, answer: ContainerAnswer, failure: str | None, *, include_response: bool
) -> dict[str, Any]:
    request = {
        "accept": invocation.accept,
        "contentType": invocation.content_type,
        "endpointName": invocation.endpoint,
        "inputLocation": invocation.input_location,
    }
    response = {"contentType": answer.content_type, "outputLocation": invocation.output_location}
    return {
        "awsRegion": ministack.region(),
        "eventTime": _timestamp(time.time()),
        "receivedTime": _timestamp(invocation.received_at),
        "invocationStatus": "Failed" if failure else "Completed",
        **({"failureReason": failure} if failure else {}),
        "requestParameters": {name: value for name, value in request.items() if value is not None},
        **({} if failure else {"responseParameters": response}),
        **({"responseBody": _response_body(answer.body)} if include_response else {}),
        "inferenceId": invocation.id,
        "eventVersion": "1.0",
        "eventSource": "aws:sagemaker",
        "eventName": "InferenceResult",
    }


def _response_body(body: bytes) -> dict[str, str]:
    if len(body) > _MAX_INCLUDED_BYTES:
        return {"message": _MORE}
    return {"content": base64.b64encode(body).decode(), "message": _MORE, "encoding": "BASE64"}


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _parts(location: str) -> tuple[str, str]:
    bucket, _, key = location.removeprefix("s3://").partition("/")
    return bucket, key


def _client(service: str, role_arn: str) -> Any:
    with _making_clients:  # boto3 makes clients on one thread at a time only; using them is safe on all
        return _made_client(service, role_arn, ministack.region())


@functools.cache
def _made_client(service: str, role_arn: str, region: str) -> Any:
    return iam.client_as_role(service, role_arn)
