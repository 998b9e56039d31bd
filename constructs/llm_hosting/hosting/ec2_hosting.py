"""`hosting.mode: ec2`: machines that a job starts, that take jobs from a queue, and that stop themselves when idle."""

from collections.abc import Mapping, Sequence

from aws_cdk import Aws, Duration, RemovalPolicy, Tags
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from .. import DEPLOYMENT_TAG, MACHINE_LOGS
from ..acknowledgement import acknowledge
from ..alarm_group import AlarmGroup
from ..api.every_minute import EveryMinute
from ..api.function_environment import function_environment
from ..api.handler_function import Handlers
from ..dashboard.panel import Panel, Question, graph, of
from ..jobs.queue import JobQueue
from ..jobs.store import JobStore
from ..log_group import LogGroup
from ..machines.machines import Machines
from ..machines.role import MachineRole
from ..resolution import Resolution
from ..sources import Sources
from ..surroundings import Surroundings

_HIDDEN = Duration.seconds(
    30
)  # the queue hides a message for six times this; a message that comes back while its job runs is deleted

_DESCRIBE_ANYWHERE = "ec2:DescribeInstances knows no narrower resource, and only reads."
_THESE_MACHINES = (
    "Instances get their ids when they are launched, and new ones when they are replaced; the condition on their tag "
    "leaves those of this stack only."
)


class Ec2Hosting(Construct):
    """Machines with a worker on each, the queue of their jobs, and the tender, which starts and stops machines."""

    generate_handler = "generate_by_job"

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        sources: Sources,
        surroundings: Surroundings,
        store: JobStore | None,
    ) -> None:
        super().__init__(scope, construct_id)
        assert store, "preflight refuses machines without jobs"
        deployment = resolution.deployment
        self._store, self._surroundings = store, surroundings
        self._volume_key = surroundings.volume_key(
            deployment.hosting.volume_kms_key_arn, takes_key=resolution.volume_takes_key
        )
        self.queue = JobQueue(self, "WorkQueue", timeout=_HIDDEN, surroundings=surroundings)
        self.environment = {
            "ENDPOINT_NAME": "",
            "ENDPOINT_CONFIGURATION": "",
            "ENDPOINT_URL": "",
            "JOB_QUEUE_URL": self.queue.url,
            "MACHINES": str(deployment.hosting.instance_count.max),
            "IDLE_MINUTES": str(deployment.hosting.idle_minutes),
            "STARTUP_TIMEOUT_IN_SECONDS": str(deployment.hosting.startup_timeout_in_seconds),
            "MAX_BATCH_SIZE": str(resolution.machine_batch_size),
        }
        log_group = LogGroup(
            self,
            "MachineLogGroup",
            retention_in_days=deployment.logs.retention_in_days,
            key=surroundings.log_key,
            name=f"{MACHINE_LOGS}{surroundings.unique_name}",
            removal_policy=RemovalPolicy.RETAIN,  # kept, because it holds the reason of a failed set-up
        )
        Tags.of(log_group).add(DEPLOYMENT_TAG, surroundings.name)
        role = MachineRole(self, "MachineRole", model=deployment.model, log_group=log_group, traces=deployment.traces)
        store.grant_work(role)
        self.queue.grant_receive(role)
        self.queue.grant_send(role)
        self._machines = Machines(
            self,
            "Machines",
            resolution=resolution,
            sources=sources,
            surroundings=surroundings,
            role=role,
            environment=function_environment(surroundings.name, resolution, self.environment, store.environment)
            | store.usage_environment
            | {"LOG_GROUP": log_group.log_group_name},
        )
        self.endpoint_name: str | None = None
        self.worker_log_groups = [log_group]
        self.model_role, self.model_log_group = role, log_group
        self.alarms: Mapping[str, cloudwatch.Alarm] = {}
        self.outputs = {"MachineLogGroup": log_group.log_group_name, "Machines": self._machines.ids}

    def grant_generate(self, grantee: iam.IGrantable) -> None:
        """Let a function submit a job and wait for its end."""
        self._store.grant_submit(grantee)
        self.grant_dispatch(grantee)

    def grant_describe(self, grantee: iam.IGrantable) -> None:
        """Let a function read the rows of the machines."""
        self._store.grant_read_rows(grantee)

    def grant_dispatch(self, grantee: iam.IGrantable) -> None:
        """Let a function put a job into the queue and start a machine for it."""
        self.queue.grant_send(grantee)
        self._allow_machines(grantee, "ec2:StartInstances")

    def grant_tend(self, grantee: iam.IGrantable) -> None:
        """Let the sweeper put jobs into the queue again, once it is empty; the tender starts a machine for them."""
        self.queue.grant_send(grantee)
        self.queue.grant_count(grantee)

    def add_functions(
        self, scope: Construct, handlers: Handlers, alarms: AlarmGroup, every_minute: EveryMinute
    ) -> None:
        """Add the tender, which starts machines for waiting jobs and stops broken ones, and alarms on what it finds."""
        every_minute.add_task(handler="tend_machines")
        tend = every_minute.function
        self._store.grant_change(tend)
        self._store.grant_find_due(tend)
        self.queue.grant_count(tend)
        iam.Grant.add_to_principal(grantee=tend, actions=["ec2:DescribeInstances"], resource_arns=["*"])
        acknowledge(tend.role, {"AwsSolutions-IAM5[Resource::*]": _DESCRIBE_ANYWHERE})
        self._allow_machines(tend, "ec2:StartInstances", "ec2:StopInstances")
        for construct_id, metric, means in (
            ("MachineStarts", "MachineStartFailures", "EC2 did not start a machine"),
            ("Machines", "MachinesUnwell", "a machine was gone, or ran while its worker was silent"),
        ):
            alarms.add(construct_id, self._surroundings.metric(metric, cloudwatch.Stats.SUM), 0, means=means)

    def create_endpoint_last(self, service: Construct) -> None:
        """Create the machines after all else of the service."""
        self._machines.create_last(service)

    def panels(self) -> Sequence[Panel]:
        """Return what a dashboard shows of the machines."""
        total = cloudwatch.Stats.SUM
        unwell, failures = (
            self._surroundings.metric(name, total) for name in ("MachinesUnwell", "MachineStartFailures")
        )
        found = [of(unwell, total, "unwell, once a minute"), of(failures, total, "starts that failed")]
        return [
            Panel(
                Question.UP,
                "A machine is unwell if its worker is silent while it runs.",
                [graph("Machines in trouble", *found, unit="times")],
            ),
            *self._machines.panels(),
        ]

    def metric_oldest_job(self) -> cloudwatch.Metric:
        """Seconds that the oldest job has been in the queue."""
        return self.queue.metric_oldest_message()

    def metric_waiting_jobs(self) -> cloudwatch.Metric:
        """Return the number of jobs in the queue."""
        return self.queue.metric_waiting()

    def metric_model_latency(self) -> cloudwatch.Metric | None:
        """Return None: a machine reports no latency."""
        return None

    def _allow_machines(self, grantee: iam.IGrantable, *actions: str) -> None:
        iam.Grant.add_to_principal(
            grantee=grantee,
            actions=list(actions),
            resource_arns=[f"arn:{Aws.PARTITION}:ec2:{Aws.REGION}:{Aws.ACCOUNT_ID}:instance/*"],
            conditions={"StringEquals": {f"aws:ResourceTag/{DEPLOYMENT_TAG}": self._surroundings.name}},
        )
        finding = "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:instance/*]"
        acknowledge(grantee.grant_principal, {finding: _THESE_MACHINES})
        if key := self._volume_key:  # EC2 decrypts the volume with a grant that the starter of the machine makes
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["kms:CreateGrant"],
                resource_arns=[key],
                conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
            )
