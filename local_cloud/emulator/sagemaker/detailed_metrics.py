"""CloudWatch's PromQL, for one question: are there metrics of detailed observability of an endpoint?

The collector on an instance sends them by OTLP as the execution role, which therefore needs PutMetricData without a
namespace. AWS selects series by the name of a metric only.
"""

import json
import re
import time
from typing import Any
from urllib.parse import parse_qs

from local_cloud.emulator.core import ministack
from local_cloud.emulator.core.routing import register_service
from local_cloud.emulator.sagemaker.store import endpoints, find_model
from local_cloud.emulator.services import iam

_PATH = r"/api/v1/query$"
_OF_ENDPOINT = re.compile(r'count\(\{"node_cpu_seconds_total","aws\.sagemaker\.endpoint\.name"="([^"]+)"\}\)')


async def _handle(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
) -> ministack.Answer:
    given = parse_qs(body.decode()) if method == "POST" else query
    text = "".join(given.get("query", ""))
    wanted = _OF_ENDPOINT.fullmatch(text)
    if not wanted:
        known = "the local cloud knows count() of node_cpu_seconds_total of an endpoint only"
        return _answer(400, {"status": "error", "errorType": "bad_data", "error": f"{text!r}: {known}"})
    count = _instances_that_send(wanted[1])
    result = [{"metric": {}, "value": [time.time(), str(count)]}] if count else []
    return _answer(200, {"status": "success", "data": {"resultType": "vector", "result": result}})


def _instances_that_send(name: str) -> int:
    """The number of instances in service whose metrics arrive."""
    endpoint = endpoints.get(name)
    if endpoint is None or not (endpoint.config.get("MetricsConfig") or {}).get("EnableDetailedObservability", True):
        return 0
    variant = endpoint.config["ProductionVariants"][0]
    owner = find_model(variant["ModelName"]) if "ModelName" in variant else endpoint.config
    if not iam.role_may(owner["ExecutionRoleArn"], "cloudwatch:PutMetricData", "*"):
        return 0
    return sum(each["CurrentInstanceCount"] for each in endpoint.describe().get("ProductionVariants", []))


def _answer(status: int, content: dict[str, Any]) -> ministack.Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(content).encode()


def _authorize(headers: dict[str, str], path: str, body: bytes) -> tuple[str, str]:
    return "cloudwatch:GetMetricData", "*"


def install() -> None:
    register_service("promql", _handle, authorize=_authorize, path=_PATH)
