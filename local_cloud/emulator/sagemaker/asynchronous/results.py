"""S3 objects and SNS notifications of asynchronous invocations; all calls are made as the execution role."""

import functools
import json
import threading
import time
from datetime import UTC, datetime
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker.containers.call import ContainerAnswer
from local_cloud.emulator.sagemaker.requests.async_invocation import AsyncInvocation
from local_cloud.emulator.services import iam

_making_clients = threading.Lock()


def read_object(role_arn: str, location: str) -> bytes:
    """Read the object at an s3:// location. Raises botocore's ClientError."""
    bucket, key = _parts(location)
    content: bytes = _client("s3", role_arn).get_object(Bucket=bucket, Key=key)["Body"].read()
    return content


def write_object(role_arn: str, location: str, answer: ContainerAnswer, key_arn: str | None) -> None:
    """Write an object to an s3:// location. key_arn: None = the bucket's own key. Raises botocore's ClientError."""
    bucket, key = _parts(location)
    encryption = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key_arn} if key_arn else {}
    _client("s3", role_arn).put_object(
        Bucket=bucket, Key=key, Body=answer.body, ContentType=answer.content_type, **encryption
    )


def notify(role_arn: str, invocation: AsyncInvocation, answer: ContainerAnswer, failure: str | None) -> None:
    """Publish the outcome to its topic, if the endpoint has one. Raises botocore's ClientError."""
    if topic := invocation.notifications.get("ErrorTopic" if failure else "SuccessTopic"):
        message = json.dumps(_message(invocation, answer, failure), separators=(",", ":"))
        _client("sns", role_arn).publish(TopicArn=topic, Message=message)


def _message(invocation: AsyncInvocation, answer: ContainerAnswer, failure: str | None) -> dict[str, Any]:
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
        "inferenceId": invocation.id,
        "eventVersion": "1.0",
        "eventSource": "aws:sagemaker",
        "eventName": "InferenceResult",
    }


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _parts(location: str) -> tuple[str, str]:
    bucket, _, key = location.removeprefix("s3://").partition("/")
    return bucket, key


def _client(service: str, role_arn: str) -> Any:
    with _making_clients:  # boto3 clients are thread-safe, but creating one is not
        return _made_client(service, role_arn, ministack.region())


@functools.cache
def _made_client(service: str, role_arn: str, region: str) -> Any:
    return iam.client_as_role(service, role_arn)
