"""Reads an endpoint whose model is an inference component for verify, status, logs and list."""

import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from botocore.exceptions import ClientError

from inference_api.shared.model_states import FAILED, NOT_FOUND, READY, STARTING, state_of_component
from inference_api.wake.row import WAKE_KEY, WakeRow, day_of, from_item
from llm_hosting import COMPONENT_LOGS
from slipway.hosting.check import NOT_DEPLOYED, Check
from slipway.hosting.endpoint import DeployedEndpoint
from slipway.hosting.machine import age
from slipway.hosting.meter import Metric


class DeployedComponent(DeployedEndpoint):
    """The inference component of a stack, and the endpoint below it. A component without a copy sleeps."""

    at_zero = "the calls below start one"

    @property
    def log_group(self) -> str:
        return f"{COMPONENT_LOGS}{self._stack.component_name}"

    @property
    def may_sleep(self) -> bool:
        return self._wakes_per_day > 0

    @property
    def failure(self) -> str:
        """The component's or the endpoint's own reason, or that of a wake that failed or takes far too long."""
        if reason := (self._stack.component or {}).get("FailureReason") or self._endpoint_failure:
            return str(reason)
        if self._copies == READY:
            return ""
        if self._wake.state == FAILED or (self._copies == STARTING and self._wake.reason):
            return self._wake.reason
        waits = time.time() - self._asked_at
        if self._copies == STARTING and self._asked_at and waits > 2 * self._usual_wake_in_seconds:
            why = "" if self.running else ": no instance has started"
            return f"a copy was asked for {age(self._asked_at, time.time())} ago, and none is ready{why}"
        return ""

    @property
    def calls(self) -> Metric | None:
        name = self._stack.component_name
        return calls_of_component(name) if name else None

    def calls_by_model(self) -> dict[str, Metric]:
        """Return the metrics of the model and of its adapters, whose components have names of their own."""
        before = f"{self._stack.component_name}-"
        ids = self._stack.resources.get("AWS::SageMaker::InferenceComponent", [])
        names = sorted(each.rpartition("/")[2] for each in ids)
        adapters = {each.removeprefix(before): calls_of_component(each) for each in names if each.startswith(before)}
        return super().calls_by_model() | adapters

    @property
    def takes_calls(self) -> bool:
        return super().takes_calls and self._model().good

    @property
    def is_scaling(self) -> bool:
        """Whether a copy starts or ends. A call waits for the first, so `verify` takes a waking model as good."""
        return (self._stack.component or {}).get("InferenceComponentStatus") == "Updating" and not self.failure

    def checks(self) -> Iterator[Check]:
        """Check the endpoint, its component and, if the endpoint exists, its configuration and its instances."""
        endpoint, *rest = super().checks()
        yield from (endpoint, self._model(), *rest)

    def state(self) -> dict[str, Any]:
        component, found = self._stack.component, super().state()
        current, desired = self._counts
        shown = component and {
            "name": self._stack.component_name,
            "status": component["InferenceComponentStatus"],
            "copies": {"current": current, "desired": desired},
            "state": self._copies,
        }
        if not self.may_sleep:
            return found | {"component": shown}
        return found | {
            "component": shown,
            "wakes": {
                "today": self._wakes_today,
                "per_day": self._wakes_per_day,
                "usual_seconds": self._usual_wake_in_seconds,
            },
        }

    def cost(self, state: dict[str, Any]) -> str:
        cost = super().cost(state)
        has_copy = state["component"] and state["component"]["copies"]["desired"]
        if state["instances"]["current"] and not has_copy:
            return f"{cost}; no copy is on them, and SageMaker ends them about ten minutes after the last one"
        return cost

    def lines(self, state: dict[str, Any]) -> Iterator[tuple[str, str]]:
        endpoint, *rest = super().lines(state)
        yield endpoint
        yield "component", self._shown(state["component"])
        if self.may_sleep:
            wakes = state["wakes"]
            yield "wakes", f"{wakes['today']} of {wakes['per_day']} today; one usually takes {wakes['usual_seconds']} s"
        yield from rest

    def _shown(self, component: dict[str, Any] | None) -> str:
        if component is None:
            return "there is none" if self._stack.deploys_endpoint else NOT_DEPLOYED
        copies = component["copies"]
        shown = f"{component['name']}: {component['status']}, {copies['current']} of {copies['desired']} copies"
        if component["state"] != STARTING:
            return f"{shown}, {component['state']}"
        since = f", asked for {age(self._asked_at, time.time())} ago" if self._asked_at else ", starting"
        return f"{shown}{since}{'' if self.running else '; it waits for an instance'}"

    def _model(self) -> Check:
        component, name = self._stack.component, self._stack.component_name
        if component is None and not self._stack.deploys_endpoint:
            return Check("component", True, NOT_DEPLOYED)
        if component is None:
            return Check("component", False, f"there is no inference component {name}", "deploy again")
        current, desired = self._counts
        status, reason = component["InferenceComponentStatus"], component.get("FailureReason") or ""
        seen = f"{name} is {status} with {current} of {desired} copies" + (f": {reason}" if reason else "")
        if status == "InService" and not reason:
            asleep = f"; the calls below wake it, which usually takes {self._usual_wake_in_seconds} s"
            return Check("component", True, seen if desired else seen + asleep)
        if self.is_scaling:
            waits = "; the calls below wait for a copy"
            return Check("component", True, seen if current else seen + waits)
        is_busy = status in ("Creating", "Updating", "Deleting")
        fix = "wait until SageMaker is done" if is_busy else f"read `slipway logs {self._stack.name}`"
        return Check("component", False, seen, fix)

    @property
    def _counts(self) -> tuple[int, int]:
        """The component's copies, present and wanted."""
        counts = (self._stack.component or {}).get("RuntimeConfig", {})
        return counts.get("CurrentCopyCount", 0), counts.get("DesiredCopyCount", 0)

    @property
    def _copies(self) -> str:
        status = (self._stack.component or {}).get("InferenceComponentStatus", NOT_FOUND)
        return state_of_component(status, *self._counts)

    @property
    def _asked_at(self) -> float:
        """The time of the ask with which the present start began; 0 = the functions did not ask, but the alarm."""
        if self._wake.is_starting:
            return self._wake.began_at
        return self._wake.asked_at if self._wake.asked_at > self._wake.ready_at else 0

    @property
    def _wakes_today(self) -> int:
        return self._wake.asks if self._wake.day == day_of(time.time()) else 0

    @property
    def _usual_wake_in_seconds(self) -> int:
        """The seconds of a wake as last measured; until one was, their estimate."""
        return round(self._wake.usual_seconds(float(self._variables.get("START_ESTIMATE_IN_SECONDS", 0))))

    @property
    def _wakes_per_day(self) -> int:
        """The budget of wakes; 0 = the model never sleeps, or the stack was never complete."""
        return int(self._variables.get("WAKES_PER_DAY", 0))

    @property
    def _variables(self) -> dict[str, str]:
        return self._stack.variables if self._stack.outputs else {}

    @cached_property
    def _wake(self) -> WakeRow:
        table, dynamodb = self._stack.outputs.get("JobTable"), self._stack.clients("dynamodb")
        if table is None:
            return WakeRow()
        try:
            return from_item(dynamodb.get_item(TableName=table, Key=WAKE_KEY).get("Item", {}))
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            return WakeRow()


def calls_of_component(name: str) -> Metric:
    """Return a metric with a sample for each request that a component answered."""
    return Metric("AWS/SageMaker", "ModelLatency", {"InferenceComponentName": name})


def is_changing(component: Mapping[str, Any] | None) -> bool:
    """Return whether SageMaker would refuse to delete a component, as DescribeInferenceComponent shows it; None = it
    does not exist.
    """
    return component is not None and component["InferenceComponentStatus"] not in ("InService", "Failed")
