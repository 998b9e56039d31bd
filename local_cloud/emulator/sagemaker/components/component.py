"""The life of an inference component with a model: start, update with rollback, scaling, end."""

import tempfile
from pathlib import Path
from typing import Any

from local_cloud.emulator.core.lifecycle import Lifecycle
from local_cloud.emulator.sagemaker.components.copies import Copies
from local_cloud.emulator.sagemaker.components.fleet import Fleet, NoRoomError
from local_cloud.emulator.sagemaker.components.hardware import required_hardware
from local_cloud.emulator.sagemaker.containers.instance import ContainerStartError
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup
from local_cloud.emulator.sagemaker.containers.preparation import DEFAULT_STARTUP_SECONDS, prepare
from local_cloud.emulator.sagemaker.containers.rollback import (
    RollbackError,
    alarms_of,
    bake,
    demand_permission_to_watch,
)


class Component(Lifecycle):
    """One component; `desired_count` is the number of copies that it should have.

    where: the members of the containers' ContainerSpec that name the endpoint, its configuration and its variant.
    """

    def __init__(
        self,
        name: str,
        arn: str,
        tags: list[dict[str, str]],
        where: dict[str, str],
        fleet: Fleet,
        specification: dict[str, Any],
        model: dict[str, Any],
        count: int,
    ) -> None:
        super().__init__(name, arn, tags)
        self.specification, self.desired_count = specification, count
        self.scalable_target: object | None = None
        self.last_deployment: dict[str, Any] = {}
        self.where = where
        self.fleet, self._model = fleet, model
        # The adapters by their components' names, each in a folder of that name.
        self.adapters = tempfile.TemporaryDirectory(prefix="slipway-adapters-", ignore_cleanup_errors=True)
        # Several during an update or a move, while old and new copies serve.
        self._versions: list[Copies] = []

    @property
    def is_idle(self) -> bool:
        """Whether the component can be changed: one that failed to start may be asked for copies again."""
        return self.status in ("InService", "Failed")

    @property
    def groups(self) -> list[InstanceGroup]:
        """The containers of all copies; a request goes to the group with the most idle ones."""
        groups = [copies.group for copies in self._versions]
        return sorted(groups, key=lambda group: sum(not each.outstanding for each in group.healthy), reverse=True)

    @property
    def current_count(self) -> int:
        """The copies that are in service, or were and restart."""
        return sum(copies.in_service for copies in self._versions)

    def start(self) -> None:
        self._in_background("Creating", self._scale_to, self.desired_count, 0)

    def scale_to(self, count: int) -> None:
        """Start or end copies. A request on a copy that ends is cut: AWS promises no time to end it."""
        before, self.desired_count = self.desired_count, count
        self._in_background("Updating", self._scale_to, count, before)

    def update(self, specification: dict[str, Any], model: dict[str, Any], count: int, deploy: dict[str, Any]) -> None:
        """Replace the copies by those of another specification; after a failure the old ones stay in service."""
        self.last_deployment = deploy
        self._in_background("Updating", self._update, specification, model, count, deploy)

    def delete(self) -> None:
        self.scalable_target = None
        self._in_background("Deleting", self._stop)

    def describe(self) -> dict[str, Any]:
        return {
            "InferenceComponentName": self.name,
            "InferenceComponentArn": self.arn,
            "EndpointName": self.where["endpoint"],
            "VariantName": self.where["variant"],
            "InferenceComponentStatus": self.status,
            "Specification": self.specification,
            "RuntimeConfig": {"DesiredCopyCount": self.desired_count, "CurrentCopyCount": self.current_count},
            "CreationTime": self.created_at,
            "LastModifiedTime": self.modified_at,
            **({"LastDeploymentConfig": self.last_deployment} if self.last_deployment else {}),
            **({"FailureReason": self.failure_reason} if self.failure_reason else {}),
        }

    def move_to(self, fleet: Fleet) -> None:
        """Start as many copies on another fleet; end_move() ends the old ones, or these.

        Raises NoRoomError or ContainerStartError.
        """
        self._enter("Updating")
        copies = self._prepare(self.specification, self._model, fleet)
        self._versions.append(copies)
        copies.scale_to(self.desired_count)

    def end_move(self, *, keep_new: bool) -> None:
        if keep_new:
            self.fleet = self._versions[-1].fleet
        surplus = self._versions[:-1] if keep_new else self._versions[1:]
        self._versions = [copies for copies in self._versions if copies not in surplus]
        for copies in surplus:
            copies.stop(drain=True)
        self._settle()

    def _scale_to(self, count: int, before: int) -> None:
        try:
            if not self._versions:
                self._versions = [self._prepare(self.specification, self._model, self.fleet)]
            self._versions[0].scale_to(count)
        except (NoRoomError, ContainerStartError) as error:
            self.desired_count = before
            self._settle(str(error))
        else:
            self._settle()

    def _update(self, specification: dict[str, Any], model: dict[str, Any], count: int, deploy: dict[str, Any]) -> None:
        old, alarms, new = list(self._versions), alarms_of(deploy), None
        before = sum(copies.count for copies in old)
        try:
            demand_permission_to_watch(alarms, model["ExecutionRoleArn"])
            new = self._prepare(specification, model, self.fleet)
            self._versions = [new, *old]
            self._roll(old, new, count, deploy.get("RollingUpdatePolicy") or {}, alarms)
        except (NoRoomError, ContainerStartError, RollbackError) as error:
            self._roll_back(old, new, before)
            # As for endpoints: a failed start gives a reason, a rollback by an alarm gives none.
            self._settle("" if isinstance(error, RollbackError) else str(error))
        else:
            self.specification, self._model, self.desired_count = specification, model, count
            self._versions = [new]
            for copies in old:
                copies.stop(drain=True)
            self._settle()

    def _roll(self, old: list[Copies], new: Copies, count: int, policy: dict[str, Any], alarms: list[str]) -> None:
        """Start the new copies, batch after batch, and end as many old ones after each."""
        batch = batch_size(policy, count) if policy else count
        while new.count < count:
            step = min(batch, count - new.count)
            new.scale_to(new.count + step, beyond_maximum=True)
            bake(float(policy.get("WaitIntervalInSeconds", 0)), alarms)
            for copies in old:
                copies.scale_to(max(0, copies.count - step), drain=True)

    def _roll_back(self, old: list[Copies], new: Copies | None, count: int) -> None:
        for copies in old:
            copies.scale_to(count, beyond_maximum=True)
        self._versions = old
        if new:
            new.stop(drain=True)

    @property
    def model(self) -> dict[str, Any]:
        """The model of the copies, which also runs the component's adapters."""
        return self._model

    def _stop(self) -> None:
        for copies in self._versions:
            copies.stop(drain=False)
        self.adapters.cleanup()
        self._enter("Deleted")

    def _settle(self, failure_reason: str = "") -> None:
        is_down = bool(failure_reason) and not self.current_count
        self._enter("Failed" if is_down else "InService", failure_reason)

    def _prepare(self, specification: dict[str, Any], model: dict[str, Any], fleet: Fleet) -> Copies:
        startup = specification.get("StartupParameters") or {}
        seconds = startup.get("ContainerStartupHealthCheckTimeoutInSeconds", DEFAULT_STARTUP_SECONDS)
        folder = Path(self.adapters.name)
        spec = prepare(model, float(seconds), component=self.name, adapters_folder=folder, **self.where)
        return Copies(spec, fleet, required_hardware(specification["ComputeResourceRequirements"]))


def batch_size(policy: dict[str, Any], count: int) -> int:
    """The copies of a batch of a RollingUpdatePolicy."""
    size = policy["MaximumBatchSize"]
    return int(size["Value"]) if size["Type"] == "COPY_COUNT" else max(1, count * int(size["Value"]) // 100)
