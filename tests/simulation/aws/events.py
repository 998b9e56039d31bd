"""EventBridge's default bus: remembers what was put on it."""

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simulation.aws.errors import Refusal
from simulation.faults import Faults
from simulation.scheduler import Scheduler

MAX_ENTRIES = 10


class Event(NamedTuple):
    """One event, as a rule would see it."""

    at: float
    detail: dict[str, Any]


@dataclass
class EventBus:
    """The operation is the client's method. A refused entry comes back in an answer of status 200."""

    scheduler: Scheduler
    plan: Faults
    events: list[Event] = field(default_factory=list)

    def put_events(self, **request: Any) -> dict[str, Any]:
        entries = request["Entries"]
        if not 1 <= len(entries) <= MAX_ENTRIES:
            raise Refusal("ValidationException", "1 to 10 entries")
        answers: list[dict[str, str]] = []
        for entry in entries:
            if self.plan.happens("event refused", self.plan.rates.event_refused):
                answers.append({"ErrorCode": "ThrottlingException", "ErrorMessage": "Rate exceeded"})
                continue
            detail = json.loads(entry["Detail"])
            self.events.append(Event(self.scheduler.now, detail))
            answers.append({"EventId": f"event-{len(self.events)}"})
        return {"FailedEntryCount": sum("ErrorCode" in answer for answer in answers), "Entries": answers}
