"""The shipped handlers under random faults, in bursts, outages and at limits: no invariant is broken."""

import json
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context

import pytest

from inference_api.jobs.state.transitions import LEASE_IN_SECONDS
from simulation.callers.history import Row
from simulation.callers.job_callers import Habits
from simulation.callers.trial import COMPOSITIONS, MODES, Trial
from simulation.invariants.check import breaches
from simulation.runtime.faults import Rates
from simulation.runtime.model import Run
from simulation.scorecard import Scorecard
from simulation.world.deployment import MAX_RECEIVES
from simulation.world.world import SWEEP_EVERY, World

FAULTS_OF_ALL = {
    *("crash before", "crash after", "error without effect", "error after the effect"),
    *("throttled", "function throttled"),
    *("transaction conflict", "two sweepers at once", "table throttled for seconds", "event refused"),
    *("message doubled", "message lost", "message slow", "model crashed", "model error", "model slow", "answer empty"),
}
FAULTS_OF_MODE = {
    "async": {"output missing", "output written twice", "failure object missing"},
    "realtime": {"queue counts wrong", "function died in a stream"},
    "ec2": {
        *("no capacity", "boot hangs", "worker killed", "worker hangs", "two tenders at once"),
        *("machine stopped in a job", "machine vanished in a job", "machine replaced in a job"),
    },
}
# Time for the sweeper, for the queue, and for a machine with room.
WAITS_IN_SECONDS = 60
OF_ENDPOINTS = ("async", "realtime")
JOBS_OF_A_LONG_TRIAL = {"async": 900, "realtime": 900, "ec2": 2000}
# Jobs of five minutes for a real-time endpoint that takes two at once: the reason for the queue.
BURST = Trial(
    mode="realtime",
    jobs=1600,
    arrivals=300,
    owners=40,
    open_jobs=1000,
    capacity=2,
    median=2.8,
    rates=Rates(),
    habits=Habits.only_submit(),
    outages=0,
    unknown_messages=0,
    redriven_every=0,
    after_retention=False,
)


def run(trial: Trial) -> World:
    """Run a trial, which must have no breach. Return the world after it."""
    world = World(trial)
    world.run()
    assert breaches(world) == []
    return world


def ends(world: World) -> Counter[str]:
    return Counter(world.history.final_row(job).state for job in world.history.rows)


@pytest.mark.parametrize("mode", OF_ENDPOINTS)
def test_the_same_seed_gives_the_same_history(mode: str) -> None:
    first, second, other = (World(Trial(mode=mode, jobs=40, arrivals=200, seed=seed)) for seed in (7, 7, 8))
    for world in (first, second, other):
        world.run()
    assert first.history == second.history
    assert first.faults.injected == second.faults.injected
    assert first.history != other.history


def test_the_order_of_a_set_is_no_part_of_a_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a breach that a run has found could not be found again."""
    trial = Trial(mode="async", jobs=20, arrivals=200, seed=7, batches=3, batch_lines=40)
    cards = []
    for seed in ("0", "1"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            cards.append(pool.submit(Scorecard.of, trial).result())
    assert cards[0] == cards[1]


@pytest.mark.parametrize("mode", MODES)
def test_a_healthy_deployment_needs_no_sweeper(mode: str) -> None:
    world = run(Trial(mode=mode, jobs=200, rates=Rates(), outages=0))
    assert set(ends(world)) <= {"SUCCEEDED", "CANCELLED", "FAILED"}  # failed: refused by the model itself
    assert world.log.metrics["JobsEndedBySweeper"] == 0
    assert world.log.metrics["JobsEnded"] == world.log.metrics["JobsAccepted"] == len(world.history.rows)
    assert max(Counter(run.job for run in world.deployment.runs).values()) == 1
    assert {outcome for _, outcome in world.deployment.functions.outcomes} == {"returned"}


@pytest.mark.parametrize("mode", MODES)
def test_clocks_that_differ_by_seconds_do_no_harm(mode: str) -> None:
    run(Trial(mode=mode, jobs=100, seed=3, clock_skew=5.0))


def test_a_model_that_sleeps_loses_no_job_and_its_refusals_cost_no_attempt() -> None:
    """Copies go at any moment, some starts come to nothing, and callers, jobs and lines of batches wake the model."""
    trial = Trial(
        mode="realtime",
        jobs=150,
        arrivals=4000,
        rates=Rates(scale_in=0.1, failed_start=0.3),
        outages=0,
        habits=Habits(cancelled=0, refused=0),
        deadline=7200,
        calls=40,
        batches=1,
        batch_lines=20,
        asleep_after=120,
    )
    world = run(trial)
    assert set(ends(world)) == {"SUCCEEDED"}
    assert {world.history.final_row(job).attempts for job in world.history.rows} == {1}
    assert max(Counter(run.job for run in world.deployment.runs).values()) == 1
    component = world.deployment.component
    assert component
    assert component.wakes > 10
    assert world.faults.injected["scaled in at a call"] > 10
    assert world.faults.injected["a start came to nothing"] > 3


def test_a_model_that_sleeps_under_faults_breaks_no_promise() -> None:
    world = run(Trial(mode="realtime", jobs=300, arrivals=6000, seed=2, deadline=7200, calls=60, asleep_after=200))
    assert world.deployment.component
    assert world.deployment.component.wakes > 10
    assert ends(world)["SUCCEEDED"] > 200


def test_after_the_days_wakes_jobs_wait_for_midnight() -> None:
    """The trial begins at midnight in UTC, and its jobs may wait for more than a day."""
    trial = Trial(
        mode="realtime",
        jobs=10,
        arrivals=20_000,
        rates=Rates(),
        outages=0,
        habits=Habits.only_submit(),
        deadline=100_000,
        asleep_after=60,
        wakes_per_day=3,
        unknown_messages=0,
    )
    world = run(trial)
    assert set(ends(world)) == {"SUCCEEDED"}
    component = world.deployment.component
    assert component
    assert 3 < len(component.asks) <= 6
    assert component.refused <= 3 * trial.capacity + 6  # a refused call would set off the alarm


def test_a_generation_on_an_asynchronous_endpoint_is_a_job() -> None:
    world = run(Trial(mode="async", jobs=100, arrivals=600, seed=4, habits=Habits(generated=0.5, waiting=0.8)))
    asked = Counter(exchange.reply.status for exchange in world.history.exchanges if exchange.action == "generate")
    assert asked[200] > 5
    assert asked[202] > 5


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_an_output_is_found_however_sagemaker_composes_its_name(composition: str) -> None:
    """If the name does not begin with the job's id, only the call's answer and the notification tell it."""
    rates = replace(Rates.harsh(), lost_message=0, broken_output=0)
    world = run(Trial(mode="async", jobs=100, seed=8, rates=rates, composition=composition))
    assert ends(world)["SUCCEEDED"] > 60


def test_an_announced_output_that_is_missing_is_asked_for_again_and_counted() -> None:
    rates = Rates(broken_output=1.0)
    world = run(Trial(mode="async", jobs=60, seed=9, rates=rates, outages=0, habits=Habits(cancelled=0, refused=0)))
    missing = world.faults.injected["output missing"]
    assert missing > 5
    assert world.log.metrics["OutputsMissing"] >= MAX_RECEIVES * missing
    assert world.faults.injected["dead letter redriven"] >= missing


@pytest.mark.parametrize("mode", OF_ENDPOINTS)
def test_in_a_healthy_world_nobody_is_answered_by_an_error_of_ours(mode: str) -> None:
    """The least time is left for the result of a job that ends at the end of a long hold."""
    habits = Habits(waiting=1.0, cancelled=0, refused=0)
    world = run(
        Trial(mode=mode, jobs=60, arrivals=300, seed=4, rates=Rates(), outages=0, habits=habits, median=40, longest=55)
    )
    assert {exchange.reply.status for exchange in world.history.exchanges if exchange.reply.status >= 500} == set()


@pytest.mark.parametrize("mode", OF_ENDPOINTS)
def test_limits_hold_under_pressure(mode: str) -> None:
    trial = Trial(
        mode=mode, jobs=100, arrivals=300, seed=5, owners=3, open_jobs=4, max_waiting=2, habits=Habits(waiting=0.5)
    )
    codes = Counter(exchange.reply.status for exchange in run(trial).history.exchanges)
    assert codes[429] > 20


def test_a_daily_budget_of_tokens_holds_under_faults() -> None:
    world = run(Trial(mode="realtime", jobs=100, arrivals=300, seed=6, owners=2, answer_tokens_per_day=400))
    codes = Counter(
        exchange.reply.body["error"]["code"] for exchange in world.history.exchanges if exchange.reply.status == 429
    )
    assert codes["daily_tokens_exceeded"] > 20
    assert len(world.history.rows) <= 2 * 400 / 20


@pytest.mark.parametrize("mode", OF_ENDPOINTS)
def test_two_sweepers_at_once_revive_each_stuck_job_once(mode: str) -> None:
    """About every second submission dies; one of the sweepers picks up each accepted job."""
    rates = Rates(crash=0.15, double_sweep=1.0)
    habits = Habits(cancelled=0)
    world = run(
        Trial(mode=mode, jobs=200, rates=rates, faulty_functions=("submit_job",), outages=0, habits=habits, median=1.0)
    )
    assert world.deployment.functions.outcomes["submit_job", "crashed"] > 60
    assert set(ends(world)) == {"SUCCEEDED", "FAILED"}  # failed: refused by the model itself
    # With an asynchronous endpoint the submitter may have died between the call and its note in the row.
    assert max(Counter(run.job for run in world.deployment.runs).values()) == (2 if mode == "async" else 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_minute_without_the_table_loses_nothing(mode: str) -> None:
    habits = Habits(cancelled=0, refused=0)
    world = run(Trial(mode=mode, jobs=200, rates=Rates(), outages=1, outage=120.0, habits=habits))
    assert set(ends(world)) == {"SUCCEEDED"}
    codes = Counter(exchange.reply.status for exchange in world.history.exchanges)
    assert codes[503] > 0


@pytest.mark.parametrize("sweeps", [True, False])
def test_redriven_dead_letters_end_open_jobs(sweeps: bool) -> None:
    """With the sweeper, all jobs have ended before the redrive. Without it, the dead letters end them."""
    trial = Trial(
        mode="async",
        jobs=200,
        arrivals=60,
        rates=Rates(error=0.9),
        faulty_functions=("record_result",),
        faults_for=2400,
        deadline=7200,
        outages=0,
        redriven_every=2700,
        sweeps=sweeps,
        habits=Habits.only_submit(),
    )
    world = World(trial)
    world.run()
    # A recorder that dies before the announcement leaves it to the sweeper.
    assert {breach.invariant for breach in breaches(world)} <= (set() if sweeps else {"ends_are_announced"})
    assert world.faults.injected["dead letter redriven"] > 20
    assert set(ends(world)) == {"SUCCEEDED"}
    assert (world.log.metrics["JobsEndedBySweeper"] > 0) is sweeps


@pytest.mark.parametrize("mode", MODES)
def test_no_fault_breaks_an_invariant(mode: str) -> None:
    card = Scorecard.of(Trial.harsh(mode, jobs=JOBS_OF_A_LONG_TRIAL[mode]))
    print(card)
    assert card.is_clean, str(card)
    assert card.jobs >= 600
    assert {"SUCCEEDED", "FAILED", "CANCELLED"} <= set(card.ends)
    # A kind of fault that is never injected proves nothing.
    kinds = FAULTS_OF_ALL | FAULTS_OF_MODE[mode]
    assert {kind for kind in kinds if not any(fault.startswith(kind) for fault in card.faults)} == set()


def test_a_burst_waits_forty_minutes_and_each_job_runs_once() -> None:
    """Never more jobs run than the capacity allows. No job runs twice or fails, and few messages are sent again."""
    world = run(BURST)
    accepted = {job: rows[0].at for job, rows in world.history.rows.items()}
    runs = world.deployment.runs
    assert ends(world) == {"SUCCEEDED": BURST.jobs}
    assert world.deployment.event_source.most_running == world.deployment.model.most_running == BURST.capacity
    assert world.deployment.realtime_endpoint.refused == 0
    assert max(Counter(each.job for each in runs).values()) == 1
    assert max(each.started_at - accepted[each.job] for each in runs) > 40 * 60
    again = [messages_noted(rows)[1:] for rows in world.history.rows.values()]
    assert max(map(len, again)) <= 3  # after 10, 20 and 40 minutes at the earliest, or at the last look
    assert world.deployment.messages.sent == BURST.jobs + sum(map(len, again))
    assert world.log.metrics["JobsEndedBySweeper"] == 0


def test_a_lost_message_is_sent_again_although_the_queue_is_never_empty() -> None:
    rates = Rates(lost_message=0.02)
    world = run(replace(BURST, jobs=2500, arrivals=6000, deadline=3 * 3600, rates=rates, seed=2, capacity=1))
    lost = {json.loads(body)["job"] for body in world.deployment.messages.lost}
    accepted = {job: world.history.rows[job][0].at for job in lost}
    waited = [each.started_at - accepted[each.job] for each in world.deployment.runs if each.job in lost]
    assert len(waited) > 20
    assert max(waited) < 70 * 60  # the sweeper's look after ten minutes, then the queue once more


def test_the_slot_of_a_cancelled_job_is_free_soon_after_its_worker_died() -> None:
    rates, habits = Rates(crash=0.3), replace(Habits.only_submit(), cancelled=1.0)
    trial = replace(BURST, jobs=200, arrivals=1200, capacity=16, median=30.0, rates=rates, habits=habits)
    world = run(replace(trial, faulty_functions=("run_job",)))
    held = [
        next(row.at for row in rows if row.item and not row.holds_slot) - rows[-1].number("ended_at")
        for rows in world.history.rows.values()
        if rows[-1].state == "CANCELLED"
    ]
    assert len(held) > 50
    assert LEASE_IN_SECONDS - 60 < max(held) < LEASE_IN_SECONDS + 2 * SWEEP_EVERY


def messages_noted(rows: list[Row]) -> list[float]:
    """Return the times at which messages for a waiting job are noted in its row."""
    times = [row.number("sent_at") for row in rows if row.state == "ACCEPTED" and row.has("sent_at")]
    return sorted(set(times))


def test_the_only_machine_that_is_stopped_in_a_job_gives_it_back_uncounted() -> None:
    rates = Rates(machine_stopped=0.1)
    habits = Habits(cancelled=0, refused=0)
    world = run(Trial(mode="ec2", jobs=60, arrivals=3000, machines=1, seed=3, rates=rates, outages=0, habits=habits))
    assert world.faults.injected["start refused while stopping"] > 0
    assert world.faults.injected["machine stopped in a job"] > 5
    assert sum(each.given_back for each in world.deployment.runs) > 5
    assert {world.history.final_row(job).attempts for job in world.history.rows} == {1}
    assert set(ends(world)) == {"SUCCEEDED"}


def test_a_job_of_a_killed_worker_is_tried_again_after_its_lease_however_long_jobs_take() -> None:
    rates = Rates(worker_killed=0.2)
    habits = Habits(cancelled=0, refused=0)
    trial = Trial(
        mode="ec2", jobs=60, arrivals=1200, seed=3, rates=rates, outages=0, habits=habits, median=20, idle=1800
    )
    world = run(trial)
    again = defaultdict[str, list[Run]](list)
    for each in sorted(world.deployment.runs, key=lambda each: each.started_at):
        again[each.job].append(each)
    pauses = [later.started_at - earlier.ended_at for runs in again.values() for earlier, later in pairwise(runs)]
    assert len(pauses) > 5
    assert max(pauses) < LEASE_IN_SECONDS + 60 + WAITS_IN_SECONDS
