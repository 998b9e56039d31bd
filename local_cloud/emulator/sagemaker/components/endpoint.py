"""An endpoint whose configuration names no model: a fleet of instances that inference components share."""

from collections.abc import Sequence
from typing import Any

from local_cloud.emulator.core.lifecycle import Lifecycle
from local_cloud.emulator.sagemaker.components.component import Component
from local_cloud.emulator.sagemaker.components.fleet import Fleet, NoRoomError
from local_cloud.emulator.sagemaker.containers.execution_role import demand_permission_on_volumes
from local_cloud.emulator.sagemaker.containers.instance import ContainerStartError
from local_cloud.emulator.sagemaker.requests.validation import instance_types


class ComponentEndpoint(Lifecycle):
    """One endpoint for components; without a component it answers nothing."""

    def __init__(self, name: str, arn: str, tags: list[dict[str, str]], config: dict[str, Any]) -> None:
        super().__init__(name, arn, tags)
        self.config = config
        self.fleet = Fleet(self.variant)

    @property
    def variant(self) -> dict[str, Any]:
        variant: dict[str, Any] = self.config["ProductionVariants"][0]
        return variant

    def start(self) -> None:
        self._in_background("Creating", self._start)

    def update(self, config: dict[str, Any], components: Sequence[Component]) -> None:
        """Follow another configuration; of another instance type, the components' copies move to new instances."""
        self._in_background("Updating", self._update, config, components)

    def delete(self) -> None:
        self._in_background("Deleting", self._enter, "Deleted")

    def describe(self) -> dict[str, Any]:
        variant = {
            "VariantName": self.variant["VariantName"],
            "CurrentInstanceCount": self.fleet.ready_count,
            "DesiredInstanceCount": len(self.fleet.hosts),
        }
        scaling = {name: self.variant[name] for name in ("ManagedInstanceScaling",) if name in self.variant}
        return {
            "EndpointName": self.name,
            "EndpointArn": self.arn,
            "EndpointConfigName": self.config["EndpointConfigName"],
            "EndpointStatus": self.status,
            "CreationTime": self.created_at,
            "LastModifiedTime": self.modified_at,
            **({"ProductionVariants": [variant | scaling]} if self.status != "Creating" else {}),
            **({"FailureReason": self.failure_reason} if self.failure_reason else {}),
        }

    def _start(self) -> None:
        try:
            demand_permission_on_volumes(self.config["ExecutionRoleArn"], self.config)
            self.fleet.start(int(self.variant["InitialInstanceCount"]))
        except (NoRoomError, ContainerStartError) as error:
            self._enter("Failed", str(error))
        else:
            self._enter("InService")

    def _update(self, config: dict[str, Any], components: Sequence[Component]) -> None:
        new, old = config["ProductionVariants"][0], self.variant
        stays = instance_types(new) == instance_types(old)
        fleet, moved = self.fleet if stays else Fleet(new), list[Component]()
        try:
            demand_permission_on_volumes(config["ExecutionRoleArn"], config)
            if stays:
                fleet.follow(new)
                fleet.start_least()
            else:
                fleet.start(int(new["InitialInstanceCount"]))
                for component in components:
                    moved.append(component)
                    component.move_to(fleet)
        except (NoRoomError, ContainerStartError) as error:
            self.fleet.follow(old)
            for component in moved:
                component.end_move(keep_new=False)
            self._enter("InService", str(error))
        else:
            for component in moved:
                component.end_move(keep_new=True)
            self.config, self.fleet = config, fleet
            self._enter("InService")
