"""Typed, frozen models of the deployment file: every setting, its unit, its range, and the only place of defaults."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

from ..catalog.engines import EngineName
from .lock import ModelLock

REALTIME_TIMEOUT_IN_SECONDS = 60  # SageMaker's own limit on a call of a real-time endpoint
# A new account may run 10 functions at once (`doctor` checks it); most of them must stay free for callers.
_MOST_WORKERS_BY_DEFAULT = 4
DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS = 29  # API Gateway's longest wait without a raised quota
# A selection of the values that CloudWatch Logs takes.
LogRetentionInDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 180, 365, 731, 1827, 3653]
FREE_TEXTS = ("environment", "owner", "silenced")  # settings that hold any text, themselves or in the keys below
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=1024)]
EnvironmentValue = Annotated[str, Field(max_length=1024)]
InstanceTypeName = Annotated[str, Field(min_length=1, max_length=64)]
KeyName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$", max_length=32)]
KmsKeyArn = Annotated[str, Field(pattern=r"^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9_-]+$")]


def _date(value: object) -> object:
    """Turn a quoted date into a date; YAML itself does so only without quotes."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value  # pydantic refuses it


class Section(BaseModel):
    """Base of all sections: frozen, strict types, no unknown keys."""

    # The patterns below spell out [A-Za-z0-9_]: \w takes letters that AWS refuses, and 0.1 s of each synth to compile.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


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
        description="KMS key that encrypts the objects under `weights`; null = none, or a key that AWS manages.",
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
    hub_token_secret_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+$",
        description="Secret with a Hugging Face token, for gated models; `stage` uses it. Without `weights` the "
        "container gets the token in its environment, which everybody who may describe the model can read.",
    )
    files: list[Annotated[str, Field(max_length=200)]] | None = Field(
        None, min_length=1, description="Patterns of the files that `stage` copies; null = the files that engines load."
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


class InstanceCount(Section):
    """Number of instances that serve the model; equal numbers fix it, different ones switch autoscaling on."""

    min: int = Field(
        1,
        ge=0,
        le=1000,
        description="Number of instances that always run; 0 needs `mode: async`, where a job wakes the endpoint.",
    )
    max: int = Field(1, ge=1, le=1000, description="Largest number of instances that may run.")

    @property
    def is_scaled(self) -> bool:
        """Whether Application Auto Scaling decides on the count."""
        return self.min < self.max


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
    inference_ami_version: (
        Literal[
            "al2-ami-sagemaker-inference-gpu-2",
            "al2-ami-sagemaker-inference-gpu-2-1",
            "al2-ami-sagemaker-inference-gpu-3-1",
            "al2023-ami-sagemaker-inference-gpu-4-1",
            "al2-ami-sagemaker-inference-neuron-2",
        ]
        | None
    ) = Field(
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
        "ones.",
    )
    network_isolation: bool = Field(
        False, description="Run the container without network access; needs `model.weights`."
    )

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
    def instance_types(self) -> tuple[str, ...]:
        """All instance types that may be used, best first."""
        return (self.instance_type,) if isinstance(self.instance_type, str) else tuple(self.instance_type)


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
        description="Routes for OpenAI clients: POST /chat/completions and /completions, GET /models; with jobs also "
        "/files and /batches. null = on if the engine takes `messages`. true = also on if the engine takes only "
        "`inputs`, with /completions but without chat.",
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
    access_logs: bool = Field(
        True,
        description="Write one log line per request, without prompts; needs the stack `slipway-account-settings` once "
        "in each account and region.",
    )
    tracing: bool = Field(False, description="Trace the API and its functions with AWS X-Ray.")
    memory_in_mb: int = Field(512, ge=256, le=10240, description="Memory of each function; CPU grows with it.")
    architecture: Literal["arm64", "x86_64"] = Field("arm64", description="Processor architecture of the functions.")
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
        "function; null = `instance_count.max` x `scaling.concurrent_requests_per_instance`, but at most 4, because a "
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

    topic_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$",
        description="SNS topic to notify; null = none.",
    )
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

    region: str | None = Field(
        None,
        pattern=r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$",
        description="AWS region; null = a template that works in every region.",
    )
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
    def revision(self) -> str | None:
        """The model's revision on the Hub: the lock's commit, otherwise `model.revision`; None = the newest."""
        return (self.lock.commit if self.lock else None) or self.model.revision

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
        return self.hosting.instance_count.max * self.hosting.scaling.concurrent_requests_per_instance
