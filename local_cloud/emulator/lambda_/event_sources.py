"""Event source mappings of queues: when queues are read, and which mappings AWS refuses."""

from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.lambda_.functions import function_configuration
from local_cloud.emulator.services import iam, sqs

_lambda = ministack.internals("ministack.services.lambda_svc", "_ESM_IDLE_WAKE_GAP_SECONDS")

_ACTIONS = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")


def _check(properties: dict[str, Any]) -> None:
    arn = properties["EventSourceArn"]
    config, queue = function_configuration(properties["FunctionName"]), sqs.find_queue(arn)
    if queue is None or config is None:
        raise ValueError(f"The event source or the function does not exist: {arn}, {properties['FunctionName']}")
    for action in _ACTIONS:
        if not iam.role_may(config["Role"], f"sqs:{action}", arn):
            raise ValueError(f"The provided execution role does not have permissions to call {action} on SQS")
    visibility, timeout = int(queue["attributes"]["VisibilityTimeout"]), int(config["Timeout"])
    if visibility < timeout:
        raise ValueError(
            f"Queue visibility timeout: {visibility} seconds is less than Function timeout: {timeout} seconds"
        )


def install() -> None:
    # MiniStack's pause after an empty receive would be most of a message's latency.
    _lambda._ESM_IDLE_WAKE_GAP_SECONDS = 0.005
    extend_resource_type("AWS::Lambda::EventSourceMapping", check=_check)
