"""The life of one SageMaker endpoint: start, update with rollback, scaling, end."""

import threading
import time
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.sagemaker.asynchronous.queue import AsyncQueue
from local_cloud.emulator.sagemaker.containers.execution_role import (
    demand_permission_to_publish,
    demand_permission_to_pull,
)
from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec, ContainerStartError
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup
from local_cloud.emulator.sagemaker.containers.model_data import fetch_model_data
from local_cloud.emulator.services import cloudwatch, iam

_DEFAULT_STARTUP_SECONDS = 480
_DEFAULT_EXECUTION_SECONDS = 28800
# AWS chooses "an optimal value" without naming it.
_DEFAULT_ASYNC_CONCURRENCY = 4
_ALARM_LOOK_INTERVAL_IN_SECONDS = 10
_LOADING = "SLIPWAY_LOCAL_STARTUP_SECONDS"


class RollbackError(Exception):
    """An update that the automatic rollback reverts."""


class Endpoint:
    """One endpoint. Slow work runs on its own thread; wait_until_settled() waits for its end."""

    def __init__(self, name: str, arn: str, config: dict[str, Any], model: dict[str, Any]) -> None:
        self.name = name
        self.arn = arn
        self.config = config
        self.status = "Creating"
        self.failure_reason = ""
        self.created_at = self.modified_at = time.time()
        self.desired_count = int(self.variant["InitialInstanceCount"])
        self.tags: list[dict[str, str]] = []
        # What Application Auto Scaling registered for the variant; the registration ends with the endpoint.
        self.scalable_target: object | None = None
        # Until when an update watches its alarms, in time.time(); 0 = no update does.
        self.watched_until = 0.0
        self.group: InstanceGroup | None = None
        self.queue = AsyncQueue(name, lambda: self.group) if "AsyncInferenceConfig" in config else None
        self._model = model
        # The update in progress: the old and the new configuration, and the stage of the new one.
        self._pending: tuple[str, str, str] | None = None
        self._last_deployment: dict[str, Any] = {}
        self._settled = threading.Event()

    @property
    def variant(self) -> dict[str, Any]:
        variant: dict[str, Any] = self.config["ProductionVariants"][0]
        return variant

    def start(self) -> None:
        self._in_background("Creating", self._start)

    def update(self, config: dict[str, Any], model: dict[str, Any], count: int, deployment: dict[str, Any]) -> None:
        """Replace the instances by ones with this configuration; after a failure the old ones stay in service."""
        self._last_deployment = deployment
        self._in_background("Updating", self._update, config, model, count, deployment)

    def scale_to(self, count: int) -> None:
        self._in_background("Updating", self._scale_to, count)

    def delete(self) -> None:
        self.scalable_target = None
        self._in_background("Deleting", self._stop)

    def wait_until_settled(self) -> None:
        self._settled.wait()

    def describe(self) -> dict[str, Any]:
        variant = {
            "VariantName": self.variant["VariantName"],
            "CurrentInstanceCount": len(self.group.healthy) if self.group else 0,
            "DesiredInstanceCount": self.desired_count,
        }
        return {
            "EndpointName": self.name,
            "EndpointArn": self.arn,
            # The old name until the update ends; botocore's model does not say when it changes.
            "EndpointConfigName": self._pending[0] if self._pending else self.config["EndpointConfigName"],
            "EndpointStatus": self.status,
            "CreationTime": self.created_at,
            "LastModifiedTime": self.modified_at,
            **({"ProductionVariants": [variant]} if self.group else {}),
            **({"AsyncInferenceConfig": self.config["AsyncInferenceConfig"]} if self.queue else {}),
            **({"PendingDeploymentSummary": self._pending_deployment} if self._pending else {}),
            **({"LastDeploymentConfig": self._last_deployment} if self._last_deployment else {}),
            **({"FailureReason": self.failure_reason} if self.failure_reason else {}),
        }

    @property
    def _pending_deployment(self) -> dict[str, Any]:
        assert self._pending
        _, name, stage = self._pending
        variant = {"VariantName": self.variant["VariantName"], "VariantStatus": [{"Status": stage}]}
        return {"EndpointConfigName": name, "ProductionVariants": [variant], "StartTime": self.modified_at}

    def _in_background(self, status: str, work: Any, *args: Any) -> None:
        self._settled.clear()
        self._enter(status)
        clock.begin_work()

        def run() -> None:
            try:
                work(*args)
            except Exception as error:
                self._enter("Failed", f"The local cloud failed: {error!r}")
                raise
            finally:
                self._settled.set()
                clock.end_work()

        ministack.in_background(run, name=f"endpoint {self.name}")

    def _enter(self, status: str, failure_reason: str = "") -> None:
        self.failure_reason = failure_reason
        self.status = status
        self.modified_at = time.time()

    def _start(self) -> None:
        try:
            self.group = self._launch(self.config, self._model, self.desired_count, _DEFAULT_EXECUTION_SECONDS)
        except ContainerStartError as error:
            self._enter("Failed", str(error))
        else:
            self._enter("InService")

    def _update(self, config: dict[str, Any], model: dict[str, Any], count: int, deployment: dict[str, Any]) -> None:
        policy = deployment.get("BlueGreenUpdatePolicy", {})
        alarms = [alarm["AlarmName"] for alarm in deployment.get("AutoRollbackConfiguration", {}).get("Alarms", [])]
        before = (self.config, self._model, self.desired_count)
        old, new = self.group, None
        names = (self.config["EndpointConfigName"], config["EndpointConfigName"])
        self._pending = (*names, "Creating")
        try:
            _demand_permission_to_watch(alarms, model["ExecutionRoleArn"])
            most_seconds = policy.get("MaximumExecutionTimeoutInSeconds", _DEFAULT_EXECUTION_SECONDS)
            new = self._launch(config, model, count, most_seconds)
            self.config, self._model, self.desired_count = config, model, count
            self.group = new
            self._pending = (*names, "Baking")
            watch = float(policy.get("TerminationWaitInSeconds", 0))
            self.watched_until = time.time() + clock.shortened(watch)
            _bake(watch, alarms)
        except (ContainerStartError, RollbackError) as error:
            # Reports differ (terraform-provider-aws #39099, #48997). Here a failed start gives a reason, a rollback
            # by an alarm gives none.
            self._enter("RollingBack", str(error) if isinstance(error, ContainerStartError) else "")
            self.group = old
            self.config, self._model, self.desired_count = before
            surplus = new
        else:
            surplus = old
        self._pending, self.watched_until = None, 0
        if surplus:
            surplus.stop(drain=True)
        self._enter("InService", self.failure_reason)

    def _scale_to(self, count: int) -> None:
        assert self.group is not None
        before, self.desired_count = self.desired_count, count
        try:
            self.group.scale_to(count)
        except ContainerStartError as error:
            self.desired_count = before
            self._enter("InService", str(error))
        else:
            self._enter("InService")

    def _stop(self) -> None:
        if self.queue:
            self.queue.close()
        if self.group:
            self.group.stop(drain=False)
        self._enter("Deleted")

    def _launch(self, config: dict[str, Any], model: dict[str, Any], count: int, most_seconds: float) -> InstanceGroup:
        """Start instances; raises ContainerStartError if they are not in service within `most_seconds`."""
        variant, container = config["ProductionVariants"][0], model["PrimaryContainer"]
        asynchronous = config.get("AsyncInferenceConfig") or {}
        demand_permission_to_publish(model["ExecutionRoleArn"], asynchronous)
        demand_permission_to_pull(model["ExecutionRoleArn"], container["Image"])
        environment = dict(container.get("Environment", {}))
        startup_seconds = variant.get("ContainerStartupHealthCheckTimeoutInSeconds", _DEFAULT_STARTUP_SECONDS)
        spec = ContainerSpec(
            endpoint=self.name,
            config=config["EndpointConfigName"],
            variant=variant["VariantName"],
            role_arn=model["ExecutionRoleArn"],
            image=container["Image"],
            loading_seconds=_loading_seconds(environment.pop(_LOADING, "0")),
            environment=environment,
            startup_seconds=min(float(startup_seconds), float(most_seconds)),
            model_folder=fetch_model_data(model["ExecutionRoleArn"], container),
            most_at_once=_most_at_once(asynchronous),
        )
        group = InstanceGroup(spec)
        try:
            group.scale_to(count)
        except ContainerStartError:
            group.stop(drain=False)
            raise
        return group


def _demand_permission_to_watch(alarms: list[str], role_arn: str) -> None:
    for alarm in alarms:
        resource = f"arn:aws:cloudwatch:{ministack.region()}:{ministack.account_id()}:alarm:{alarm}"
        if not iam.role_may(role_arn, "cloudwatch:DescribeAlarms", resource):
            raise RollbackError(
                f"The role '{role_arn}' does not have cloudwatch:DescribeAlarms permission for the alarm '{alarm}' "
                "of the automatic rollback."
            )


def _loading_seconds(given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise ContainerStartError(f"{_LOADING}: {given!r} is not a number of seconds") from None


def _most_at_once(asynchronous: dict[str, Any]) -> int | None:
    if not asynchronous:
        return None
    client = asynchronous.get("ClientConfig") or {}
    return int(client.get("MaxConcurrentInvocationsPerInstance", _DEFAULT_ASYNC_CONCURRENCY))


def _bake(seconds: float, alarms: list[str]) -> None:
    """Watch the alarms for `seconds`, while old and new instances run; raises RollbackError if one goes off."""
    started = time.time()
    deadline = started + clock.shortened(seconds)
    while True:
        for alarm in alarms:
            if cloudwatch.alarm_was_on(alarm, since=started):
                raise RollbackError(f"The update was rolled back because the alarm {alarm} went off.")
        left = deadline - time.time()
        if left <= 0:
            return
        clock.sleep(min(left, clock.shortened(_ALARM_LOOK_INTERVAL_IN_SECONDS)), in_work=True)
