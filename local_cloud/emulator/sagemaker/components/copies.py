"""The copies of one version of a component, each a container on an instance with room for it."""

from local_cloud.emulator.sagemaker.components.fleet import Fleet, Host
from local_cloud.emulator.sagemaker.components.hardware import Hardware
from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup


class Copies:
    """The copies; `part` is the hardware that each takes of its instance."""

    def __init__(self, spec: ContainerSpec, fleet: Fleet, part: Hardware) -> None:
        self.group = InstanceGroup(spec)
        self.fleet, self._part = fleet, part
        # The copies that have started; one whose container restarts stays among them.
        self.in_service = 0
        self._hosts: list[Host] = []  # in the order of the group's containers

    @property
    def count(self) -> int:
        return len(self._hosts)

    def scale_to(self, count: int, *, beyond_maximum: bool = False, drain: bool = False) -> None:
        """Start or end copies; raises NoRoomError or ContainerStartError, and then none were added."""
        before = self.count
        self.in_service = min(before, count)
        try:
            while self.count < count:
                self._hosts.append(self.fleet.place(self._part, beyond_maximum=beyond_maximum))
            for host in self._hosts[before:]:
                host.wait_until_ready()
            self.group.scale_to(count, drain=drain)
        except Exception:
            self._leave(before)
            raise
        self._leave(count)
        self.in_service = count

    def stop(self, *, drain: bool) -> None:
        self.in_service = 0
        self.group.stop(drain=drain)
        self._leave(0)

    def _leave(self, count: int) -> None:
        surplus, self._hosts = self._hosts[count:], self._hosts[:count]
        for host in surplus:
            self.fleet.give_back(host, self._part)
