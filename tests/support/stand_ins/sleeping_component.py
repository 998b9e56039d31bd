"""SageMaker and DynamoDB as a waker sees them: one component whose copy starts after a while, and one row."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from botocore.exceptions import ClientError

from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import WakeSettings
from inference_api.wake.component import InferenceComponent
from inference_api.wake.row import WakeRow, from_item
from inference_api.wake.rows import WakeRows
from inference_api.wake.waker import Waker

ESTIMATE = 300


def refusal(code: str, message: str = "", status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Operation")


@dataclass
class SleepingComponent:
    """The component and the row. Time passes only in `sleep`.

    before_call: called before each call of AWS, with the operation's name; an error that it raises is the call's.
    """

    starts_in: float = 240.0
    status: str = "InService"
    current: int = 0
    desired: int = 0
    failure: str = ""
    now: float = 1_800_000_000.0
    asks: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    item: dict[str, Any] = field(default_factory=dict)
    before_call: Callable[[str], None] = lambda operation: None
    refuses: ClientError | None = None

    @property
    def row(self) -> WakeRow:
        return from_item(self.item)

    def waker(self, wakes_per_day: int = 5) -> Waker:
        client: Any = self
        component = InferenceComponent(lambda: client, "component", "endpoint")
        settings = WakeSettings(wakes_per_day, ESTIMATE)
        return Waker(WakeRows(client, "jobs"), component, self.runtime, "chat", settings)

    @property
    def runtime(self) -> Runtime:
        return Runtime(client=lambda service, config: self, now=lambda: self.now, sleep=self.sleep, random=Random(1))

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.status == "Updating" and self.now >= self.asks[-1] + self.starts_in:
            self.status, self.current = "InService", self.desired

    def fall_asleep(self) -> None:
        self.current = self.desired = 0

    def describe_inference_component(self, *, InferenceComponentName: str) -> dict[str, Any]:
        self.before_call("describe")
        self.looks.append(self.now)
        if not self.status:
            raise refusal("ValidationException", f"Could not find inference component {InferenceComponentName}")
        found = {"CurrentCopyCount": self.current, "DesiredCopyCount": self.desired}
        reason = {"FailureReason": self.failure} if self.failure else {}
        return {"InferenceComponentStatus": self.status, "RuntimeConfig": found} | reason

    def describe_endpoint(self, *, EndpointName: str) -> dict[str, Any]:
        return {"EndpointStatus": "InService"}

    def update_inference_component_runtime_config(
        self, *, InferenceComponentName: str, DesiredRuntimeConfig: dict[str, int]
    ) -> None:
        self.before_call("ask")
        self.asks.append(self.now)
        if self.refuses:
            raise self.refuses
        self.status, self.desired = "Updating", DesiredRuntimeConfig["CopyCount"]

    def get_item(self, *, Key: Any, **_: Any) -> dict[str, Any]:
        self.before_call("get")
        assert Key == {"pk": {"S": "wake"}}
        return {"Item": dict(self.item)} if self.item else {}

    def update_item(
        self,
        *,
        ConditionExpression: str,
        ExpressionAttributeNames: dict[str, str],
        ExpressionAttributeValues: dict[str, Any],
        **_: Any,
    ) -> dict[str, Any]:
        self.before_call("write")
        before = {"looked_at = :before": ExpressionAttributeValues.get(":before"), "attribute_not_exists(pk)": None}
        if self.item.get("looked_at") != before[ConditionExpression]:
            raise refusal("ConditionalCheckFailedException")
        self.item |= {name: ExpressionAttributeValues[f":{name}"] for name in ExpressionAttributeNames.values()}
        return {"Attributes": dict(self.item)}
