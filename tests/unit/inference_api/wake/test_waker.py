"""A model at zero copies is asked for once a minute, within the day's budget, whoever meets it."""

import json
from collections.abc import Callable
from typing import Any

import greenlet
import pytest
from botocore.exceptions import ConnectTimeoutError

from inference_api.model.not_ready import is_for_a_job
from inference_api.shared import errors
from inference_api.shared.errors import ApiError, InvocationError
from support.stand_ins.sleeping_component import ESTIMATE, SleepingComponent, refusal

NO_CAPACITY = errors.endpoint_not_ready(errors.NO_CAPACITY, ran=False)


def met_asleep(component: SleepingComponent, **settings: int) -> InvocationError:
    """Return the error for a call that the endpoint has refused."""
    return component.waker(**settings).after_refusal(NO_CAPACITY)


def test_whoever_meets_the_model_asleep_asks_for_a_copy_and_is_told_when_it_will_answer() -> None:
    component = SleepingComponent()
    error = met_asleep(component)
    assert (error.code, error.ran, error.failed) == ("model_starting", False, False)
    assert error.retry_after_in_seconds == ESTIMATE
    assert len(component.asks) == 1
    component.sleep(100)
    assert component.waker().seconds_until_ready() == ESTIMATE - 100


def test_the_time_of_a_wake_is_measured_and_told_to_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    component = SleepingComponent(starts_in=200)
    met_asleep(component)
    while component.waker().state() != "ready":
        component.sleep(10)
    (metric,) = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "WakeSeconds" in line]
    assert metric["WakeSeconds"] == 200
    component.fall_asleep()
    component.sleep(3600)
    assert met_asleep(component).retry_after_in_seconds == 200


def test_a_wake_that_nobody_watched_is_not_measured() -> None:
    component = SleepingComponent(starts_in=200)
    met_asleep(component)
    component.sleep(5000)
    assert component.waker().state() == "ready"
    assert component.row.wake_in_seconds == 0


def test_while_a_copy_starts_nobody_calls_the_endpoint_and_sagemaker_is_seldom_asked() -> None:
    component = SleepingComponent()
    met_asleep(component)
    for _ in range(200):
        with pytest.raises(InvocationError):
            component.waker().demand_copy()
        component.sleep(1)
    assert len(component.asks) == 1
    assert len(component.looks) <= 1 + 200 / 4
    component.sleep(60)
    component.waker().demand_copy()


def test_an_ask_that_was_lost_is_repeated_after_a_minute() -> None:
    component = SleepingComponent()

    def lose(operation: str) -> None:
        if operation == "ask":
            raise ConnectTimeoutError(endpoint_url="https://sagemaker")

    component.before_call = lose
    assert met_asleep(component).code == "model_starting"
    component.before_call = lambda operation: None
    for _ in range(59):
        component.sleep(1)
        component.waker().wake()
    assert component.asks == []
    component.sleep(2)
    component.waker().wake()
    assert len(component.asks) == 1


def test_after_the_days_budget_the_model_sleeps_until_midnight_and_is_not_called() -> None:
    component = SleepingComponent(now=1_800_000_000.0 - 1_800_000_000 % 86_400 + 43_200)
    for _ in range(2):
        met_asleep(component, wakes_per_day=2)
        component.sleep(600)
        assert component.waker(2).state() == "ready"
        component.fall_asleep()
        component.sleep(600)
    with pytest.raises(InvocationError) as refused:
        component.waker(2).demand_copy()  # and not by the refusal of a call, which would set off the alarm
    assert (refused.value.code, refused.value.status) == ("daily_wakes_exceeded", 503)
    assert refused.value.retry_after_in_seconds == 43_200 - 2400
    assert "T00:00:00Z" in refused.value.message
    assert len(component.asks) == 2
    component.sleep(43_200 - 2400)
    assert met_asleep(component, wakes_per_day=2).code == "model_starting"
    assert len(component.asks) == 3


def test_reading_the_state_never_wakes() -> None:
    component = SleepingComponent()
    for _ in range(3):
        assert component.waker().state() == "asleep"
        component.sleep(100)
    assert component.asks == []


def test_a_refused_ask_is_told_without_names_of_accounts_and_tried_again() -> None:
    reason = "The account-level service limit is 0 Instances, arn:aws:sagemaker:us-east-1:123456789012:endpoint/x"
    component = SleepingComponent(refuses=refusal("ResourceLimitExceeded", reason))
    error = met_asleep(component)
    assert (error.code, error.status) == ("model_not_started", 503)
    assert "service limit is 0" in error.message
    assert "123456789012" not in error.message
    for _ in range(119):
        component.sleep(1)
        assert component.waker().wake().state == "failed"
    assert (len(component.asks), component.row.asks) == (2, 0)  # they have started nothing
    component.refuses = None
    component.sleep(2)
    component.waker().wake()
    component.sleep(5)
    assert component.waker().wake().state == "starting"


@pytest.mark.parametrize("answers", [True, False])
def test_an_ask_that_meets_the_alarms_own_start_waits_for_it(answers: bool) -> None:
    component = SleepingComponent(refuses=refusal("ValidationException", "Cannot update in-progress component."))

    def start_by_alarm(operation: str) -> None:
        if operation == "ask":
            component.status, component.desired = "Updating", 1
        elif operation == "describe" and component.desired and not answers:
            raise refusal("ThrottlingException")

    component.before_call = start_by_alarm
    error = met_asleep(component)
    assert error.code == ("model_starting" if answers else "model_not_started")
    assert (component.row.asks, len(component.asks)) == (0, 1)
    component.before_call = lambda operation: None
    component.sleep(5)
    assert component.waker().state() == "starting"


def test_a_start_that_failed_tells_its_reason_and_is_tried_again_once_a_minute() -> None:
    component = SleepingComponent(status="Failed", desired=1, failure="the health check of the container failed")
    for _ in range(130):
        row = component.waker().wake()
        assert (row.state, row.reason) == ("failed", component.failure)
        component.status = "Failed"
        component.sleep(1)
    assert len(component.asks) == 3


def failed_wake(component: SleepingComponent, reason: str) -> None:
    """Ask for a copy of a component whose start fails."""
    component.waker(3).wake()
    component.sleep(30)
    component.status, component.failure = "Failed", reason
    component.waker(3).wake()
    component.sleep(60)


@pytest.mark.parametrize(
    "reason",
    [
        "CapacityError: Unable to provision requested ML compute capacity. Please retry.",
        "The account-level service limit 'ml.g5.xlarge for endpoint usage' is 0 Instances",
    ],
)
def test_starts_without_an_instance_use_up_no_wakes(reason: str) -> None:
    component = SleepingComponent()
    for _ in range(8):
        failed_wake(component, reason)
        assert component.row.asks == 0
    assert len(component.asks) == 8
    component.failure = ""
    component.waker(3).wake()
    component.sleep(300)
    assert (component.waker(3).state(), component.row.asks) == ("ready", 1)
    component.status, component.current, component.failure = "Failed", 0, reason  # a later start, by the alarm
    component.sleep(60)
    component.waker(3).state()
    assert component.row.asks == 1


def test_starts_whose_container_fails_use_up_the_days_wakes_and_the_refusal_says_why() -> None:
    component = SleepingComponent()
    for asks in range(1, 4):
        failed_wake(component, "The health check of the container failed.")
        assert component.row.asks == asks
    with pytest.raises(InvocationError) as refused:
        component.waker(3).demand_copy()
    assert (refused.value.code, len(component.asks)) == ("daily_wakes_exceeded", 3)
    assert "The last start failed: The health check of the container failed. A job" in refused.value.message
    assert "not beyond its deadline" in refused.value.message


def test_the_last_wake_of_the_day_is_awaited_after_a_start_that_failed() -> None:
    component = SleepingComponent(status="Failed", failure="the container exited")
    error = met_asleep(component, wakes_per_day=1)
    assert (error.code, len(component.asks)) == ("model_not_started", 1)


def test_a_lack_of_capacity_is_told_while_the_start_goes_on() -> None:
    component = SleepingComponent(starts_in=600)
    met_asleep(component)
    component.failure = "no capacity for ml.g5.xlarge"
    component.sleep(5)
    row = component.waker().wake()
    assert (row.state, row.reason) == ("starting", component.failure)


@pytest.mark.parametrize(
    ("status", "never_served"), [("Creating", True), ("Failed", True), ("", True), ("InService", False)]
)
def test_before_the_first_service_no_job_is_accepted(status: str, never_served: bool) -> None:
    component = SleepingComponent(status=status)
    if never_served:
        with pytest.raises(ApiError) as refused:
            component.waker().demand()
        assert refused.value.code == "endpoint_not_ready"
    else:
        component.waker().demand()


def test_a_start_that_failed_later_stops_no_job() -> None:
    component = SleepingComponent(current=1)
    component.waker().state()
    component.status, component.current = "Failed", 0
    component.sleep(10)
    component.waker().demand()


def test_a_component_that_was_deleted_is_not_asked() -> None:
    component = SleepingComponent(status="")
    for _ in range(10):
        assert met_asleep(component).code == "model_not_started"
    assert (component.asks, len(component.looks)) == ([], 1)


def test_a_call_that_fails_although_a_copy_runs_keeps_its_error_and_counts_as_a_failure() -> None:
    component = SleepingComponent(current=1, desired=1)
    error = errors.endpoint_not_ready("ServiceUnavailable", ran=False)
    assert component.waker().after_refusal(error) is error
    assert met_asleep(component).code == "model_starting"  # SageMaker's view of the copies was late


def test_a_table_or_sagemaker_that_fails_hides_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_TABLE", "jobs")
    component = SleepingComponent(current=1)
    for failing in ("get", "describe", "write"):

        def fail(operation: str, failing: str = failing) -> None:
            if operation == failing:
                raise refusal("InternalServerError", status=500)

        component.before_call = fail
        component.waker().demand_copy()
        assert is_for_a_job(component.waker().after_refusal(NO_CAPACITY))


class Orders:
    """Runs works side by side, and switches at their calls of AWS, in every order."""

    def __init__(self) -> None:
        self._choices: list[tuple[int, int]] = []  # taken, of how many

    def each(self, begin: Callable[[], list[Callable[[], Any]]]) -> int:
        """Run all works that `begin` makes, once for each order. Return the number of orders."""
        for number in range(1, 100_000):
            running = [greenlet.greenlet(work) for work in begin()]
            step = 0
            while running:
                if step == len(self._choices):
                    self._choices.append((0, len(running)))
                chosen = running[self._choices[step][0]]
                chosen.switch()
                if chosen.dead:
                    running.remove(chosen)
                step += 1
            while self._choices and self._choices[-1][0] + 1 == self._choices[-1][1]:
                self._choices.pop()
            if not self._choices:
                return number
            taken, most = self._choices.pop()
            self._choices.append((taken + 1, most))
        raise AssertionError("too many orders")


def switch(operation: str) -> None:
    parent = greenlet.getcurrent().parent
    if parent is not None:
        parent.switch()


@pytest.mark.parametrize("last_look", [None, 3600])
def test_in_every_order_of_their_calls_two_callers_ask_once(last_look: int | None) -> None:
    seen = set()

    def begin() -> list[Callable[[], Any]]:
        component = SleepingComponent()
        if last_look is not None:
            component.waker().state()
            component.sleep(last_look)
        component.before_call = switch

        def wake() -> None:
            error = component.waker().after_refusal(NO_CAPACITY)
            seen.add((error.code, len(component.asks)))

        return [wake, wake]

    assert Orders().each(begin) > 50
    assert {asks for _, asks in seen} <= {0, 1}
    assert ("model_starting", 1) in seen
    assert not any(asks > 1 for _, asks in seen)
