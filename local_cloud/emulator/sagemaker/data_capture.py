"""Data capture of real-time endpoints: SageMaker writes invocations to S3 as the execution role, as JSON lines."""

import base64
import contextlib
import itertools
import json
import secrets
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from local_cloud.emulator.sagemaker.asynchronous.results import write_object
from local_cloud.emulator.sagemaker.containers.call import ContainerAnswer
from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec

_counters: dict[str, Any] = {}  # invocations so far, by configuration


def capture(settings: dict[str, Any], spec: ContainerSpec, given: tuple[str, bytes], got: tuple[str, bytes]) -> None:
    """Write the sampled share of the invocations, each into a file of its own. A role that may not writes nothing.

    given, got: type and body of request and answer.
    """
    if not settings.get("EnableCapture", True) or not _is_sampled(
        spec.config, int(settings["InitialSamplingPercentage"])
    ):
        return
    modes = {each["CaptureMode"] for each in settings["CaptureOptions"]}
    json_types = (settings.get("CaptureContentTypeHeader") or {}).get("JsonContentTypes", [])
    parts = {"Input": ("endpointInput", given), "Output": ("endpointOutput", got)}
    now = datetime.fromtimestamp(time.time(), UTC)
    line = {
        "captureData": {
            name: _part(mode, *content, json_types) for mode, (name, content) in parts.items() if mode in modes
        },
        "eventMetadata": {"eventId": str(uuid.uuid4()), "inferenceTime": now.strftime("%Y-%m-%dT%H:%M:%SZ")},
        "eventVersion": "0",
    }
    folder = f"{settings['DestinationS3Uri']}/{spec.endpoint}/{spec.variant}/{now:%Y/%m/%d/%H}"
    file = ContainerAnswer(200, "application/json", json.dumps(line).encode() + b"\n")
    with contextlib.suppress(ClientError):
        name = f"{now:%M-%S}-{now.microsecond // 1000:03}-{secrets.token_hex(8)}.jsonl"
        write_object(spec.role_arn, f"{folder}/{name}", file, settings.get("KmsKeyId"))


def _is_sampled(config: str, percent: int) -> bool:
    """Whether to capture this invocation: evenly spread ones, so that tests need no luck."""
    number: int = next(_counters.setdefault(config, itertools.count(1)))
    return number * percent // 100 > (number - 1) * percent // 100


def _part(mode: str, content_type: str, body: bytes, json_types: list[str]) -> dict[str, str]:
    is_json = content_type.partition(";")[0] in json_types
    data = body.decode() if is_json else base64.b64encode(body).decode()
    return {
        "observedContentType": content_type,
        "mode": mode.upper(),
        "data": data,
        "encoding": "JSON" if is_json else "BASE64",
    }
