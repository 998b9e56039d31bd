"""The instances of one endpoint configuration: starts, scales and drains them, and chooses one for each request."""

import shutil
import threading
import time
from typing import Any

from local_cloud.emulator.core import clock
from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec, ContainerStartError, EndpointInstance

_POLL_INTERVAL_IN_SECONDS = 0.025


class InstanceGroup:
    """The instances that serve one endpoint configuration; an update replaces the group."""

    def __init__(self, spec: ContainerSpec) -> None:
        self.spec = spec
        self.instances: list[EndpointInstance] = []
        self._lock = threading.Lock()
        _groups.append(self)

    def scale_to(self, count: int, *, drain: bool = True) -> None:
        """Start or stop instances; raises ContainerStartError if new ones are not in service in time.

        drain: whether requests on instances that stop may end.
        """
        with self._lock:
            surplus = self.instances[count:]
            new = [EndpointInstance(self.spec) for _ in range(count - len(self.instances))]
            self.instances = self.instances[:count] + new
        _stop_all(surplus, drain=drain)
        try:
            self._wait_until_healthy(new)
        except ContainerStartError:
            with self._lock:
                self.instances = [instance for instance in self.instances if instance not in new]
            _stop_all(new, drain=False)
            raise

    def stop(self, *, drain: bool) -> None:
        if self in _groups:
            _groups.remove(self)
        with self._lock:
            instances, self.instances = self.instances, []
        _stop_all(instances, drain=drain)
        if self.spec.model_folder:
            shutil.rmtree(self.spec.model_folder, ignore_errors=True)

    @property
    def healthy(self) -> list[EndpointInstance]:
        """The instances that are in service."""
        return [instance for instance in self.instances if instance.status == "InService"]

    def take_instance(self) -> EndpointInstance | None:
        """The healthy instance with the fewest outstanding requests; the caller's counts too, until give_back().

        None if no instance is healthy and has room for a request.
        """
        with self._lock:
            instance = min(self.healthy, key=lambda candidate: candidate.outstanding, default=None)
            if instance is None or instance.outstanding == self.spec.most_at_once:
                return None
            instance.outstanding += 1
            return instance

    def give_back(self, instance: EndpointInstance) -> None:
        with self._lock:
            instance.outstanding -= 1

    def _wait_until_healthy(self, instances: list[EndpointInstance]) -> None:
        deadline = time.time() + clock.shortened(self.spec.startup_seconds)
        while starting := [instance for instance in instances if instance.status != "InService"]:
            failed = next((instance for instance in starting if instance.status == "Failed"), None)
            if failed or time.time() >= deadline:
                raise ContainerStartError(_explain(self.spec, failed or starting[0]))
            if all(instance.status == "Loading" for instance in starting):
                ready_at = min(deadline, *(instance.loaded_at for instance in starting))
                clock.sleep(max(0.0, ready_at - time.time()), in_work=True)
            time.sleep(_POLL_INTERVAL_IN_SECONDS)


_groups: list[InstanceGroup] = []


def list_containers() -> list[dict[str, Any]]:
    return [
        {
            "endpoint": group.spec.endpoint,
            "component": group.spec.component,
            "instance": instance.id,
            "outstanding": instance.outstanding,
            "pid": instance.pid,
            "port": instance.port,
            "status": instance.status,
        }
        for group in list(_groups)
        for instance in list(group.instances)
    ]


def stop_all_groups() -> None:
    for group in list(_groups):
        group.stop(drain=False)


def _stop_all(instances: list[EndpointInstance], *, drain: bool) -> None:
    stopping = [threading.Thread(target=instance.stop, kwargs={"drain": drain}) for instance in instances]
    for thread in stopping:
        thread.start()
    for thread in stopping:
        thread.join()


def _explain(spec: ContainerSpec, instance: EndpointInstance) -> str:
    host = f"inference component {spec.component}" if spec.component else f"production variant {spec.variant}"
    reason = (
        f"The primary container for {host} did not pass the ping health check. "
        f"Please check CloudWatch logs for this {'inference component' if spec.component else 'endpoint'}."
    )
    return f"{reason} Its last line: {instance.last_line}" if instance.last_line else reason
