"""Trials find the mutants that break an invariant only under faults or load, and nothing in the shipped functions."""

from dataclasses import replace
from typing import Any

import pytest

from inference_api.jobs.state import transitions
from simulation.callers.job_callers import Habits
from simulation.callers.trial import Trial
from simulation.invariants.check import NAMES, breaches
from simulation.mutants import EXPLORED, TRIED, Mutant
from simulation.runtime.faults import Rates
from simulation.world import deployment
from simulation.world.world import World

SMALL: dict[str, Any] = {
    "jobs": 60,
    "arrivals": 200,
    "owners": 10,
    "deadline": 1800,
    "invocation_timeout": 300,
    "after_retention": False,
}
# A recorder that fails most of the time, without a sweeper.
UNSWEPT: dict[str, Any] = {
    "mode": "async",
    "rates": Rates(error=0.8),
    "faulty_functions": ("record_result",),
    "faults_for": 1200,
    "outages": 0,
    "sweeps": False,
    "habits": Habits.only_submit(),
}


def broken_by(**trial: Any) -> set[str]:
    """Return the invariants that are broken in a small trial."""
    world = World(Trial(**SMALL | trial))
    world.run()
    return {breach.invariant for breach in breaches(world)}


@pytest.mark.parametrize("mutant", TRIED, ids=str)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)
    assert mutant.breaks in broken_by(mode=mutant.mode, **mutant.trial)


def test_every_invariant_is_broken_by_a_mutant() -> None:
    assert {mutant.breaks for mutant in (*EXPLORED, *TRIED)} == NAMES


@pytest.mark.parametrize("mutant", {f"{each.mode}: {each.trial}": each for each in TRIED}.values(), ids=str)
def test_without_the_mutant_nothing_is_found(mutant: Mutant) -> None:
    assert broken_by(mode=mutant.mode, **mutant.trial) == set()


def test_the_sweeper_covers_a_recorder_that_acknowledges_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notifications are hints: a lost one is noticed only if no sweeper runs."""
    assert broken_by(**UNSWEPT) <= {"ends_are_announced"}
    acknowledge_first(monkeypatch)
    assert "i1_every_job_ends_in_time" in broken_by(**UNSWEPT)
    assert broken_by(**UNSWEPT | {"sweeps": True, "unknown_messages": 0}) == set()


def test_the_row_covers_a_missing_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease saves time on the model; no invariant rests on it."""
    original = transitions.claim
    monkeypatch.setattr(
        transitions, "claim", lambda job, now, policy: original(replace(job, lease_until=0), now, policy)
    )
    assert broken_by(mode="async", rates=Rates(unknown_outcome=0.2)) == set()


def acknowledge_first(patch: pytest.MonkeyPatch) -> None:
    """Let no message come back, whether or not it was handled."""
    original = deployment.HANDLERS["record_result"]

    def handler(event: Any, context: Any) -> Any:
        original(event, context)
        return {"batchItemFailures": []}

    patch.setitem(deployment.HANDLERS, "record_result", handler)
