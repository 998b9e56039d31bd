"""Every order in which the shipped handlers' calls reach AWS, for few jobs: no order breaks an invariant."""

import pytest

from inference_api.jobs import queue_backend
from simulation.exploration.exploration import Exploration, Found, Scope
from simulation.mutants import MUTANTS, Mutant, plant_life
from simulation.planted_faults import FAULTS

# So that the sweeper counts the queue's messages; otherwise each of its looks is the last before the latest start.
COUNTS_MESSAGES = 0
BOUND = 4_000
FARTHEST_MUTANT = 10_000


def explore(scope: Scope, patch: pytest.MonkeyPatch, *, attempts: int | None = None) -> Found:
    """With so many attempts for each job, 3 unless given."""
    patch.setattr(queue_backend, "LONGEST_LOOK_IN_SECONDS", COUNTS_MESSAGES)
    if attempts is not None:
        plant_life(patch, ("MAX_ATTEMPTS = 3", f"MAX_ATTEMPTS = {attempts}"))
    found = Exploration(scope).run()
    print(f"{scope}: {found}")
    return found


@pytest.mark.parametrize(
    "scope",
    [
        Scope("async"),
        Scope("realtime"),
    ],
    ids=str,
)
def test_every_order_with_one_attempt(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    found = explore(scope, monkeypatch, attempts=1)
    assert found.broken is None, str(found)
    assert found.is_complete


@pytest.mark.parametrize(
    "scope",
    [
        Scope("async", most_states=BOUND),
        Scope("realtime", most_states=BOUND),
        Scope("async", jobs=2, slots=1, most_states=BOUND),
        Scope("realtime", jobs=2, slots=1, most_states=BOUND),
        Scope("async", jobs=2, slots=2, same_key=True, most_states=BOUND),
        Scope("async", sweepers=2, most_states=BOUND),
        Scope("realtime", sweepers=2, at_once=3, most_states=BOUND),
    ],
    ids=str,
)
def test_the_nearest_states_with_three_attempts(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    found = explore(scope, monkeypatch)
    assert found.broken is None, str(found)
    assert found.states >= BOUND


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)
    found = explore(Scope(mutant.mode, at_once=mutant.at_once, most_states=FARTHEST_MUTANT), monkeypatch)
    assert found.invariant == mutant.breaks, str(found)


def test_a_limit_that_is_not_asked_for_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS["a_limit_that_is_not_asked_for"].plant(monkeypatch)
    found = explore(Scope("async", jobs=2, slots=1, most_states=BOUND), monkeypatch, attempts=1)
    assert found.invariant == "i8_nobody_goes_past_a_limit", str(found)
