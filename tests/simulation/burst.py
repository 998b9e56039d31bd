"""4,000 jobs within five minutes for 5 places on a real-time endpoint: what the queue is for."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from simulation.callers import Habits
from simulation.faults import Rates
from simulation.history import Row
from simulation.invariants.check import breaches
from simulation.invariants.invariant import Breach
from simulation.trial import Trial
from simulation.world import World

PLACES = 5
JOBS = 4_000
# Before its deadline. A call may take a minute, must end five minutes before, and the sweeper looks each quarter hour.
LAST_LOOKS_IN_SECONDS = 60 + 300 + 900
BURST = Trial(
    mode="realtime",
    jobs=JOBS,
    arrivals=300,
    owners=200,
    open_jobs=1000,
    capacity=PLACES,
    median=2.8,
    rates=Rates(),
    habits=Habits.of_nobody(),
    outages=0,
    strange_messages=0,
    redriven_every=0,
    after_retention=False,
)


class Burst(NamedTuple):
    """How it went. taken_for_lost: jobs whose message was sent again, early: while there was time for that later."""

    ends: Counter[str]
    most_workers: int
    most_in_flight: int
    refused_by_the_endpoint: int
    most_runs_of_a_job: int
    messages_sent: int
    taken_for_lost: int
    taken_for_lost_early: int
    ended_by_the_sweeper: int
    longest_wait_in_seconds: float
    breaches: list[Breach]


def _taken_for_lost(rows: list[Row]) -> Iterator[Row]:
    """The writes that say of a waiting job that it has no message any more."""
    for before, after in pairwise(rows):
        if (
            after.item
            and before.item
            and after.state == "ACCEPTED"
            and "sent" in before.item
            and "sent" not in after.item
        ):
            yield after


def burst(trial: Trial = BURST) -> Burst:
    """Let it happen."""
    world = World(trial)
    world.run()
    accepted = {job: rows[0].at for job, rows in world.history.rows.items()}
    given_up = [row for rows in world.history.rows.values() for row in _taken_for_lost(rows)]
    return Burst(
        ends=Counter(world.history.final_row(job).state for job in accepted),
        most_workers=world.deployment.event_source.most_running,
        most_in_flight=world.deployment.model.most_running,
        refused_by_the_endpoint=world.deployment.realtime_endpoint.refused,
        most_runs_of_a_job=max(Counter(run.job for run in world.deployment.model.runs).values()),
        messages_sent=world.deployment.messages.sent,
        taken_for_lost=len(given_up),
        taken_for_lost_early=sum(row.at < row.number("deadline") - LAST_LOOKS_IN_SECONDS for row in given_up),
        ended_by_the_sweeper=world.log.metrics["JobsEndedBySweeper"],
        longest_wait_in_seconds=max(run.started_at - accepted[run.job] for run in world.deployment.model.runs),
        breaches=breaches(world),
    )
