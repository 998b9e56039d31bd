"""Each invariant fails once: a fault is planted in a function of the handlers; a trial or the exploration finds it."""

from dataclasses import replace
from typing import Any

import pytest

from inference_api.jobs import transitions
from simulation import deployment
from simulation.callers import Habits
from simulation.exploration.exploration import Exploration, Scope
from simulation.faults import Rates
from simulation.invariants.check import NAMES, breaches
from simulation.planted_faults import FAULTS
from simulation.trial import Trial
from simulation.world import World

SMALL: dict[str, Any] = {
    "jobs": 60,
    "arrivals": 200,
    "owners": 10,
    "deadline": 1800,
    "invocation_timeout": 300,
    "after_retention": False,
}


def outcome_of(trial: dict[str, Any]) -> set[str]:
    """The invariants that are broken in a small trial."""
    small = World(Trial(**SMALL | trial))
    small.run()
    return {breach.invariant for breach in breaches(small)}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    fault.plant(monkeypatch)
    if fault.orders:
        found = {str(Exploration(Scope(fault.trial["mode"], most_states=5000)).run().invariant)}
    else:
        found = outcome_of(fault.trial)
    assert found & fault.breaks, f"found only {found}"


def test_every_invariant_has_a_planted_fault() -> None:
    assert {name for each in FAULTS.values() for name in each.breaks} == NAMES


@pytest.mark.parametrize("name", {str(each.trial): name for name, each in FAULTS.items() if not each.orders}.values())
def test_without_the_fault_nothing_is_found(name: str) -> None:
    assert outcome_of(FAULTS[name].trial) == set()


# A recorder that fails half of the time, with nobody to sweep behind it.
UNSWEPT = {
    "mode": "async",
    "rates": Rates(error=0.8),
    "faulty_functions": ("record_result",),
    "faults_for": 1200,
    "outages": 0,
    "sweeps": False,
    "habits": Habits.of_nobody(),
}


def acknowledge_first(patch: pytest.MonkeyPatch) -> None:
    """Whatever becomes of the messages, none comes back."""
    original = deployment.HANDLERS["record_result"]

    def handler(event: Any, context: Any) -> Any:
        original(event, context)
        return {"batchItemFailures": []}

    patch.setitem(deployment.HANDLERS, "record_result", handler)


def test_the_sweeper_covers_a_recorder_that_acknowledges_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notifications are hints: only without the sweeper is it seen that messages have to come back."""
    without_announcements = NAMES - {"ends_are_announced"}
    assert outcome_of(UNSWEPT) & without_announcements == set()
    acknowledge_first(monkeypatch)
    assert "i1_every_job_ends_in_time" in outcome_of(UNSWEPT)
    assert outcome_of(UNSWEPT | {"sweeps": True, "strange_messages": 0}) == set()


def test_the_row_covers_a_missing_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease saves time on the model; no promise rests on it."""
    original = transitions.claim
    monkeypatch.setattr(
        transitions, "claim", lambda job, now, policy: original(replace(job, lease_until=0), now, policy)
    )
    assert outcome_of({"mode": "async", "rates": Rates(unknown_outcome=0.2)}) == set()
