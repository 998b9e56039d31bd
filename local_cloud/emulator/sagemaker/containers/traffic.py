"""The groups of instances that share the requests of an endpoint, such as the old and the new ones of an update."""

import threading

from local_cloud.emulator.sagemaker.containers.instance import EndpointInstance
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup


class Traffic:
    """Sends each request to a group: over many requests each group gets the share of its weight."""

    def __init__(self) -> None:
        self._weights: list[tuple[InstanceGroup, float]] = []
        self._owed: dict[InstanceGroup, float] = {}
        self._lock = threading.Lock()

    def send(self, *weights: tuple[InstanceGroup, float]) -> None:
        """Share the requests among these groups from now on."""
        with self._lock:
            self._weights = [(group, weight) for group, weight in weights if weight]
            self._owed = dict.fromkeys((group for group, _ in self._weights), 0.0)

    @property
    def groups(self) -> list[InstanceGroup]:
        return [group for group, _ in self._weights]

    @property
    def healthy(self) -> list[EndpointInstance]:
        """The instances that get requests."""
        return [instance for group in self.groups for instance in group.healthy]

    def take_instance(self) -> tuple[InstanceGroup, EndpointInstance] | None:
        """An instance of the group whose turn it is, or of another one; the caller's until give_back().

        None if no instance is healthy and has room for a request.
        """
        for group in self._by_turn():
            if instance := group.take_instance():
                with self._lock:
                    self._owed = {each: owed - (each is group) for each, owed in self._owed.items()}
                return group, instance
        return None

    def _by_turn(self) -> list[InstanceGroup]:
        """The groups, first the one that is furthest behind its share."""
        with self._lock:
            total = sum(weight for _, weight in self._weights)
            owed = {group: self._owed[group] + weight / total for group, weight in self._weights}
            self._owed = owed
        return sorted(owed, key=lambda group: -owed[group])
