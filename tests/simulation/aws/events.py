"""EventBridge's default bus: keeps its events."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simulation.aws.errors import Refusal
from simulation.runtime.faults import Faults
from simulation.runtime.scheduler import Scheduler

MAX_ENTRIES = 10


class Event(NamedTuple):
    """An event's time and detail."""

    at: float
    detail: dict[str, Any]


@dataclass
class EventBus:
    """The bus. A response of status 200 may hold a refused entry. on_waiting_batch: called with the event's detail."""

    scheduler: Scheduler
    faults: Faults
    events: list[Event] = field(default_factory=list)
    on_waiting_batch: Callable[[dict[str, Any]], object] = lambda detail: None

    def put_events(self, **request: Any) -> dict[str, Any]:
        entries = request["Entries"]
        if not 1 <= len(entries) <= MAX_ENTRIES:
            raise Refusal("ValidationException", "1 to 10 entries")
        answers: list[dict[str, str]] = []
        for entry in entries:
            if self.faults.happens("event refused", self.faults.rates.event_refused):
                answers.append({"ErrorCode": "ThrottlingException", "ErrorMessage": "Rate exceeded"})
                continue
            detail = json.loads(entry["Detail"])
            if entry["DetailType"] == "Batch Waits":
                self._deliver(detail)
            else:
                self.events.append(Event(self.scheduler.now, detail))
            answers.append({"EventId": f"event-{len(self.events)}"})
        return {"FailedEntryCount": sum("ErrorCode" in answer for answer in answers), "Entries": answers}

    def _deliver(self, detail: dict[str, Any]) -> None:
        if self.faults.happens("event lost", self.faults.rates.lost_message):
            return
        for _ in range(2 if self.faults.happens("event doubled", self.faults.rates.duplicate_message) else 1):
            self.scheduler.call_later(1, lambda: self.on_waiting_batch(detail))
