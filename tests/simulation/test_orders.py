"""Every order in which the shipped handlers' calls reach AWS, for few jobs: no order breaks an invariant."""

import pytest

from inference_api.jobs.backends import queue_backend
from inference_api.jobs.state import transitions
from simulation.exploration.exploration import Exploration, Found, Scope
from simulation.mutants import EXPLORED, TRIED, Mutant

BOUND = 4_000
BOUND_FOR_MUTANTS = 10_000


def explore(scope: Scope, patch: pytest.MonkeyPatch, *, attempts: int) -> Found:
    """Explore with a number of attempts for each job."""
    # The sweeper counts the queue's messages only if its look is not the last before the latest start.
    patch.setattr(queue_backend, "LONGEST_LOOK_IN_SECONDS", 0)
    patch.setattr(transitions, "MAX_ATTEMPTS", attempts)
    found = Exploration(scope).run()
    print(f"{scope}: {found}")
    return found


@pytest.mark.parametrize("scope", [Scope("async"), Scope("realtime")], ids=str)
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
        Scope("ec2", most_states=BOUND),
        Scope("ec2", jobs=2, slots=2, at_once=3, most_states=BOUND),
    ],
    ids=str,
)
def test_the_nearest_states_with_three_attempts(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    found = explore(scope, monkeypatch, attempts=3)
    assert found.broken is None, str(found)
    assert found.states >= BOUND


@pytest.mark.parametrize("mutant", EXPLORED, ids=str)
def test_a_mutant_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)
    scope = Scope(mutant.mode, at_once=mutant.at_once, most_states=BOUND_FOR_MUTANTS)
    found = explore(scope, monkeypatch, attempts=mutant.attempts)
    assert found.invariant == mutant.breaks, str(found)


def test_without_the_check_of_limits_a_limit_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    next(each for each in TRIED if each.name == "limits are not asked for").plant(monkeypatch)
    found = explore(Scope("async", jobs=2, slots=1, most_states=BOUND), monkeypatch, attempts=1)
    assert found.invariant == "i8_no_limit_is_passed", str(found)
