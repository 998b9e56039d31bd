"""The trials that take a minute: all faults over a thousand jobs, and the burst that jobs were made for."""

import pytest

from simulation.burst import JOBS, PLACES, burst
from simulation.scorecard import Scorecard
from simulation.trial import MODES, Trial

FAULTS_OF_BOTH = {
    *("crash before", "crash after", "error without effect", "error after the effect"),
    *("throttled", "function throttled"),
    *("transaction conflict", "two sweepers at once", "table throttled for seconds", "event refused"),
    *("message doubled", "message lost", "message slow", "model crashed", "model error", "model slow", "answer empty"),
}
FAULTS_OF_MODE = {
    "async": {"output missing", "output written twice", "failure object missing"},
    "realtime": {"queue counts wrong"},
}


@pytest.mark.parametrize("mode", MODES)
def test_no_fault_breaks_a_promise(mode: str) -> None:
    card = Scorecard.of(Trial(mode=mode, jobs=1000))
    print(card)
    assert card.is_clean, str(card)
    assert card.jobs >= 1000
    assert {"SUCCEEDED", "FAILED", "CANCELLED"} <= set(card.ends)
    # A fault that is never injected proves nothing.
    kinds = FAULTS_OF_BOTH | FAULTS_OF_MODE[mode]
    assert {kind for kind in kinds if not any(fault.startswith(kind) for fault in card.faults)} == set()


def test_a_burst_waits_forty_minutes_and_nothing_else_happens_to_it() -> None:
    """Never more in flight than the bound, none dispatched twice, none failed, none sent again."""
    outcome = burst()
    assert outcome.breaches == []
    assert outcome.ends == {"SUCCEEDED": JOBS}
    assert outcome.most_workers == outcome.most_in_flight == PLACES
    assert outcome.refused_by_the_endpoint == 0
    assert outcome.most_runs_of_a_job == 1
    # Once more only to be on the safe side, when it is nearly too late to start.
    assert outcome.taken_for_lost_early == 0
    assert outcome.messages_sent == JOBS + outcome.taken_for_lost
    assert outcome.taken_for_lost < JOBS / 100
    assert outcome.ended_by_the_sweeper == 0
    assert outcome.longest_wait_in_seconds > 40 * 60
