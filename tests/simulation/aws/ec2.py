"""EC2: instances that boot, stop and vanish. As on AWS, a stopping one can't be started, and a running one goes on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from simulation.aws.errors import Refusal
from simulation.runtime.faults import Faults
from simulation.runtime.scheduler import Scheduler

PENDING, RUNNING, STOPPING, STOPPED, TERMINATED = "pending", "running", "stopping", "stopped", "terminated"
STACK = "simulated"
_START_IN_SECONDS, _STOP_IN_SECONDS = 10, 30


@dataclass
class Instance:
    """An instance. history: each state with the time when it began."""

    id: str
    number: int
    state: str
    launched_at: float
    history: list[tuple[float, str]] = field(default_factory=list)


@dataclass
class Ec2:
    """EC2. on_running, on_stop: called when an instance begins to boot, and when it is told to stop or is gone.

    starts: the times of all requests to start. stops: the times and instances of requests to stop.
    """

    scheduler: Scheduler
    random: Random
    faults: Faults
    on_running: Callable[[Instance], None] = lambda instance: None
    on_stop: Callable[[Instance], None] = lambda instance: None
    instances: dict[str, Instance] = field(default_factory=dict)
    starts: list[float] = field(default_factory=list)
    stops: list[tuple[float, Instance]] = field(default_factory=list)

    def launch(self, number: int) -> Instance:
        """Start a new instance as CloudFormation does, without faults."""
        instance = Instance(f"i-{self.random.getrandbits(68):017x}", number, STOPPED, self.scheduler.now)
        self.instances[instance.id] = instance
        self._enter(instance, PENDING)
        return instance

    def describe_instances(self, **request: Any) -> dict[str, Any]:
        filters = {each["Name"]: each["Values"] for each in request["Filters"]}
        assert filters.pop("tag:slipway:deployment") == [STACK]
        assert filters.pop("tag-key") == ["slipway:machine"]
        states = filters.pop("instance-state-name")
        assert not filters
        found = [instance for instance in self.instances.values() if instance.state in states]
        return {"Reservations": [{"Instances": [self._described(each)]} for each in found]}

    def start_instances(self, **request: Any) -> dict[str, Any]:
        (instance,) = self._asked(request)
        self.starts.append(self.scheduler.now)
        before = instance.state
        if before not in (PENDING, RUNNING, STOPPED):
            self.faults.record("start refused while stopping")
            raise Refusal("IncorrectInstanceState", "The instance is not in a state from which it can be started.")
        if before == STOPPED:
            if self.faults.happens("no capacity", self.faults.rates.no_capacity):
                raise Refusal("InsufficientInstanceCapacity", "We currently do not have sufficient capacity.", 500)
            instance.launched_at = self.scheduler.now
            self._enter(instance, PENDING)
        return {"StartingInstances": [self._changed(instance, before)]}

    def stop_instances(self, **request: Any) -> dict[str, Any]:
        (instance,) = self._asked(request)
        before = instance.state
        if before == PENDING:
            raise Refusal("IncorrectInstanceState", "The instance is pending.")
        self.stops.append((self.scheduler.now, instance))
        self.stop(instance)
        return {"StoppingInstances": [self._changed(instance, before)]}

    def stop(self, instance: Instance) -> None:
        """Stop an instance: an operator, EC2 or its own system does it."""
        if instance.state == RUNNING:
            self._enter(instance, STOPPING)
            self.on_stop(instance)

    def vanish(self, instance: Instance) -> None:
        """Let an instance vanish by a failure of its host."""
        if instance.state != TERMINATED:
            self._enter(instance, TERMINATED)
            self.on_stop(instance)

    def _enter(self, instance: Instance, state: str) -> None:
        instance.state = state
        instance.history.append((self.scheduler.now, state))
        if state in (PENDING, STOPPING):
            seconds, then = (_START_IN_SECONDS, RUNNING) if state == PENDING else (_STOP_IN_SECONDS, STOPPED)
            self.scheduler.call_later(
                self.random.uniform(0.5, 1.5) * seconds, lambda: self._go_on(instance, state, then)
            )

    def _go_on(self, instance: Instance, state: str, then: str) -> None:
        if instance.state == state:
            self._enter(instance, then)
            if then == RUNNING:
                self.on_running(instance)

    def _asked(self, request: dict[str, Any]) -> list[Instance]:
        found = [self.instances[each] for each in request["InstanceIds"] if each in self.instances]
        if not found:
            raise Refusal("InvalidInstanceID.NotFound", "The instance ID does not exist")
        return found

    def _changed(self, instance: Instance, before: str) -> dict[str, Any]:
        return {
            "InstanceId": instance.id,
            "PreviousState": {"Name": before},
            "CurrentState": {"Name": instance.state},
        }

    def _described(self, instance: Instance) -> dict[str, Any]:
        return {
            "InstanceId": instance.id,
            "LaunchTime": datetime.fromtimestamp(int(instance.launched_at), UTC),
            "State": {"Name": instance.state},
            "Tags": [
                {"Key": "slipway:deployment", "Value": STACK},
                {"Key": "slipway:machine", "Value": str(instance.number)},
            ],
        }
