"""Start a machine when a job is sent and none takes jobs."""

from botocore.exceptions import ClientError

from inference_api.jobs.conditional_writes import PASSING_ERRORS
from inference_api.log import log
from inference_api.machine.fleet import Fleet, StoppingError
from inference_api.machine.row import Machine
from inference_api.machine.rows import MachineRows
from inference_api.metrics import emit
from inference_api.runtime import Runtime

# So many jobs that are sent at once ask EC2 once.
_PAUSE_IN_SECONDS = 30
_MOST_TRIES = 3


class Starter:
    """Whatever fails here is done by the tender within a minute, so it is logged and counted only."""

    def __init__(self, rows: MachineRows, fleet: Fleet, runtime: Runtime, deployment: str) -> None:
        self._rows, self._fleet, self._runtime, self._deployment = rows, fleet, runtime, deployment

    def wake(self) -> None:
        """Start a machine unless one takes jobs or is about to. To be called after the job's message was sent."""
        try:
            self._wake()
        except PASSING_ERRORS as error:
            log({"cause": f"{type(error).__name__} at waking a machine"})

    def start(self, number: int, instance_id: str) -> bool:
        """Whether EC2 starts the instance, or has started it before. Raises botocore's errors of the table."""
        now = self._runtime.now
        try:
            was_stopped = self._fleet.start(instance_id)
        except StoppingError:
            return False
        except PASSING_ERRORS as error:
            code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
            log({"machine": number, "instance": instance_id, "cause": f"{code} at StartInstances"})
            emit(self._deployment, now(), {"MachineStartFailures": 1})
            self._rows.note_refused(number, now())
            return False
        if was_stopped:
            self._rows.note_asked(number, now())
        return True

    def _wake(self) -> None:
        now, known = self._runtime.now(), list[Machine]()
        for row in self._rows.each():
            if row.is_alive(now) or row.is_loading(now) or now - row.asked_at < _PAUSE_IN_SECONDS:
                return
            if row.instance_id:
                known.append(row)
        for row in known[:_MOST_TRIES]:
            if self.start(row.number, row.instance_id):
                return
