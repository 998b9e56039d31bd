"""The settings of the place where the container runs: mode, instances, scaling, updates, sleep."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from .section import CapacityArn, CountRange, HostImage, InstanceTypeName, KmsKeyArn, Section
from .shared_endpoint import OF_INSTANCES, SharedEndpoint

LONGEST_UPDATE_IN_SECONDS = 28_800  # MaximumExecutionTimeoutInSeconds of an endpoint's update


TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class InstanceCount(CountRange):
    """Number of instances that serve the model; equal numbers fix it, different ones switch autoscaling on."""

    min: int = Field(
        1,
        ge=0,
        le=1000,
        description="Number of instances that always run, or in the hours of `hosting.idle`; 0 needs `mode: async`, "
        "where a job wakes the endpoint, or `idle: zero`.",
    )
    max: int = Field(1, ge=1, le=1000, description="Largest number of instances that may run.")


class CopyCount(CountRange):
    """Number of copies of the model on a shared endpoint; different numbers switch autoscaling on."""

    min: int = Field(1, ge=1, le=1000, description="Number of copies that always run, unless the model sleeps.")
    max: int = Field(1, ge=1, le=1000, description="Largest number of copies that may run.")


class Scaling(Section):
    """Target tracking between `instance_count.min` and `instance_count.max`."""

    concurrent_requests_per_instance: int = Field(
        8,
        ge=1,
        le=10000,
        description="`realtime`: number of requests in flight on one copy of the model that scaling aims at. `async`: "
        "number of requests that SageMaker sends to one instance at once, at most 1,000.",
    )
    backlog_per_instance: int = Field(
        16,
        ge=1,
        le=100_000,
        description="`async`: number of jobs per instance, waiting and running, that scaling aims at.",
    )
    scale_out_cooldown_in_seconds: int = Field(60, ge=0, le=3600, description="Pause after instances are added.")
    scale_in_cooldown_in_seconds: int = Field(300, ge=0, le=3600, description="Pause after instances are removed.")


class Canary(Section):
    """An update that gives the new instances a share of the requests first."""

    share: int = Field(10, ge=1, le=50, description="Percent of the new instances that get requests first.")
    minutes: int = Field(
        10, ge=5, le=60, description="How long the alarms watch that share, before the other requests follow."
    )


def batch_fits(batch: int, count: int) -> bool:
    """Return whether SageMaker takes a batch of this size: 5 to 50 % of the instances or copies."""
    return 2 * batch <= count <= 20 * batch


class Rolling(Section):
    """An update that replaces a batch of instances, or of copies, at a time, so that it needs few instances more."""

    batch: int = Field(
        ge=1,
        le=500,
        description="Number of instances in a batch. SageMaker takes 5 to 50 % of those that run, so "
        "`instance_count.min` is at least twice the batch, and `instance_count.max` at most 20 times. Of an inference "
        "component it is the number of copies.",
    )


class Rollout(Section):
    """How an update moves requests to the new instances: `canary` or `rolling`."""

    canary: Canary | None = Field(
        None,
        description="A share of the requests first, and after some minutes the others; needs as many instances again.",
    )
    rolling: Rolling | None = Field(None, description="A batch of instances after the other.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if bool(self.canary) == bool(self.rolling):
            raise PydanticCustomError("not_one", "one of canary and rolling")
        return self


class DataCapture(Section):
    """SageMaker writes prompts and answers of an endpoint into a bucket that the stack makes."""

    percent: int = Field(ge=1, le=100, description="Percent of the invocations that are captured.")
    content: Literal["both", "input", "output"] = Field(
        "both", description="What is captured: `input` (prompts), `output` (answers) or both."
    )
    retention_in_days: int = Field(30, ge=1, le=3650, description="Days after which what was captured is deleted.")


class AwakeHours(Section):
    """Hours in which the instances of `hosting.instance_count.min` run; outside of them it is as with `zero`."""

    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = Field(
        ["mon", "tue", "wed", "thu", "fri"], min_length=1, max_length=7, description="Days on which the hours begin."
    )
    start: TimeOfDay = Field(description='Time of day at which copies start, in quotes, such as `"08:00"`.')
    end: TimeOfDay = Field(
        description="Time of day from which the model may sleep, in quotes; before `start`, it is on the next day."
    )
    time_zone: str = Field(
        pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{0,63}$",
        description="Name of a time zone, such as `Europe/Berlin`, whose summer time the hours follow.",
    )


def _or_on_shared_endpoint(schema: dict[str, Any]) -> None:
    """Let an editor accept a file without an instance type, if it names an endpoint that has one."""
    required = schema.pop("required")
    schema["anyOf"] = [{"required": required}, {"required": ["endpoint"]}]


class Hosting(Section):
    """Where the container runs."""

    mode: Literal["realtime", "async", "ec2"] = Field(
        "realtime",
        description="`realtime`: an endpoint that answers at once, within 60 s. `async`: an endpoint that takes jobs "
        "only and can scale to zero; a job may run for an hour, and POST /generate waits for its job. `ec2`: like "
        "`async`, but on EC2 machines without SageMaker, which stop when idle and start for a job.",
    )
    instance_type: InstanceTypeName | Annotated[list[InstanceTypeName], Field(min_length=1, max_length=5)] = Field(
        description="SageMaker instance type of the catalog, for example `ml.g6.2xlarge`. Of a list of up to five "
        "types, best first, SageMaker takes the first that is available (instance pools). `mode: ec2`: EC2's own "
        "name, such as `c7i.xlarge`."
    )
    instance_count: InstanceCount = InstanceCount()
    endpoint: str | None = Field(
        None,
        pattern=r"^shared/[a-z](-?[a-z0-9])*$",
        max_length=44,
        description="`mode: realtime` only: `shared/<name>` is the endpoint of the file `endpoints/<name>.yaml`, on "
        "which other deployments run, too. That file has the settings of the instances, and this one leaves them out; "
        "null = an endpoint of its own.",
    )
    copies: CopyCount = CopyCount()
    idle: Literal["always-on", "zero"] | AwakeHours = Field(
        "always-on",
        description="`mode: realtime` only: what happens without requests. `always-on`: instances run. `zero`: after "
        "about 27 minutes none runs, and a request starts one, which takes minutes. Settings below it: as `zero`, but "
        "`instance_count.min` instances run in these hours.",
    )
    wakes_per_day: int = Field(
        24,
        ge=1,
        le=1440,
        description="With an `idle` other than `always-on`: how often a UTC day requests may wake the model. Each wake "
        "bills more than half an hour, so 24 are about half of a day.",
    )
    scaling: Scaling = Scaling()
    volume_size_in_gb: int | None = Field(
        None,
        ge=1,
        le=512,
        description="Size of the EBS volume; null = SageMaker's default. Refused on types with an NVMe disk. `mode: "
        "ec2`: size of each machine's disk; null = room for system, packages and weights.",
    )
    volume_kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="KMS key that encrypts the volume; null = a key that AWS manages. Refused on types with their own "
        "NVMe disk, which the hardware encrypts.",
    )
    download_timeout_in_seconds: int = Field(
        900, ge=60, le=3600, description="ModelDataDownloadTimeoutInSeconds: time to fetch `model.weights`."
    )
    startup_timeout_in_seconds: int = Field(
        900,
        ge=60,
        le=3600,
        description="ContainerStartupHealthCheckTimeoutInSeconds: time until the model answers. `mode: ec2`: time for "
        "a machine's set-up at the deploy, and for each later start.",
    )
    idle_minutes: int = Field(
        30, ge=1, le=1440, description="`mode: ec2` only: minutes without work after which a machine stops itself."
    )
    renewal: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="`mode: ec2` only: change this number to replace the machines at the next deploy; the new ones "
        "get that day's Amazon Linux.",
    )
    inference_ami_version: HostImage | None = Field(
        None,
        description="Host image, which decides on the driver; null = derived from container image and instance. The "
        "`al2-...` images are Amazon Linux 2, unsupported since 2026-06-30; SageMaker has no other host image for "
        "CUDA 12 and Neuron.",
    )
    provision_timeout_in_seconds: int | None = Field(
        None,
        ge=300,
        le=3600,
        description="VariantInstanceProvisionTimeoutInSeconds: time to find instances, for all types of the list "
        "together; null = SageMaker's default.",
    )
    routing: Literal["least-outstanding-requests", "random", "prefix-aware"] = Field(
        "least-outstanding-requests",
        description="How SageMaker chooses the instance for a request. `prefix-aware`: an instance that has seen the "
        "same beginning of a body, so that the engine's prefix cache helps. An instance holds up to "
        "`scaling.concurrent_requests_per_instance` such requests; others take the rest.",
    )
    routing_prefix_in_bytes: int = Field(
        4096,
        ge=1024,
        le=65_536,
        description="`routing: prefix-aware` only: number of bytes of the body that are compared; choose a little "
        "more than the shared part.",
    )
    detailed_observability: bool = Field(
        True,
        description="EnableDetailedObservability: metrics of engine and accelerators, which CloudWatch bills; an "
        "output of the stack links to their page.",
    )
    update_wait_in_seconds: int = Field(
        300,
        ge=0,
        le=3600,
        description="How long an update watches the alarms, while old and new instances run, before it ends the old "
        "ones; with `rollout: {rolling: ...}` for each batch.",
    )
    rollout: Literal["all-at-once"] | Rollout = Field(
        "all-at-once",
        description="How an update moves requests to the new instances: to all of them at once, to a share first "
        "(`canary`), or a batch after the other (`rolling`). An alarm undoes each of them. Inference components know "
        "no canary, their batches are of copies, and no alarm undoes `all-at-once`.",
    )
    reserved_capacity_arn: CapacityArn | None = Field(
        None,
        description="ARN of the reserved capacity (a training plan for endpoints) in which all instances start, also "
        "those of an update; without room in it they do not start. null = on demand.",
    )
    cache_weights: bool = Field(
        False,
        description="Inference components only: keep image and weights on the disk of an instance, so that another "
        "copy of the model starts sooner there.",
    )
    spread_over_zones: bool = Field(
        False,
        description="Inference components only: place the copies of the model in several Availability Zones where "
        "instances run in them.",
    )
    data_capture: DataCapture | None = Field(
        None,
        description="Let SageMaker write prompts and answers into a bucket of the stack, which stays when the stack "
        "goes; null = they are not kept. A real-time endpoint of its own only.",
    )
    network_isolation: bool = Field(
        False, description="Run the container without network access; needs `model.weights`."
    )

    model_config = ConfigDict(json_schema_extra=_or_on_shared_endpoint)

    # The meaning of each mode: no other module of the library compares the mode with a name.

    @property
    def answers_at_once(self) -> bool:
        """Whether POST /generate calls the model itself; in other modes it submits a job and waits for it."""
        return self.mode == "realtime"

    @property
    def queues_in_sagemaker(self) -> bool:
        """Whether SageMaker keeps the queue of jobs and calls the model; in other modes the queue is the stack's."""
        return self.mode == "async"

    @property
    def runs_on_machines(self) -> bool:
        """Whether machines of EC2 run the model; in other modes an endpoint of SageMaker runs it."""
        return self.mode == "ec2"

    @property
    def sleeps(self) -> bool:
        """Whether a real-time endpoint goes to zero instances without requests, at least at some hours."""
        return self.idle != "always-on"

    @property
    def awake_hours(self) -> AwakeHours | None:
        """The hours in which copies run all the time; None = the model always runs, or sleeps at any hour."""
        return self.idle if isinstance(self.idle, AwakeHours) else None

    @property
    def instance_types(self) -> tuple[str, ...]:
        """All instance types that may be used, best first."""
        return (self.instance_type,) if isinstance(self.instance_type, str) else tuple(self.instance_type)

    @property
    def canary(self) -> Canary | None:
        """The share of requests that an update moves first; None = it moves none."""
        return self.rollout.canary if isinstance(self.rollout, Rollout) else None

    @property
    def rolling(self) -> Rolling | None:
        """The batches of an update; None = it starts all new instances at once."""
        return self.rollout.rolling if isinstance(self.rollout, Rollout) else None

    @property
    def updates_by_parts(self) -> bool:
        """Whether old and new instances answer side by side during an update."""
        return bool(self.canary or self.rolling)

    def can_roll_out(self, count: int) -> bool:
        """Whether SageMaker takes the rollout for this number of instances.

        A canary is at most half of them, and a batch 5 to 50 %.
        """
        if self.rolling:
            return batch_fits(self.rolling.batch, count)
        return count >= 2 if self.canary else True


def settings_of_instances(endpoint: SharedEndpoint) -> Hosting:
    """Return the settings of a shared endpoint in the form of those of a deployment with an endpoint of its own."""
    count = InstanceCount(min=endpoint.instance_count.min, max=endpoint.instance_count.max)
    return Hosting(instance_count=count, **{name: getattr(endpoint, name) for name in OF_INSTANCES})
