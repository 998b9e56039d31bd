"""Typed, frozen models of the deployment file: every setting, its unit, its range, and the only place of defaults."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from ..catalog.engines import EngineName
from .lock import ModelLock
from .section import CapacityArn, CountRange, HostImage, InstanceTypeName, KmsKeyArn, Region, Section, TopicArn
from .shared_endpoint import OF_INSTANCES, Shared, SharedEndpoint

REALTIME_TIMEOUT_IN_SECONDS = 60  # SageMaker's own limit on a call of a real-time endpoint
# A new account may run 10 functions at once (`doctor` checks it); most of them must stay free for callers.
_MOST_WORKERS_BY_DEFAULT = 4
LONGEST_UPDATE_IN_SECONDS = 28_800  # MaximumExecutionTimeoutInSeconds of an endpoint's update
DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS = 29  # API Gateway's longest wait without a raised quota
# A selection of the values that CloudWatch Logs takes.
LogRetentionInDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 180, 365, 731, 1827, 3653]
FREE_TEXTS = ("environment", "owner", "silenced")  # settings that hold any text, themselves or in the keys below
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=1024)]
EnvironmentValue = Annotated[str, Field(max_length=1024)]
# A name with a dot whose last part is no number: neither an IP address nor a port can be one.
HostToFetch = Annotated[
    str, Field(pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$", max_length=253)
]
KeyName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$", max_length=32)]
# A part of a component's name, which may have 63 characters, and of `model` in a request.
AdapterName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$", max_length=32)]
AdapterSource = Annotated[
    str,
    Field(
        description="S3 prefix that ends with `/`, such as `s3://bucket/legal/`, or an id on the Hub, `org/name`",
        max_length=1024,
        pattern=r"^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9_!.'()-]+/)+"
        r"|[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*(@[A-Za-z0-9_./-]{1,128})?)$",
    ),
]
TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


def archive_of_adapter(prefix: str) -> str:
    """Return the place of an adapter's archive, beside its prefix: two adapters may lie side by side."""
    return f"{prefix.rstrip('/')}.tar.gz"


def _date(value: object) -> object:
    """Turn a quoted date into a date; YAML itself does so only without quotes."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value  # pydantic refuses it


class Model(Section):
    """The model that is served and where its weights come from."""

    id: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?$",
        max_length=200,
        description="Model id on the Hugging Face Hub, for example `Qwen/Qwen3-4B`.",
    )
    revision: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_./-]{1,128}$",
        description="Commit, branch or tag on the Hub; null = the newest commit.",
    )
    weights: str | None = Field(
        None,
        max_length=1024,
        pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9_!.'()-]+/)+$",
        description="S3 prefix that holds the uncompressed weights, `s3://bucket/prefix/`; null = the container "
        "downloads them from the Hub.",
    )
    weights_kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="KMS key that encrypts the objects under `weights`, and those of `adapters`; null = none, or a key "
        "that AWS manages.",
    )
    parameters_in_billions: float | None = Field(
        None,
        gt=0,
        le=10_000,
        description="Number of parameters, for the memory check of a model that neither a lock file nor the catalog "
        "knows; null = the number that they state.",
    )
    dtype: Literal["fp32", "fp16", "bf16", "int8"] | None = Field(
        None, description="Number format in which the engine computes; null = the engine and the model decide."
    )
    quantization: (
        Literal["awq", "gptq", "fp8", "int8", "bitsandbytes4", "bitsandbytes8", "mxfp4", "nvfp4", "gguf"] | None
    ) = Field(
        None,
        description="Format of quantized weights: the one in which they are stored, or the one into which the engine "
        "converts them; null = the format of the model's own files.",
    )
    task: Literal["generate", "embed", "rerank"] = Field(
        "generate",
        description="What the model answers with: `generate` = text, `embed` = a vector for each text (POST "
        "/embeddings), `rerank` = how well each text fits a query (POST /rerank).",
    )
    pooling: Literal["mean", "cls", "last-token"] | None = Field(
        None,
        description="`task: embed` only: how the vectors of a text's tokens become one; null = as the model's files "
        "say.",
    )
    hub_token_secret_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+$",
        description="Secret with a Hugging Face token, for gated models; `stage` uses it. Without `weights` the "
        "container gets the token in its environment, which everybody who may describe the model can read.",
    )
    files: list[Annotated[str, Field(max_length=200)]] | None = Field(
        None, min_length=1, description="Patterns of the files that `stage` copies; null = the files that engines load."
    )
    adapters: dict[AdapterName, AdapterSource] = Field(
        default_factory=dict,
        max_length=50,
        description="LoRA adapters of the model by name; callers choose one by this name in `model`. Each is an S3 "
        "prefix with its files, `s3://bucket/prefix/`, or for the engines `vllm` and `sglang` an id on the Hub, "
        "`org/name` or `org/name@revision`.",
    )


class Serving(Section):
    """The container that serves the model, and its settings."""

    engine: EngineName = Field(
        "lmi-vllm",
        description="Serving engine, which decides on the container image. `custom` needs `image_uri`. `transformers` "
        "has no image and is the only engine of `hosting.mode: ec2`.",
    )
    version: str | None = Field(
        None,
        description="Version of the engine's image, or its beginning: `2.0` means the newest 2.0 version of the "
        "catalog. It may be newer than the catalog, or the tag of a newer image. null = the catalog's default.",
    )
    image_uri: str | None = Field(
        None,
        pattern=r"^([0-9]{12}|\$\{AWS::AccountId\})\.dkr\.ecr\.([a-z0-9-]+|\$\{AWS::Region\})\."
        r"([a-z.]+|\$\{AWS::URLSuffix\})/[a-z0-9._/-]+(:[A-Za-z0-9_.-]{1,128}|@sha256:[0-9a-f]{64})?$",
        max_length=255,
        description="Amazon ECR image to use instead of the catalog's image; it may contain `${AWS::AccountId}`, "
        "`${AWS::Region}` and `${AWS::URLSuffix}`.",
    )
    tensor_parallel_degree: int | None = Field(
        None,
        ge=1,
        le=64,
        description="Number of accelerators (on Neuron: NeuronCores) that share one copy of the model; null = all of "
        "the instance, or the largest number that divides the model's heads and the blocks of its quantized weights.",
    )
    max_model_len: int | None = Field(
        None,
        ge=2,
        le=100_000_000,
        description="Longest prompt and answer together, in tokens; null = the limit of the model or the engine.",
    )
    max_batch_size: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="Number of requests that the engine computes together; null = the engine's default.",
    )
    max_batch_tokens: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="Number of tokens of all requests together that the engine computes in one step; null = the "
        "engine's default. `tei` takes no text that is longer.",
    )
    max_batch_delay_in_ms: int | None = Field(
        None,
        ge=1,
        le=60_000,
        description="How long dynamic batching waits for a batch to fill; null = it does not wait.",
    )
    max_new_tokens: int | None = Field(
        None,
        ge=1,
        le=100_000_000,
        description="Longest answer that callers ask for, in tokens; the checks estimate how long it takes. null = no "
        "estimate.",
    )
    images_per_prompt: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="Most images in a request to a vision-language model, which the API checks, and vLLM, too; vLLM "
        "then takes no video. 0 = texts only. null = as many as body and context hold.",
    )
    handler: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_]{0,49}$",
        description="Folder under `model_src/` with your own `model.py`, for the engines `lmi-...`; null = no code of "
        "your own.",
    )
    environment: dict[EnvironmentName, EnvironmentValue] = Field(
        default_factory=dict,
        max_length=100,
        description="Environment variables of the container; they win over the variables that other settings produce.",
    )


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


class Vpc(Section):
    """The user's own VPC, whose subnets must reach the internet through NAT or a transit gateway."""

    vpc_id: str = Field(pattern=r"^vpc-[0-9a-f]{8,17}$", description="Id of the VPC, `vpc-...`.")
    subnet_ids: list[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]] = Field(
        min_length=1,
        max_length=16,
        description="Ids of subnets of the VPC, `subnet-...`; the machines are placed in them in turn.",
    )


class Security(Section):
    """The network of the machines."""

    vpc: Vpc | None = Field(
        None,
        description="`hosting.mode: ec2` only: VPC of the machines, which get no public address there; null = the "
        "stack makes a VPC that lets nothing in and only TCP 443 out.",
    )


class Throttle(Section):
    """Limits on requests to each route and, with `api-key`, of each key; requests above a limit get 429."""

    rate: float = Field(20, gt=0, le=10000, description="Requests per second.")
    burst: int = Field(40, ge=1, le=5000, description="Requests at once.")


class Quota(Section):
    """Limit on requests with the stack's own key; needs `auth: api-key`."""

    limit: int = Field(ge=1, le=2_147_483_647, description="Requests per period.")
    period: Literal["DAY", "WEEK", "MONTH"] = Field("DAY", description="Period after which the count starts again.")


class Cors(Section):
    """Web pages that may call the API from a browser."""

    origins: list[Annotated[str, Field(max_length=200)]] = Field(
        min_length=1,
        max_length=10,
        description="Exact origins of the pages, such as `https://chat.example.com` or `http://localhost:5173`. Pages "
        "of the first one can also read the answers of API Gateway itself, such as a 401 or a 429.",
    )


class NamedKey(Section):
    """The owner and limits of a key. `slipway keys create` makes its value, a deploy never does."""

    owner: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="Person or team that is responsible for the key, shown beside its usage; null = not stated."
    )
    rate: float | None = Field(
        None, gt=0, le=10000, description="Requests per second, to all routes together; null = `api.throttle.rate`."
    )
    burst: int | None = Field(None, ge=1, le=5000, description="Requests at once; null = `api.throttle.burst`.")
    requests_per_month: int | None = Field(
        None, ge=1, le=2_147_483_647, description="Requests per calendar month (UTC); null = no limit."
    )
    tokens_per_minute: int | None = Field(
        None, ge=1, le=1_000_000_000, description="Tokens of prompts and answers together, per minute; null = no limit."
    )
    tokens_per_month: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000_000,
        description="Tokens of prompts and answers together, per calendar month (UTC); null = no limit.",
    )
    models: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9_./:-]{1,200}$")]] | None = Field(
        None, min_length=1, max_length=20, description="Ids of the models that the key may ask for; null = all."
    )
    expires: Annotated[date, BeforeValidator(_date)] | None = Field(
        None,
        description="Last day (UTC) on which the key is accepted, such as `2027-12-31`; null = it does not expire.",
    )

    @property
    def expires_at(self) -> int | None:
        """The end of the last day, in seconds since the epoch; None = the key does not expire."""
        if self.expires is None:
            return None
        return round((datetime.combine(self.expires, time(), UTC) + timedelta(days=1)).timestamp())


def limits_of_keys(keys: Mapping[str, NamedKey]) -> str:
    """Return the limits of each key by its name, as JSON for the authorizer; `expires` in seconds since the epoch."""
    limits = {
        name: {
            "rate": key.rate,
            "tokens_per_minute": key.tokens_per_minute,
            "tokens_per_month": key.tokens_per_month,
            "models": ",".join(key.models) if key.models else None,
            "expires": key.expires_at,
        }
        for name, key in keys.items()
    }
    said = {name: {limit: value for limit, value in of.items() if value is not None} for name, of in limits.items()}
    return json.dumps(said, separators=(",", ":"))


class Api(Section):
    """The REST API in front of the endpoint."""

    auth: Literal["iam", "api-key", "none"] = Field(
        "iam",
        description="`iam`: requests signed with AWS credentials (SigV4). `api-key`: a shared secret in `x-api-key` "
        "or `Authorization: Bearer`. `none`: open to everybody.",
    )
    openai: bool | None = Field(
        None,
        description="Routes for OpenAI clients: POST /chat/completions, /completions and /responses, with `model.task` "
        "embed /embeddings and with rerank /rerank instead; GET /models; with jobs also /files and /batches. null = on "
        "if the engine takes `messages`, makes vectors or scores. true = also on if the engine takes only `inputs`, "
        "with /completions but without chat.",
    )
    other_models: Literal["accept", "refuse"] | None = Field(
        None,
        description="What happens, on OpenAI routes, to a name in `model` that is not the deployment's. `accept`: the "
        "deployment's model answers under its own id. `refuse`: 404 `model_not_found`. null = as the engine does: "
        "vLLM refuses such names, the others accept them. A key with `models` accepts only those.",
    )
    keys: dict[KeyName, NamedKey] = Field(
        default_factory=dict,
        description="Keys by name, each with its own owner and limits, in addition to the stack's own key; needs "
        "`auth: api-key`.",
    )
    throttle: Throttle = Throttle()
    quota: Quota | None = Field(None, description="Limit on requests with the stack's own key; null = no limit.")
    timeout_in_seconds: int = Field(
        DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
        ge=DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
        le=300,
        description="How long API Gateway waits for a function; more than 29 s needs a raised quota. POST /generate "
        "and `?wait=` may take four seconds less than this, a real-time endpoint at most 60 s.",
    )
    max_body_in_kb: int = Field(
        128,
        ge=1,
        le=2900,
        description="Largest request body (1 kB = 1,024 bytes); Lambda takes 6 MB at most, after escaping.",
    )
    fetch_urls: list[HostToFetch] = Field(
        [],
        max_length=20,
        description="Hosts from which a vision-language model's container may load images that callers name by an "
        "`https://` URL; needs vLLM 0.11 or newer, which then follows no redirects. Empty = images come as "
        "`data:` URLs.",
    )
    access_logs: bool = Field(
        True,
        description="Write one log line per request, without prompts; needs the stack `slipway-account-settings` once "
        "in each account and region.",
    )
    tracing: bool = Field(False, description="Trace the API and its functions with AWS X-Ray.")
    memory_in_mb: int = Field(512, ge=256, le=10240, description="Memory of each function; CPU grows with it.")
    architecture: Literal["arm64", "x86_64"] = Field("arm64", description="Processor architecture of the functions.")
    cors: Cors | None = Field(
        None,
        description="Let web pages of other origins call the API from a browser, with the same authorization as every "
        "caller; null = no page may.",
    )
    playground: bool = Field(
        False,
        description="Serve a page to try the model at the API's own URL; anybody may load it, but its calls need the "
        "key.",
    )

    @property
    def function_timeout_in_seconds(self) -> int:
        """Timeout of functions that wait; shorter than the gateway's, so that callers get the function's own error."""
        return self.timeout_in_seconds - 1

    @property
    def longest_wait_in_seconds(self) -> int:
        """Longest wait for the model or for the end of a job; it leaves the function 3 s to connect and to answer."""
        return self.timeout_in_seconds - 4


class JobLimits(Section):
    """Limits of each caller; a job above a limit gets 429."""

    open_jobs: int = Field(
        1000, ge=1, le=1_000_000, description="Largest number of jobs of one caller that have not ended."
    )
    answer_tokens_per_day: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000_000,
        description="Largest number of answer tokens that the jobs of one caller may ask for per UTC day; every job "
        "must then state how many it asks for. null = no limit.",
    )


class Jobs(Section):
    """The asynchronous job API: POST /jobs, and the result when it is ready."""

    enabled: bool = Field(
        True, description="Offer the job API. Refused with `api.auth: none`, which can't tell callers apart."
    )
    retention_in_hours: int = Field(168, ge=1, le=8760, description="How long an ended job can be read.")
    deadline_in_seconds: int = Field(
        3600, ge=420, le=604_800, description="Time from a job's acceptance to its end, including waiting and retries."
    )
    invocation_timeout_in_seconds: int = Field(
        900,
        ge=1,
        le=3600,
        description="`hosting.mode: async` and `ec2` only: time for one attempt of a job; a real-time endpoint has 60 "
        "s.",
    )
    max_concurrency: int | None = Field(
        None,
        ge=2,
        le=1000,
        description="`hosting.mode: realtime` only: number of jobs sent to the endpoint at once, each by a running "
        "function; null = `instance_count.max` (on a shared endpoint, `copies.max`) x "
        "`scaling.concurrent_requests_per_instance`, but at most 4, because a "
        "new account may run 10 functions at once.",
    )
    max_waiting: int = Field(
        4,
        ge=0,
        le=200,
        description="Number of callers that may wait for the end of a job at once, each in a running function; one "
        "caller gets at most half of the places, and callers without a place must ask again. The default is low, "
        "because a new account may run 10 functions at once: raise it together with that quota.",
    )
    limits: JobLimits = JobLimits()
    on_destroy: Literal["retain", "delete"] = Field(
        "retain", description="What happens to the job table when the stack is deleted; the bucket is always kept."
    )
    deletion_protection: bool = Field(
        False, description="Protects the job table from deletion, also by the rollback of a failed first deploy."
    )

    @property
    def retention_in_seconds(self) -> int:
        """How long an ended job can be read, in seconds."""
        return self.retention_in_hours * 3600

    @property
    def files_kept_in_days(self) -> int:
        """Days that each version of a file is kept, so that no version expires before the job's row that names it."""
        return math.ceil((self.retention_in_seconds + self.deadline_in_seconds) / 86_400) + 1


class Alarms(Section):
    """Alarms on endpoint and jobs; failures and latency roll a bad update back, callers' mistakes do not."""

    topic_arn: TopicArn | None = Field(None, description="SNS topic to notify; null = none.")
    error_rate: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="Share of invocations, and of requests to the API, that are answered with 5XX; during an update "
        "also the share of the API's calls that the new instances failed.",
    )
    failure_rate: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Share of invocations without a 2XX answer (asynchronous: with a 4XX answer); LMI reports its own "
        "failures as 424.",
    )
    latency_in_seconds: float = Field(
        25,
        gt=0,
        lt=60,
        description="`hosting.mode: realtime` only: 99th percentile of the model's latency; the API stops waiting at "
        "25 s. With jobs, which may take 60 s, this alarm rolls no update back.",
    )
    idle_in_hours: int | None = Field(
        24,
        ge=1,
        le=168,
        description="Hours without a request while instances run and cost money; null = no alarm.",
    )
    failed_job_rate: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="Share of ended jobs that failed or expired; jobs whose body the model refused do not count.",
    )
    job_wait_in_seconds: int | None = Field(
        None, ge=60, le=604_800, description="Age of the oldest waiting job; null = half of `jobs.deadline_in_seconds`."
    )


class Logs(Section):
    """The log groups of endpoint, functions and API."""

    retention_in_days: LogRetentionInDays = Field(30, description="Days after which log lines are deleted.")


class Preflight(Section):
    """Settings of the checks before a deploy."""

    silenced: dict[
        Annotated[str, Field(pattern=r"^[a-z0-9-]+$")], Annotated[str, Field(min_length=10, max_length=500)]
    ] = Field(default_factory=dict, description="Warnings that are not printed: the id of each rule, and the reason.")


class Deployment(Section):
    """One hosted model and its API: one file `deployments/<name>.yaml`, one stack of that name."""

    region: Region | None = Field(None, description="AWS region; null = a template that works in every region.")
    model: Model
    serving: Serving = Serving()
    hosting: Hosting
    security: Security = Security()
    api: Api = Api()
    jobs: Jobs = Jobs()
    alarms: Alarms = Alarms()
    logs: Logs = Logs()
    preflight: Preflight = Preflight()

    _lock: ModelLock | None = PrivateAttr(None)
    _shared: Shared | None = PrivateAttr(None)
    _neighbours: Mapping[str, "Deployment"] = PrivateAttr(default_factory=dict)

    @property
    def lock(self) -> ModelLock | None:
        """The model's own facts, from the lock file; None = there is no lock file."""
        return self._lock

    def with_lock(self, lock: ModelLock) -> Self:
        """Return the same deployment with the facts of a lock file."""
        locked = self.model_copy()
        locked._lock = lock
        return locked

    @property
    def shared(self) -> Shared | None:
        """The shared endpoint of `hosting.endpoint`; None = an endpoint of its own."""
        return self._shared

    @property
    def neighbours(self) -> Mapping[str, "Deployment"]:
        """The other deployments on the shared endpoint, by the names of their stacks."""
        return self._neighbours

    def on(self, shared: Shared | None, neighbours: Mapping[str, "Deployment"] | None = None) -> Self:
        """Return the same deployment on a shared endpoint, beside others."""
        placed = self.model_copy()
        placed._shared, placed._neighbours = shared, neighbours or {}
        return placed

    @property
    def instance_count(self) -> CountRange:
        """The number of instances that the model runs on, those of a shared endpoint too."""
        return self._shared.endpoint.instance_count if self._shared else self.hosting.instance_count

    @property
    def least_instances(self) -> int:
        """The number of instances that always run: none of an endpoint whose only model sleeps."""
        return 0 if self.hosting.sleeps and not self._shared else self.instance_count.min

    @property
    def is_scaled(self) -> bool:
        """Whether Application Auto Scaling decides on a count: of instances, or of copies of a component."""
        hosting = self.hosting
        count = hosting.copies if hosting.endpoint else hosting.instance_count
        return hosting.sleeps or count.is_scaled

    @property
    def has_adapter_components(self) -> bool:
        """Whether SageMaker loads the adapters into the running container, each as a component beside the model's."""
        return bool(self.model.adapters) and self.serving.engine == "lmi-vllm"

    @property
    def revision(self) -> str | None:
        """The model's revision on the Hub: the lock's commit, otherwise `model.revision`; None = the newest."""
        return (self.lock.commit if self.lock else None) or self.model.revision

    @property
    def uses_components(self) -> bool:
        """Whether the model is an inference component of its endpoint."""
        return bool(self.why_components)

    @property
    def why_components(self) -> str:
        """The settings for which the model must be an inference component, in words; empty = it is none."""
        asked = {
            "hosting.idle": self.hosting.sleeps,
            "model.adapters": self.has_adapter_components,
            "hosting.endpoint": self.hosting.endpoint is not None,
        }
        return " and ".join(name for name, is_asked in asked.items() if is_asked)

    @property
    def invocation_timeout_in_seconds(self) -> int:
        """Time that the model has for one attempt of a job."""
        if self.hosting.answers_at_once:
            return REALTIME_TIMEOUT_IN_SECONDS
        return self.jobs.invocation_timeout_in_seconds

    @property
    def answer_limit_in_seconds(self) -> int:
        """Time that POST /generate gives a real-time endpoint."""
        return min(self.api.longest_wait_in_seconds, REALTIME_TIMEOUT_IN_SECONDS)

    @property
    def most_workers(self) -> int:
        """Number of functions that run jobs, or record their results, at once; an event source needs at least 2."""
        if self.hosting.queues_in_sagemaker:
            return _MOST_WORKERS_BY_DEFAULT
        return self.jobs.max_concurrency or max(2, min(self.model_places, _MOST_WORKERS_BY_DEFAULT))

    @property
    def model_places(self) -> int:
        """Number of requests that the model takes at once, on all instances together."""
        count = self.hosting.copies if self.hosting.endpoint else self.hosting.instance_count
        return count.max * self.hosting.scaling.concurrent_requests_per_instance
