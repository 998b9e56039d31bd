"""A minute of ten times the load that a deployment can bear: callers are told to wait, nothing accepted is lost."""

from collections import Counter
from dataclasses import replace

import pytest

from simulation.callers.job_callers import Habits
from simulation.callers.trial import MODES, Trial
from simulation.invariants.check import breaches
from simulation.runtime.faults import Rates
from simulation.world.world import World

SECONDS, TIMES = 60, 10
SLOTS = {"async": 2, "realtime": 2, "ec2": 4}  # a small deployment, which takes so many jobs at once
SECONDS_OF_AN_ANSWER = 6
OWNERS, OPEN_JOBS = 10, 10


def overloaded(mode: str) -> World:
    """Run a minute of overload to its end. Lambda, too, refuses calls for want of concurrency."""
    jobs = TIMES * SECONDS * SLOTS[mode] // SECONDS_OF_AN_ANSWER
    trial = Trial(
        mode=mode,
        jobs=jobs,
        arrivals=SECONDS,
        owners=OWNERS,
        open_jobs=OPEN_JOBS,
        capacity=SLOTS[mode],
        machines=1,
        median=SECONDS_OF_AN_ANSWER,
        rates=Rates(function_throttled=0.1),
        habits=replace(Habits.only_submit(), with_key=0.6, follow=0.1, generated=0.0 if mode == "realtime" else 0.2),
        outages=0,
        unknown_messages=0,
        redriven_every=0,
        calls=jobs // 5 if mode == "realtime" else 0,
        after_retention=False,
    )
    world = World(trial)
    world.run()
    return world


@pytest.fixture(scope="module", params=MODES)
def world(request: pytest.FixtureRequest) -> World:
    return overloaded(request.param)


def test_every_answer_is_an_acceptance_or_says_when_to_come_back(world: World) -> None:
    found = Counter(each.reply.status for each in world.history.exchanges)
    assert found[429] > 100
    assert found[503] > 20
    assert set(found) <= {200, 202, 429, 503}
    refused = [each.reply for each in world.history.exchanges if each.reply.status in (429, 503)]
    assert [each for each in refused if int(each.headers.get("retry-after", 0)) < 1] == []


def test_nothing_accepted_is_lost(world: World) -> None:
    assert breaches(world) == []
    rows = world.history.rows
    accepted = {job for each in world.history.exchanges if each.action == "submit" and (job := each.shown.get("id"))}
    assert len(accepted) >= OWNERS * OPEN_JOBS
    assert accepted <= set(rows)
    assert Counter(world.history.final_row(job).state for job in rows) == {"SUCCEEDED": len(rows)}


def test_no_caller_has_more_open_jobs_than_its_limit(world: World) -> None:
    assert max(world.history.slots.values(), default=0) <= OPEN_JOBS
    assert len(world.history.slots) == OWNERS
