"""One sweep over 100,000 open jobs that are all due: jobs looked at, time and cost."""

import math
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from time import perf_counter

from inference_api.jobs.state.items import to_item
from inference_api.jobs.state.job import RUNNING, Job
from inference_api.jobs.state.transitions import LONGEST_LOOK_IN_SECONDS, accept
from inference_api.shared.job_times import JobTimes
from simulation.aws.table_items import size
from simulation.callers.trial import MODES
from simulation.runtime.functions import Invocation
from tools.benchmarks.jobs.metered_deployment import START, MeteredDeployment
from tools.benchmarks.shared.pairs import Figure, work
from tools.benchmarks.shared.prices import dollars_per_million

OPEN_JOBS = work(100_000)
OWNERS = 100
OLDEST_IN_SECONDS = 1800
SWEEP_EVERY_IN_SECONDS = 60


class Backlog(MeteredDeployment):
    """A table of open jobs that wait in our queue or, for an asynchronous endpoint, in SageMaker's."""

    def __init__(self, mode: str) -> None:
        super().__init__(mode)
        chance = Random(1)
        items = [to_item(self._job(chance)) for _ in range(OPEN_JOBS)]
        self.table.commit([(item["pk"]["S"], item, size(item)) for item in items])
        self.messages.send("a waiting job", delay=900)
        self.scheduler.run(SWEEP_EVERY_IN_SECONDS)  # the indexes follow the table

    def sweep_once(self) -> int:
        """Run one sweep; returns the number of jobs that it looked at."""
        sweeps: list[Invocation] = []
        self.run(lambda: sweeps.append(self.sweep()), SWEEP_EVERY_IN_SECONDS)
        return int(sweeps[0].result["looked_at"])

    def _job(self, chance: Random) -> Job:
        times = JobTimes(self.trial.deadline, self.trial.retention, self.trial.invocation_timeout)
        accepted_at = START - chance.uniform(0.5, 1) * OLDEST_IN_SECONDS
        job = accept(f"{chance.getrandbits(128):032x}", f"{chance.randrange(OWNERS):032x}", accepted_at, times)
        job = replace(job, due_at=START - chance.random())
        if self.trial.mode == "realtime":
            return replace(job, sent_at=START)
        output, failure = f"output/{job.id}/1/{job.id}.out", f"failure/{job.id}-error.out"
        return replace(job, state=RUNNING, attempts=1, marked=1, output_key=output, failure_key=failure)


def figures() -> Iterator[Figure]:
    """Figures of one sweep in each mode. Raises AssertionError if the sweep does not return."""
    for mode in MODES:
        backlog = Backlog(mode)
        started = perf_counter()
        looked_at = backlog.sweep_once()
        wall = perf_counter() - started
        seconds, used = backlog.seconds["sweep_jobs"], backlog.used["sweep_jobs"]
        used["GB-seconds"] = backlog.gigabyte_seconds("sweep_jobs")
        cost = dollars_per_million(used) / 1e6
        name = f"sweep of {OPEN_JOBS:,} due {mode} jobs"
        yield Figure(
            name, "shown", f"{looked_at:,} looked at in {seconds:.0f} s, ${cost:.4f}; {wall:.1f} s of wall time"
        )
        yield Figure("the same, used", "shown", ", ".join(f"{number:,.0f} {thing}" for thing, number in used.items()))
        in_time = looked_at * LONGEST_LOOK_IN_SECONDS / SWEEP_EVERY_IN_SECONDS
        needed = math.ceil(OPEN_JOBS / looked_at)
        yield Figure(
            "the same, all of them", "shown", f"{needed} sweeps; {in_time:,.0f} open jobs are looked at in time"
        )
