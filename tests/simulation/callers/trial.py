"""The settings of one trial: deployment, load and faults."""

from dataclasses import dataclass, field, replace

from simulation.callers.job_callers import Habits
from simulation.runtime.faults import Rates

_SECONDS_BETWEEN_JOBS = 7.0
_JOBS_FOR_A_BATCH = 300
_JOBS_FOR_A_CALL = 5
MODES = ("async", "realtime", "ec2")
COMPOSITIONS = ("folder", "no slashes", "behind the name")


@dataclass(frozen=True)
class Trial:
    """The settings of a trial. Times are in seconds. The same settings give the same history, call by call.

    answer_within: the timeout of functions that answer callers. composition: how the asynchronous endpoint makes an
    output's key of path, extension and name. machines: each takes four jobs at once, stops itself after `idle` seconds
    without work, and has `startup` seconds to begin. batches: beside the jobs, with up to `batch_lines` lines each.
    calls: answered at once, by a real-time endpoint. asleep_after: seconds without a call after which its model sleeps;
    None = never. wakes_per_day: its budget. long_answers: the share of answers of 50 kB and more.
    """

    mode: str
    seed: int = 1
    jobs: int = 1000
    arrivals: float = 900.0
    owners: int = 40
    rates: Rates = field(default_factory=Rates.harsh)
    faulty_functions: tuple[str, ...] = ()
    faults_for: float = float("inf")
    habits: Habits = field(default_factory=Habits)
    outages: int = 3
    outage: float = 20.0
    deadline: int = 3600
    retention: int = 7200
    invocation_timeout: int = 600
    open_jobs: int = 60
    answer_tokens_per_day: int | None = None
    max_waiting: int = 50
    capacity: int = 16
    machines: int = 2
    idle: float = 30.0
    startup: int = 600
    composition: str = "folder"
    median: float = 3.0
    longest: float = 40.0
    long_answers: float = 0.06
    unknown_messages: int = 20
    redriven_every: float = 900.0
    page_bytes: int = 4000
    answer_within: int = 28
    after_retention: bool = True
    sweeps: bool = True
    clock_skew: float = 0.0
    batches: int = 0
    batch_lines: int = 230
    calls: int = 0
    asleep_after: float | None = None
    wakes_per_day: int = 1000

    @classmethod
    def harsh(cls, mode: str, *, seed: int = 1, jobs: int) -> "Trial":
        """Return a trial of `make chaos`: endpoints are kept busy, machines have time to sleep between jobs."""
        trial = cls(mode=mode, seed=seed, jobs=jobs, batches=jobs // _JOBS_FOR_A_BATCH)
        if mode == "realtime":
            trial = replace(trial, calls=jobs // _JOBS_FOR_A_CALL)
        if mode != "ec2":
            return trial
        return replace(trial, arrivals=_SECONDS_BETWEEN_JOBS * jobs, habits=Habits(follow=0.1))
