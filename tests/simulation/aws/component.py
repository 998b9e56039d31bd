"""The inference component of a model that sleeps: copies come minutes after they are asked for, and go at any time."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from simulation.aws.errors import Refusal
from simulation.runtime.faults import Faults
from simulation.runtime.scheduler import Scheduler

NO_CAPACITY = "Inference Component has no capacity to process this request."
_SHORTEST_START, _LONGEST_START = 60.0, 400.0


@dataclass
class Component:
    """The component. It goes to zero `idle` seconds after the last call, and by a fault in the middle of one.

    asks: when a copy was asked for. wakes: how often the copies came.
    """

    name: str
    scheduler: Scheduler
    random: Random
    faults: Faults
    idle: float
    current: int = 0
    desired: int = 0
    asks: list[float] = field(default_factory=list)
    wakes: int = 0
    refused: int = 0
    _last_call: float = 0.0

    def call(self, component: str | None) -> None:
        """Take a call of the endpoint. Raises Refusal if no copy runs."""
        if component != self.name:
            raise Refusal("ValidationError", "Inference Component Name header is required")
        if self.faults.happens("scaled in at a call", self.faults.rates.scale_in):
            self.current = self.desired = 0
        if not self.current:
            self.refused += 1
            raise Refusal("ValidationError", NO_CAPACITY)
        self._last_call = self.scheduler.now
        self.scheduler.call_later(self.idle, self._fall_asleep)

    def describe_inference_component(self, **request: Any) -> dict[str, Any]:
        assert request == {"InferenceComponentName": self.name}
        status = "Updating" if self.desired > self.current else "InService"
        counts = {"CurrentCopyCount": self.current, "DesiredCopyCount": self.desired}
        return {"InferenceComponentStatus": status, "RuntimeConfig": counts}

    def describe_endpoint(self, **request: Any) -> dict[str, Any]:
        return {"EndpointStatus": "InService"}

    def update_inference_component_runtime_config(self, **request: Any) -> dict[str, Any]:
        assert request["DesiredRuntimeConfig"] == {"CopyCount": 1}
        if self.desired > self.current:
            raise Refusal("ValidationException", f'Cannot update in-progress inference component "{self.name}".')
        self.asks.append(self.scheduler.now)
        if not self.current:
            self.desired = 1
            comes_to_nothing = self.faults.happens("a start came to nothing", self.faults.rates.failed_start)
            seconds = self.random.uniform(_SHORTEST_START, _LONGEST_START)
            self.scheduler.call_later(seconds, self._fall_asleep if comes_to_nothing else self._start)
        return {}

    def _start(self) -> None:
        if self.desired:
            self.current = self.desired
            self.wakes += 1
            self._last_call = self.scheduler.now
            self.scheduler.call_later(self.idle, self._fall_asleep)

    def _fall_asleep(self) -> None:
        if self.scheduler.now - self._last_call >= self.idle:
            self.current = self.desired = 0
