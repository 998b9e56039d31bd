"""The shipped handlers on a simulated AWS without faults, which counts what they use."""

from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from random import Random

from simulation.aws.table import Write
from simulation.aws.table_items import Units
from simulation.callers.trial import Trial
from simulation.runtime.faults import Faults, Rates
from simulation.runtime.functions import Invocation, Log
from simulation.runtime.scheduler import Scheduler
from simulation.world.deployment import Deployment

START = 1_795_219_200.0
DYNAMODB_PAGE_IN_BYTES = 2**20
# The templates' values; every other function has `api.memory_in_mb`, by default 512.
_MEMORY_IN_GB = {"poll_job": 0.25, "sweep_jobs": 1.73, "advance_batches": 1.73}
_USUAL_MEMORY_IN_GB = 0.5
# Calls that are billed by the request. Invocations of an endpoint are free, DynamoDB is billed by the unit.
_BILLED = {
    "PutObject": "S3 PUT or LIST",
    "ListObjectsV2": "S3 PUT or LIST",
    "GetObject": "S3 GET",
    "PutEvents": "EventBridge",
    "SendMessage": "SQS, fair",
    "GetQueueAttributes": "SQS",
}

Used = defaultdict[str, float]  # by the items of prices.py


def nothing_used() -> Used:
    return defaultdict(float)


@dataclass
class _Calls(Faults):
    """A fault plan without faults that counts every call of a function."""

    used: defaultdict[str, Used] = field(default_factory=lambda: defaultdict(nothing_used))

    def of_call(self, operation: str, function: str) -> None:
        if thing := _BILLED.get(operation):
            self.used[function][thing] += 1


class MeteredDeployment(Deployment):
    """A simulated deployment that counts. used: items by function. seconds: simulated run time by function."""

    def __init__(self, mode: str, seed: int = 1) -> None:
        # The model answers within seconds.
        trial = Trial(mode=mode, seed=seed, median=2, longest=5, page_bytes=DYNAMODB_PAGE_IN_BYTES)
        plan = _Calls(Rates(), Random(seed), on=False)
        super().__init__(trial, Scheduler(START), Random(seed), plan)
        self.used, self.seconds = plan.used, nothing_used()
        self.table.units = _TableMeter(self)
        self.table.observers.append(self._meter_indexes)
        self.functions.observers.append(self._meter_time)
        self._index_writes = 0.0

    def run(self, work: Callable[[], object], seconds: float) -> None:
        """Run the work and all that follows from it within so many virtual seconds."""
        with self.as_runtime(), redirect_stdout(Log()):
            self.scheduler.spawn(work)
            self.scheduler.run(seconds)

    def gigabyte_seconds(self, function: str) -> float:
        return self.seconds[function] * _MEMORY_IN_GB.get(function, _USUAL_MEMORY_IN_GB)

    def take(self, thing: str, number: float) -> None:
        """Count usage of the running function. Outside a function it is set-up, which is not billed."""
        if self.functions.running:
            self.used[self.functions.current().function.name][thing] += number

    def _environment(self) -> dict[str, str]:
        """The environment of a deployment without named keys, because docs/keys.md has the price of their counting."""
        return {name: value for name, value in super()._environment().items() if name != "USAGE_TABLE"}

    def _meter_indexes(self, _: list[Write]) -> None:
        written = self.table.units.index_writes
        self.take("writes", written - self._index_writes)
        self._index_writes = written

    def _meter_time(self, invocation: Invocation) -> None:
        assert invocation.outcome == "returned", invocation.outcome
        assert invocation.ended_at is not None
        name = invocation.function.name
        self.used[name]["function calls"] += 1
        self.seconds[name] += invocation.ended_at - invocation.started_at


class _TableMeter(Units):
    """Attributes reads and writes to the running function."""

    def __init__(self, deployment: MeteredDeployment) -> None:
        super().__init__()
        self._deployment = deployment

    def read(self, size_in_bytes: int, *, consistent: bool) -> None:
        before = self.reads
        super().read(size_in_bytes, consistent=consistent)
        self._deployment.take("reads", self.reads - before)

    def write(self, size_in_bytes: int, *, transaction: bool = False) -> None:
        before = self.writes
        super().write(size_in_bytes, transaction=transaction)
        self._deployment.take("writes", self.writes - before)
