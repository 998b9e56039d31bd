"""Starts a machine when a job is sent and no machine takes jobs."""

from botocore.exceptions import ClientError

from inference_api.machines.ec2_instances import Ec2Instances, StoppingError
from inference_api.machines.row import MachineRow, usual_boot
from inference_api.machines.rows import MachineRows
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.log import log
from inference_api.shared.metrics import emit
from inference_api.shared.runtime import Runtime

# Jobs that are sent within this time ask EC2 once.
_PAUSE_IN_SECONDS = 30
_MOST_TRIES = 3


class Starter:
    """Starts machines. A failure is only logged and counted, because the tender tries again within a minute."""

    def __init__(self, rows: MachineRows, ec2_instances: Ec2Instances, runtime: Runtime, deployment: str) -> None:
        self._rows, self._ec2_instances, self._runtime, self._deployment = rows, ec2_instances, runtime, deployment

    def wake(self) -> None:
        """Start a machine unless one takes jobs or is about to. Call this after the job's message was sent."""
        try:
            self._wake()
        except PASSING_ERRORS as error:
            log({"cause": f"{type(error).__name__} at waking a machine"})

    def start(self, number: int, instance_id: str) -> bool:
        """Ask EC2 to start an instance. Return False if EC2 refuses, or if the instance is still stopping.

        Return True if the instance starts, already runs, or EC2 gives no answer. Raises botocore's errors of the table.
        """
        now = self._runtime.now
        self._rows.note_tried(number, now())
        try:
            was_stopped = self._ec2_instances.start(instance_id)
        except StoppingError:
            return False
        except ClientError as error:
            self._count_failure(number, instance_id, error.response["Error"]["Code"])
            self._rows.note_refused(number, now())
            return False
        except PASSING_ERRORS as error:
            self._count_failure(number, instance_id, type(error).__name__)
            was_stopped = True  # perhaps; the tender finds out
        if was_stopped:
            self._rows.note_asked(number, now())
        return True

    def _count_failure(self, number: int, instance_id: str, code: str) -> None:
        log({"machine": number, "instance": instance_id, "cause": f"{code} at StartInstances"})
        emit(self._deployment, self._runtime.now(), {"MachineStartFailures": 1})

    def _wake(self) -> None:
        """Start a machine if none is on its way. The tender deals with boots and models that take longer than usual."""
        now, known, last_start = self._runtime.now(), list[MachineRow](), 0.0
        for row in self._rows.each():
            if row.is_alive(now) or row.is_loading(now) or now - row.tried_at < _PAUSE_IN_SECONDS:
                return
            last_start = max(last_start, row.asked_at if row.is_awaited else 0)
            if row.instance_id:
                known.append(row)
        if now - last_start <= usual_boot(known):
            return
        # Machines that are stopping come last: EC2 still counts them as running, so it would not start them.
        known.sort(key=lambda row: row.is_stopping(now))
        for row in known[:_MOST_TRIES]:
            if self.start(row.number, row.instance_id):
                return
