"""The life of one SageMaker endpoint: start, update with rollback, scaling, end."""

import time
from typing import Any

from local_cloud.emulator.core import clock
from local_cloud.emulator.core.lifecycle import Lifecycle
from local_cloud.emulator.sagemaker.asynchronous.queue import AsyncQueue
from local_cloud.emulator.sagemaker.containers.execution_role import (
    demand_permission_on_results,
    demand_permission_on_volumes,
    demand_permission_to_publish,
)
from local_cloud.emulator.sagemaker.containers.instance import ContainerStartError
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup
from local_cloud.emulator.sagemaker.containers.preparation import DEFAULT_STARTUP_SECONDS, prepare
from local_cloud.emulator.sagemaker.containers.rollback import (
    RollbackError,
    alarms_of,
    bake,
    demand_permission_to_watch,
)
from local_cloud.emulator.sagemaker.containers.traffic import Traffic
from local_cloud.emulator.sagemaker.requests.deployment_config import DEFAULT_EXECUTION_SECONDS, Rollout

# AWS chooses "an optimal value" without naming it.
_DEFAULT_ASYNC_CONCURRENCY = 4


class Endpoint(Lifecycle):
    """One endpoint whose configuration names a model."""

    def __init__(
        self, name: str, arn: str, tags: list[dict[str, str]], config: dict[str, Any], model: dict[str, Any]
    ) -> None:
        super().__init__(name, arn, tags)
        self.config = config
        self.desired_count = int(self.variant["InitialInstanceCount"])
        # What Application Auto Scaling registered for the variant; the registration ends with the endpoint.
        self.scalable_target: object | None = None
        # Until when an update watches its alarms, in time.time(); 0 = no update does.
        self.watched_until = 0.0
        self.group: InstanceGroup | None = None
        self.traffic = Traffic()
        self.queue = AsyncQueue(name, self.traffic) if "AsyncInferenceConfig" in config else None
        self._model = model
        # The update in progress: the old and the new configuration, and the stage of the new one.
        self._pending: tuple[str, str, str] | None = None
        self._last_deployment: dict[str, Any] = {}
        # Of the last update.
        self.rollout: Rollout | None = None

    @property
    def variant(self) -> dict[str, Any]:
        variant: dict[str, Any] = self.config["ProductionVariants"][0]
        return variant

    @property
    def is_idle(self) -> bool:
        """Whether the number of instances can be changed."""
        return self.status == "InService"

    def start(self) -> None:
        self._in_background("Creating", self._start)

    def update(
        self, config: dict[str, Any], model: dict[str, Any], rollout: Rollout, deployment: dict[str, Any]
    ) -> None:
        """Replace the instances by ones with this configuration; after a failure the old ones stay in service."""
        self._last_deployment, self.rollout = deployment, rollout
        self._in_background("Updating", self._update, config, model, rollout, alarms_of(deployment))

    def scale_to(self, count: int) -> None:
        self._in_background("Updating", self._scale_to, count)

    def delete(self) -> None:
        self.scalable_target = None
        self._in_background("Deleting", self._stop)

    def describe(self) -> dict[str, Any]:
        variant = {
            "VariantName": self.variant["VariantName"],
            "CurrentInstanceCount": len(self.traffic.healthy),
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

    def _start(self) -> None:
        try:
            self.group = self._launch(self.config, self._model, self.desired_count, DEFAULT_EXECUTION_SECONDS)
            self.traffic.send((self.group, 1))
        except ContainerStartError as error:
            self._enter("Failed", str(error))
        else:
            self._enter("InService")

    def _update(self, config: dict[str, Any], model: dict[str, Any], rollout: Rollout, alarms: list[str]) -> None:
        old, count = self.group, self.desired_count
        self._pending = (self.config["EndpointConfigName"], config["EndpointConfigName"], "Creating")
        self.watched_until = 0
        new = None
        try:
            demand_permission_to_watch(alarms, model["ExecutionRoleArn"])
            new = self._launch(config, model, rollout.batch, rollout.longest)
            if old and rollout.is_rolling:
                self._roll(old, new, rollout, alarms)
            else:
                self._move(old, new, rollout, alarms)
        except (ContainerStartError, RollbackError) as error:
            # Reports differ (terraform-provider-aws #39099, #48997). Here a failed start gives a reason, a rollback
            # by an alarm gives none.
            self._enter("RollingBack", str(error) if isinstance(error, ContainerStartError) else "")
            if old:
                self._roll_back(old, new, count, rollout.rollback_batch)
            surplus = new
        else:
            self.config, self._model, self.desired_count = config, model, rollout.count
            self.group, surplus = new, old
            self.traffic.send((new, 1))
        self._pending, self.watched_until = None, 0
        if surplus:
            surplus.stop(drain=True)
        self._enter("InService", self.failure_reason)

    def _move(self, old: InstanceGroup | None, new: InstanceGroup, rollout: Rollout, alarms: list[str]) -> None:
        """Send requests to the new instances: a canary first, then all."""
        if old and rollout.canary:
            self.traffic.send((old, rollout.count - rollout.canary), (new, rollout.canary))
            self._watch(rollout.first_watch, alarms)
        self.traffic.send((new, 1))
        self._watch(rollout.watch, alarms)

    def _roll(self, old: InstanceGroup, new: InstanceGroup, rollout: Rollout, alarms: list[str]) -> None:
        """End as many old instances as there are new ones, and start the next batch."""
        while True:
            self._share(old, new)
            self._watch(rollout.watch, alarms)
            left = rollout.count - len(new.instances)
            old.scale_to(max(0, len(old.instances) - rollout.batch) if left else 0)
            self._share(old, new)
            if not left:
                return
            new.scale_to(len(new.instances) + min(rollout.batch, left))

    def _roll_back(self, old: InstanceGroup, new: InstanceGroup | None, count: int, batch: int) -> None:
        """Start the old instances that ended, in batches, and send them all requests."""
        while len(old.instances) < count:
            old.scale_to(min(count, len(old.instances) + batch))
            if new:
                new.scale_to(max(0, len(new.instances) - batch))
                self._share(old, new)
        self.traffic.send((old, 1))

    def _share(self, old: InstanceGroup, new: InstanceGroup) -> None:
        """Give all instances the same share of the requests."""
        self.traffic.send((old, len(old.instances)), (new, len(new.instances)))

    def _watch(self, seconds: float, alarms: list[str]) -> None:
        assert self._pending
        self._pending = (*self._pending[:2], "Baking")
        self.watched_until = time.time() + clock.shortened(seconds)
        bake(seconds, alarms)

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
        variant = config["ProductionVariants"][0]
        asynchronous = config.get("AsyncInferenceConfig") or {}
        demand_permission_to_publish(model["ExecutionRoleArn"], asynchronous)
        demand_permission_on_results(model["ExecutionRoleArn"], asynchronous)
        demand_permission_on_volumes(model["ExecutionRoleArn"], config)
        startup_seconds = variant.get("ContainerStartupHealthCheckTimeoutInSeconds", DEFAULT_STARTUP_SECONDS)
        spec = prepare(
            model,
            min(float(startup_seconds), float(most_seconds)),
            endpoint=self.name,
            config=config["EndpointConfigName"],
            variant=variant["VariantName"],
            most_at_once=_most_at_once(asynchronous),
        )
        group = InstanceGroup(spec)
        try:
            group.scale_to(count)
        except ContainerStartError:
            group.stop(drain=False)
            raise
        return group


def _most_at_once(asynchronous: dict[str, Any]) -> int | None:
    if not asynchronous:
        return None
    client = asynchronous.get("ClientConfig") or {}
    return int(client.get("MaxConcurrentInvocationsPerInstance", _DEFAULT_ASYNC_CONCURRENCY))
