"""Wakes the model: whoever meets it asleep asks SageMaker for a copy, once a minute and within the day's budget."""

from dataclasses import replace

from botocore.exceptions import ClientError

from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.errors import InvocationError
from inference_api.shared.log import log
from inference_api.shared.metrics import emit
from inference_api.shared.model_states import ASLEEP, DELETING, FAILED, NOT_FOUND, READY, STARTING
from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import WakeSettings
from inference_api.wake import row as changes
from inference_api.wake.component import InferenceComponent, public_reason
from inference_api.wake.row import LOOK_EVERY_IN_SECONDS, WakeRow
from inference_api.wake.rows import WakeRows

# How long a process calls a model that was awake without a look at the row. A refused call ends it at once.
_KNOWN_FOR_IN_SECONDS = 30
_NEVER_SERVED = ("Creating", "Failed", DELETING, NOT_FOUND)


class Waker:
    """Knows whether a copy of the model runs, and asks for one.

    While a copy starts, nobody calls the endpoint: each refused call counts for the alarm that adds copies.
    """

    def __init__(
        self, rows: WakeRows, component: InferenceComponent, runtime: Runtime, deployment: str, settings: WakeSettings
    ) -> None:
        self._rows, self._component, self._runtime = rows, component, runtime
        self._deployment, self._settings = deployment, settings
        self._awake_until = 0.0

    def demand_copy(self) -> None:
        """Raises InvocationError if no copy runs, after it has asked for one. Call this before a call of the model."""
        now = self._runtime.now()
        if now < self._awake_until:
            return
        try:
            row = self._rows.get()
            # An awake model is called at once. Only if the day's wakes are used up the call must wake no model that
            # has fallen asleep since: a refused call sets off the alarm.
            if row.state not in ("", READY) or not row.has_asks_left(now, self._settings.wakes_per_day):
                row = self.look(ask=True)
        except PASSING_ERRORS as error:
            log({"cause": f"{type(error).__name__} at reading the wake"})
            return  # the call itself tells
        if row.state not in ("", READY):
            raise self.refusal(row)
        self._awake_until = now + _KNOWN_FOR_IN_SECONDS

    def after_refusal(self, error: InvocationError) -> InvocationError:
        """Wake the model after the endpoint has refused a call as not ready. Return the error for the caller."""
        self._awake_until = 0.0
        try:
            row = self.look(ask=True, was_refused=True)
        except PASSING_ERRORS as passing:
            log({"cause": f"{type(passing).__name__} at waking the model"})
            return error
        if row.state == READY and error.cause != errors.NO_CAPACITY:
            return error
        return self.refusal(row)

    def refusal(self, row: WakeRow) -> InvocationError:
        """Return the error for a call of a model without copies."""
        now = self._runtime.now()
        if row.waits_for_the_next_day(now, self._settings.wakes_per_day):
            return errors.daily_wakes_exceeded(self._settings.wakes_per_day, changes.renews_at(now), now, row.reason)
        if row.state == FAILED:
            return errors.model_not_started(row.reason)
        return errors.copy_starting(self.seconds_until_ready(row) or LOOK_EVERY_IN_SECONDS)

    def look(self, *, ask: bool, was_refused: bool = False) -> WakeRow:
        """Return the row after a look at the component, unless somebody has just looked.

        ask: whether to ask for a copy if none runs. was_refused: a call was refused, so a model that was awake at the
        last look may sleep. Raises botocore's errors.
        """
        now, row = self._runtime.now(), self._rows.get()
        is_fresh = now - row.looked_at < LOOK_EVERY_IN_SECONDS
        doubted = was_refused and row.state == READY
        asks = ask and row.state in (ASLEEP, FAILED) and row.may_ask(now, self._settings.wakes_per_day)
        if is_fresh and not doubted and not asks:
            return row
        claimed = self._rows.claim_look(row, now)
        if claimed is None:
            return self._rows.get()  # of somebody who looks right now
        component = self._component.describe()
        seconds = changes.measured_wake(claimed, component, now, row.looked_at)
        row = changes.seen(claimed, component, now)
        if ask and changes.wants_a_copy(component) and row.may_ask(now, self._settings.wakes_per_day):
            return self._ask(row, now)
        if seconds:
            row = replace(row, wake_in_seconds=seconds)
        if not self._rows.write(row):
            return self._rows.get()
        if seconds:
            emit(self._deployment, now, {"WakeSeconds": round(seconds, 3)})
        return row

    def state(self) -> str:
        """Return READY, STARTING, ASLEEP or FAILED, without waking the model. Raises botocore's errors."""
        return self.look(ask=False).state or STARTING

    def wake(self) -> WakeRow:
        """Ask for a copy if none runs. Return the row. Raises botocore's errors."""
        return self.look(ask=True)

    def demand(self) -> None:
        """Raises ApiError 503 if the model has never been in service. An unknown state is no reason to refuse."""
        try:
            row = self._rows.get()
            if row.ready_at:
                return
            row = self.look(ask=False)
        except PASSING_ERRORS:
            return
        if row.state != READY and row.status in _NEVER_SERVED:
            raise errors.endpoint_not_ready(row.status, ran=False)

    def seconds_until_ready(self, row: WakeRow | None = None) -> int:
        """Return the seconds until a copy is likely to answer; 0 if one does, or if that is unknown."""
        try:
            found = row or self._rows.get()
        except PASSING_ERRORS:
            return 0
        return found.seconds_until_ready(self._runtime.now(), self._settings.estimate_in_seconds)

    def usual_seconds(self, row: WakeRow) -> int:
        """Return how long a wake takes: as last measured, or as estimated."""
        return round(row.usual_seconds(self._settings.estimate_in_seconds))

    def _ask(self, row: WakeRow, now: float) -> WakeRow:
        """Ask for a copy. The row is written first, so that callers who meet here ask once."""
        row = changes.asked(row, now)
        if not self._rows.write(row):
            return self._rows.get()
        try:
            self._component.ask_for_a_copy()
        except ClientError as error:
            code = error.response["Error"]["Code"]
            log({"cause": f"{code} at UpdateInferenceComponentRuntimeConfig"})
            row = changes.refused(row, public_reason(error.response["Error"].get("Message") or code))
            row = self._begun_by_others(row, now) or row
            self._rows.write(row)
        except PASSING_ERRORS as error:  # perhaps SageMaker has it; the next look tells
            log({"cause": f"{type(error).__name__} at UpdateInferenceComponentRuntimeConfig"})
        return row

    def _begun_by_others(self, row: WakeRow, now: float) -> WakeRow | None:
        """Return the row if others, such as the alarm, have begun a start, during which SageMaker refuses each ask."""
        try:
            component = self._component.describe()
        except PASSING_ERRORS:
            return None
        return None if changes.wants_a_copy(component) else changes.seen(row, component, now)
