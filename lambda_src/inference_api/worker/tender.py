"""The tender: once a minute it starts a machine for waiting work, and stops machines that run without need."""

from itertools import chain, islice

from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.state.items import DUE_SHARDS
from inference_api.jobs.state.table import JobTable
from inference_api.jobs.state.transitions import LONGEST_LOOK_IN_SECONDS
from inference_api.machines.ec2_instances import RUNNING, Ec2Instances
from inference_api.machines.rows import MachineRows
from inference_api.machines.starter import Starter
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.job_times import JobTimes
from inference_api.shared.log import log
from inference_api.shared.metrics import emit, emit_for_dashboard
from inference_api.shared.runtime import Runtime
from inference_api.worker.tender_plan import TenderLimits, TenderPlan, Work, plan

# The most rows that are read. Ended jobs stay in the index until they are announced, and open ones may follow them.
_MOST_ROWS = 200


class Tender:
    """Starts and stops machines. Raises botocore's errors if it can't see them; the next minute does the rest."""

    def __init__(
        self,
        table: JobTable,
        queue: QueueBackend,
        rows: MachineRows,
        ec2_instances: Ec2Instances,
        starter: Starter,
        *,
        times: JobTimes,
        limits: TenderLimits,
        runtime: Runtime,
        deployment: str,
    ) -> None:
        self._table, self._queue, self._rows, self._ec2_instances, self._starter = (
            table,
            queue,
            rows,
            ec2_instances,
            starter,
        )
        self._times, self._limits, self._runtime, self._deployment = times, limits, runtime, deployment

    def tend(self) -> TenderPlan:
        """Start and stop machines. Return the plan."""
        # The work is read first: a job that ends in between costs a minute of a machine, and a new one waits a minute.
        work = self._work()
        rows = {row.number: row for row in self._rows.each()}
        now = self._runtime.now()
        instances = self._ec2_instances.describe()
        todo = plan(instances, rows, work, self._limits, now)
        emit(self._deployment, now, {"MachinesUnwell": todo.unwell})
        emit_for_dashboard(now, {"MachinesAwake": sum(each.state == RUNNING for each in instances)})
        for instance, reason in todo.stops:
            log({"machine": instance.number, "instance": instance.id, "cause": f"stopped: {reason}"})
            try:
                self._ec2_instances.stop(instance.id)
            except PASSING_ERRORS as error:
                log({"machine": instance.number, "cause": f"{type(error).__name__} at StopInstances"})
        for instance in todo.starts:
            self._starter.start(instance.number, instance.id)
        return todo

    def _work(self) -> Work:
        """Read rows until one waits for a machine. Every open job is due within the longest time between two looks."""
        now, looked_at, runs = self._runtime.now(), 0, False
        due = chain.from_iterable(self._table.due(shard, LONGEST_LOOK_IN_SECONDS) for shard in range(DUE_SHARDS))
        for _, job_id in islice(due, _MOST_ROWS):
            looked_at += 1
            job = self._table.get(job_id)
            if job is None:
                continue
            if job.is_open and now <= self._times.latest_start(job.deadline):
                return Work(True, True, self._queue.count_waiting())
            runs = runs or (job.holds_slot and job.may_be_running)
        more = looked_at == _MOST_ROWS
        # For rows that were not read the queue tells whether a job waits, but not whether one runs.
        messages = self._queue.count_waiting() if more else 0
        return Work(messages > 0, more or runs, messages)
