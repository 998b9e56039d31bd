"""What CloudFormation says about the deployed stack `chat`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from llm_hosting import DESCRIPTION_PREFIX

_STACK_ID = "arn:aws:cloudformation:eu-west-1:111122223333:stack/chat/1a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d"


def described_stack(
    status: str, serves: str, *, parameters: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, Any]:
    """The stack in an answer of DescribeStacks. `serves`: the model and its engine, in the stack's description."""
    return {
        "StackName": "chat",
        "StackId": _STACK_ID,
        "StackStatus": status,
        "Description": f"{DESCRIPTION_PREFIX}{serves}",
        "CreationTime": datetime(2026, 11, 22, tzinfo=UTC),
        "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        "Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()],
    }
