"""What every hosting mode offers to the API and to jobs."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from ..alarm_group import AlarmGroup
from ..api.every_minute import EveryMinute
from ..api.handler_function import Handlers
from ..dashboard.panel import Panel
from ..log_group import LogGroup
from .queue import JobQueue


class HostingMode(Protocol):
    """The model, and the way that requests and jobs take to it.

    generate_handler: the handler of POST /generate. environment: variables for every function.
    outputs: the stack's outputs.
    endpoint_name: the name of the model's endpoint; None = the mode has none.
    worker_log_groups: those in which ends of jobs are logged, beside the log groups of functions.
    model_role, model_log_group: of the endpoint's containers, or of the machines.
    alarms: the alarms on the model itself, by their ids.
    queue: the queue in front of the model, or behind it; only if the deployment takes jobs.
    """

    generate_handler: str
    environment: Mapping[str, str]
    outputs: Mapping[str, str]
    endpoint_name: str | None
    model_role: iam.Role
    model_log_group: LogGroup
    worker_log_groups: Sequence[LogGroup]
    alarms: Mapping[str, cloudwatch.Alarm]

    @property
    def queue(self) -> JobQueue: ...

    def grant_generate(self, grantee: iam.IGrantable) -> None:
        """Grant what the handler of POST /generate needs."""

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a function read the status of the model's endpoint."""

    def grant_dispatch(self, grantee: iam.IGrantable) -> None:
        """Let a function hand over an accepted job."""

    def grant_tend(self, grantee: iam.IGrantable) -> None:
        """Let the sweeper find out whether a job must be handed over again, and do it."""

    def add_functions(
        self, scope: Construct, handlers: Handlers, alarms: AlarmGroup, every_minute: EveryMinute
    ) -> None:
        """Add the functions, tasks and alarms that only this mode has."""

    def create_endpoint_last(self, service: Construct) -> None:
        """Create the endpoint after everything else of the service.

        It costs most, and it can't be deleted while it starts.
        """

    def panels(self) -> Sequence[Panel]:
        """Return what a dashboard shows of the model."""

    def metric_oldest_job(self) -> cloudwatch.Metric:
        """Seconds that the oldest job has waited for the model."""

    def metric_waiting_jobs(self) -> cloudwatch.Metric:
        """Return the number of jobs that wait for the model."""

    def metric_model_latency(self) -> cloudwatch.Metric | None:
        """Return the time that the model takes, in microseconds; None = the mode has no such metric."""
