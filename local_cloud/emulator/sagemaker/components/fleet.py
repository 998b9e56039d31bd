"""The instances of a component endpoint: starts them when copies need room, and releases them when they are idle."""

import secrets
import threading
import time
from typing import Any

from local_cloud.emulator.core import clock
from local_cloud.emulator.sagemaker.components import faults
from local_cloud.emulator.sagemaker.components.hardware import Hardware, hardware_of
from local_cloud.emulator.sagemaker.requests.validation import instance_types

# AWS's notebooks see idle instances end about ten minutes after their last copy.
_IDLE_SECONDS = 600
_SECONDS_BETWEEN_ATTEMPTS = 60
_ATTEMPTS = 10


class NoRoomError(Exception):
    """No instance can hold a copy; the message is the FailureReason."""


class Host:
    """An instance. `ready_at`: the end of its start; `idle_since`: when its last copy ended, None with copies."""

    def __init__(self, instance_type: str) -> None:
        self.id = f"i-{secrets.token_hex(9)[:17]}"
        self.type = instance_type
        self.free = hardware_of(instance_type)
        self.copies = 0
        self.ready_at = time.time() + clock.shortened(faults.start_seconds())
        self.idle_since: float | None = self.ready_at

    def take(self, part: Hardware) -> None:
        self.free, self.copies, self.idle_since = self.free.less(part), self.copies + 1, None

    def give_back(self, part: Hardware) -> None:
        self.free = Hardware(*(mine + given for mine, given in zip(self.free, part, strict=True)))
        self.copies -= 1
        if not self.copies:
            self.idle_since = time.time()

    def wait_until_ready(self) -> None:
        clock.sleep(max(0.0, self.ready_at - time.time()), in_work=True)


class Fleet:
    """The instances of one variant, between its MinInstanceCount and its MaxInstanceCount."""

    def __init__(self, variant: dict[str, Any]) -> None:
        self.hosts: list[Host] = []
        self._lock = threading.Lock()
        self._starting = 0
        self.follow(variant)

    def follow(self, variant: dict[str, Any]) -> None:
        """Take over the limits of a new configuration."""
        initial = int(variant["InitialInstanceCount"])
        scaling = variant.get("ManagedInstanceScaling") or {}
        is_managed = scaling.get("Status") == "ENABLED"
        self.type = instance_types(variant)[0]
        self._least = int(scaling["MinInstanceCount"]) if is_managed else initial
        self.most = int(scaling["MaxInstanceCount"]) if is_managed else initial
        minutes = (scaling.get("ScaleInPolicy") or {}).get("CooldownInMinutes")
        self._idle_seconds = float(minutes) * 60 if minutes else _IDLE_SECONDS

    def start_least(self) -> None:
        """Start what is missing to MinInstanceCount. Raises NoRoomError."""
        self.start(self._least - len(self.hosts))

    def start(self, count: int) -> None:
        """Start instances without copies and wait for them. Raises NoRoomError."""
        for host in [self._launch() for _ in range(count)]:
            host.wait_until_ready()

    @property
    def ready_count(self) -> int:
        return sum(host.ready_at <= time.time() for host in self.hosts)

    def needs_instance(self, part: Hardware) -> bool:
        return self._with_room(part) is None

    def place(self, part: Hardware, *, beyond_maximum: bool) -> Host:
        """Take room for a copy, on a new instance if necessary; raises NoRoomError.

        beyond_maximum: the copy belongs to an update, for which AWS provisions more instances for a while.
        """
        while hardware_of(self.type).holds(part):
            with self._lock:
                if host := self._with_room(part):
                    host.take(part)
                    return host
                grows = beyond_maximum or len(self.hosts) + self._starting < self.most
                self._starting += grows
            if grows:
                try:
                    self._launch()
                finally:
                    with self._lock:
                        self._starting -= 1
            elif self._starting:  # the instance that another component starts may have room for both
                clock.sleep(clock.shortened(1), in_work=True)
            else:
                break
        raise NoRoomError(
            f"Insufficient hardware resources: a copy needs {part}, but no instance has as much to spare, and the "
            f"endpoint may have at most {self.most} of {self.type} ({hardware_of(self.type)} each)."
        )

    def give_back(self, host: Host, part: Hardware) -> None:
        with self._lock:
            host.give_back(part)

    def release_idle(self) -> None:
        """End the instances that had no copy for a while, down to the least count."""
        before = time.time() - clock.shortened(self._idle_seconds)
        with self._lock:
            for host in list(self.hosts):
                if len(self.hosts) > self._least and host.idle_since is not None and host.idle_since <= before:
                    self.hosts.remove(host)

    def _with_room(self, part: Hardware) -> Host | None:
        """The fullest instance that can hold the part."""
        return min((host for host in self.hosts if host.free.holds(part)), key=lambda host: host.free, default=None)

    def _launch(self) -> Host:
        if faults.take("quota"):
            raise NoRoomError(quota_refusal(self.type, len(self.hosts)))
        for _ in range(_ATTEMPTS):
            if not faults.take("no_capacity"):
                host = Host(self.type)
                with self._lock:
                    self.hosts.append(host)
                return host
            clock.sleep(clock.shortened(_SECONDS_BETWEEN_ATTEMPTS), in_work=True)
        raise NoRoomError(
            "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML "
            "instance type."
        )


def quota_refusal(instance_type: str, count: int) -> str:
    return (
        f"The account-level service limit '{instance_type} for endpoint usage' is {count} Instances, with current "
        f"utilization of {count} Instances and a request delta of 1 Instances. Please use AWS Service Quotas to "
        "request an increase for this quota."
    )
