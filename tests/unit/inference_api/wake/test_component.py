"""Whether the copies of an inference component are all of the deployed model."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from inference_api.wake.component import InferenceComponent


def component(status: str, current: int) -> InferenceComponent:
    """Return a component with a status and so many copies; with the status "" SageMaker does not answer."""

    def describe(InferenceComponentName: str) -> dict[str, Any]:
        if not status:
            raise ClientError({"Error": {"Code": "ThrottlingException"}}, "DescribeInferenceComponent")
        copies = {"CurrentCopyCount": current, "DesiredCopyCount": current}
        return {"InferenceComponentStatus": status, "RuntimeConfig": copies}

    client = SimpleNamespace(describe_inference_component=describe)
    return InferenceComponent(lambda: client, "chat-1a2b3c4d", "chat-1a2b3c4d-ic")


@pytest.mark.parametrize(
    ("status", "copies", "settled"),
    [
        ("InService", 2, True),
        ("Updating", 1, False),  # an update, or a scale-out: the copy may be of the model before
        ("Updating", 0, True),  # a wake
        ("Failed", 1, False),
        ("", 0, False),
    ],
)
def test_copies_of_an_earlier_model_may_answer_during_an_update(status: str, copies: int, settled: bool) -> None:
    assert component(status, copies).is_settled() is settled
