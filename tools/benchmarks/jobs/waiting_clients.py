"""Measures a client that waits for a job: delay of the answer, table reads and cost, in virtual time.

Client, gateway and table are models. Hold time, reads and `Retry-After` come from the shipped
`inference_api.jobs.long_poll`, called as the handlers call it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean, median, quantiles

from inference_api.jobs.long_poll import LongPoll, retry_after
from inference_api.jobs.state.job import Job
from inference_api.jobs.state.transitions import accept
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime
from tools.benchmarks.shared.pairs import Figure, work
from tools.benchmarks.shared.prices import PER_MILLION

JOB_SECONDS = (1, 5, 20, 60, 300)
JOBS = work(3000)
LONGEST_WAIT_IN_SECONDS = 25  # with the default api.timeout_in_seconds
SPREAD = 0.3  # sigma of the logarithm of a job's time
P50_LIMIT, P99_LIMIT, COST_LIMIT = 0.170, 0.300, 1.10

ROUND_TRIP = 0.060
START_OF_HANDLER = 0.004
READ, WRITE = 0.006, 0.008
GB_SECOND, READ_UNIT, WRITE_UNIT = PER_MILLION["GB-seconds"], PER_MILLION["reads"], PER_MILLION["writes"]
REQUEST = PER_MILLION["API requests"] + PER_MILLION["function calls"]
MEMORY_IN_GB = 0.25


@dataclass
class World:
    """One job, its clock and its bill."""

    ends_at: float
    chance: Random
    now: float = 0.0
    read_units: float = 0
    write_units: float = 0
    requests: int = 0
    held_seconds: float = 0
    job: Job = field(init=False)

    def __post_init__(self) -> None:
        self.job = accept("0" * 32, "caller", 0, JobTimes(86_400, 3600, 900))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds * self.chance.uniform(0.95, 1.05)

    def bill(self) -> float:
        """Dollars per million jobs."""
        held = self.held_seconds * MEMORY_IN_GB * GB_SECOND
        return held + self.requests * REQUEST + self.read_units * READ_UNIT + self.write_units * WRITE_UNIT


class Table:
    """The job table for `LongPoll`. A read returns the state halfway through its duration."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, _job_id: str, *, consistent: bool = True) -> Job:
        self._world.pass_time(READ / 2)
        ended = self._world.now >= self._world.ends_at
        self._world.pass_time(READ / 2)
        self._world.read_units += 1 if consistent else 0.5
        return replace(self._world.job, state="SUCCEEDED") if ended else self._world.job

    def take(self, *_: object) -> str:
        """Take a waiting place."""
        self.give_back()
        return "place"

    def give_back(self, *_: object) -> None:
        self._world.pass_time(WRITE)
        self._world.write_units += 1


Client = Callable[[World], None]


def shipped(world: World, *, seconds: int) -> None:
    """A client that asks with `?wait=seconds` and follows Retry-After until the job has ended."""
    table = Table(world)
    around = Runtime(now=lambda: world.now, sleep=world.pass_time, random=world.chance)
    long_poll = LongPoll(table, around, table, while_held=table)  # type: ignore[arg-type]
    while True:
        with _Request(world):
            end = world.now + seconds
            job, held = long_poll.until_ended(table.get(""), end)
            pause = retry_after(job, world.now, asked=seconds, held=held)
        if pause is None:
            return
        world.pass_time(pause)


def fixed_poll(world: World) -> None:
    """A server for comparison: it holds the caller as long as allowed and reads the row once a second."""
    table = Table(world)
    while True:
        with _Request(world):
            end = world.now + LONGEST_WAIT_IN_SECONDS
            job = table.get("")
            while job.is_open and world.now + 1 <= end:
                world.pass_time(1)
                job = table.get("", consistent=False)
        if not job.is_open:
            return


class _Request:
    """The way to the handler and back. After the end of the job the handler also reads the output."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __enter__(self) -> None:
        self._world.requests += 1
        self._world.pass_time(ROUND_TRIP / 2)
        self._started = self._world.now
        self._world.pass_time(START_OF_HANDLER)

    def __exit__(self, *_: object) -> None:
        if self._world.now >= self._world.ends_at:
            self._world.pass_time(READ)
            self._world.read_units += 1
        self._world.held_seconds += self._world.now - self._started
        self._world.pass_time(ROUND_TRIP / 2)


@dataclass(frozen=True)
class Outcome:
    """Delays in seconds, cost in dollars per million jobs."""

    p50: float
    p99: float
    read_units: float
    cost: float


def run(client: Client, job_seconds: float) -> Outcome:
    """The outcome over JOBS jobs of about that length; every client gets the same jobs."""
    chance = Random(int(job_seconds))
    worlds = [World(job_seconds * math.exp(chance.gauss(0, SPREAD)), Random(number), now=0.0) for number in range(JOBS)]
    for world in worlds:
        client(world)
    delays = [world.now - world.ends_at for world in worlds]
    return Outcome(
        median(delays),
        quantiles(delays, n=100)[98],
        fmean(world.read_units for world in worlds),
        fmean(world.bill() for world in worlds),
    )


def figures(_rounds: int) -> Iterator[Figure]:
    """Delays between the written result and its caller, for each client and length of job."""
    for seconds in JOB_SECONDS:
        held = run(lambda world: shipped(world, seconds=LONGEST_WAIT_IN_SECONDS), seconds)
        patient = run(lambda world: shipped(world, seconds=0), seconds)
        usual = run(fixed_poll, seconds)
        met = held.p50 <= P50_LIMIT and held.p99 <= P99_LIMIT and held.cost <= COST_LIMIT * usual.cost
        target = f"{1000 * P50_LIMIT:.0f}/{1000 * P99_LIMIT:.0f} ms, {COST_LIMIT}"
        yield Figure(f"{seconds} s job, ?wait=25", target, _shown(held, usual), "", "met" if met else "MISSED")
        yield Figure(f"{seconds} s job, Retry-After", "shown", _shown(patient, usual))
        yield Figure(f"{seconds} s job, held, fixed 1 s poll", "shown", _shown(usual, usual))


def _shown(outcome: Outcome, usual: Outcome) -> str:
    delays = f"{1000 * outcome.p50:.0f}/{1000 * outcome.p99:.0f} ms"
    return f"{delays}, {outcome.read_units:.1f} RRU, ${outcome.cost:.1f}/M ({outcome.cost / usual.cost:.2f})"
