"""The deployment as typed, frozen models: every setting, its unit, its range, and the only place of defaults."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

from ..catalog.engines import EngineName
from .lock import ModelLock

REALTIME_TIMEOUT_IN_SECONDS = 60  # SageMaker's own limit on a call of a real-time endpoint
# A new account may run 10 functions at once (`doctor` looks): most of them have to be left to callers.
_MOST_WORKERS_BY_DEFAULT = 4
DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS = 29  # the most that API Gateway waits for a function, without a raised quota
# Some of the values that CloudWatch Logs takes.
LogRetentionInDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 180, 365, 731, 1827, 3653]
FREE_TEXTS = ("environment", "owner", "silenced")  # settings whose values, or those below, are any text
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=1024)]
EnvironmentValue = Annotated[str, Field(max_length=1024)]
InstanceType = Annotated[str, Field(min_length=1, max_length=64)]
KeyName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$", max_length=32)]
KmsKeyArn = Annotated[str, Field(pattern=r"^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9_-]+$")]


def _date(value: object) -> object:
    """YAML reads a date as one only without quotes."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value  # which pydantic refuses


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
        description="Prefix with uncompressed weights, `s3://bucket/prefix/`; null = downloaded from the Hub.",
    )
    weights_kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="Key that encrypts the objects under `weights`; null = none, or a key that AWS manages.",
    )
    parameters_in_billions: float | None = Field(
        None,
        gt=0,
        le=10_000,
        description="Size of a model that neither a lock file nor the catalog knows, for the memory check; "
        "null = theirs.",
    )
    dtype: Literal["fp32", "fp16", "bf16", "int8"] | None = Field(
        None, description="Type that the engine computes in; null = what the engine and the model say."
    )
    quantization: (
        Literal["awq", "gptq", "fp8", "int8", "bitsandbytes4", "bitsandbytes8", "mxfp4", "nvfp4", "gguf"] | None
    ) = Field(None, description="How the weights are, or shall be, quantized; null = what the model's own files say.")
    hub_token_secret_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+$",
        description="Secret with a Hugging Face token, for gated models: used by `stage`; without `weights` it is "
        "handed to the container, whose environment whoever may describe the model can read.",
    )
    files: list[Annotated[str, Field(max_length=200)]] | None = Field(
        None, min_length=1, description="Patterns of the files that `stage` copies; null = what engines load."
    )


class Serving(Section):
    """The container that serves the model, and how it is told to."""

    engine: EngineName = Field(
        "lmi-vllm",
        description="Engine of the container image; `custom` needs `image_uri`. `transformers`: no image, the one "
        "engine of `hosting.mode: ec2`.",
    )
    version: str | None = Field(
        None,
        description="Version of the engine's image, or how it begins (`2.0`: the newest of these in the catalog); "
        "null = the catalog's default.",
    )
    image_uri: str | None = Field(
        None,
        pattern=r"^([0-9]{12}|\$\{AWS::AccountId\})\.dkr\.ecr\.([a-z0-9-]+|\$\{AWS::Region\})\."
        r"([a-z.]+|\$\{AWS::URLSuffix\})/[a-z0-9._/-]+(:[A-Za-z0-9_.-]{1,128}|@sha256:[0-9a-f]{64})?$",
        max_length=255,
        description="Amazon ECR image that wins over the catalog's image of engine and version; may hold "
        "`${AWS::AccountId}`, `${AWS::Region}` and `${AWS::URLSuffix}`.",
    )
    tensor_parallel_degree: int | None = Field(
        None,
        ge=1,
        le=64,
        description="Accelerators (on Neuron: NeuronCores) that share one copy of the model; null = all of the "
        "instance, or the most of them that the model's heads divide into.",
    )
    max_model_len: int | None = Field(
        None,
        ge=2,
        le=100_000_000,
        description="Tokens of prompt and answer together; null = what the model or the engine allows.",
    )
    max_batch_size: int | None = Field(
        None, ge=1, le=4096, description="Requests that the engine runs together; null = the engine's default."
    )
    max_batch_delay_in_ms: int | None = Field(
        None, ge=1, le=60_000, description="How long dynamic batching waits for a batch to fill; null = not at all."
    )
    max_new_tokens: int | None = Field(
        None,
        ge=1,
        le=100_000_000,
        description="Longest answer that callers ask for, for the estimate of its time; null = not estimated.",
    )
    handler: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_]{0,49}$",
        description="Folder under `model_src/` with your own `model.py`, for the engines `lmi-...`; null = no code.",
    )
    environment: dict[EnvironmentName, EnvironmentValue] = Field(
        default_factory=dict,
        max_length=100,
        description="Environment variables of the container, passed through; they win over derived ones.",
    )


class InstanceCount(Section):
    """How many instances serve the model; equal numbers fix the count, different ones switch autoscaling on."""

    min: int = Field(
        1,
        ge=0,
        le=1000,
        description="Instances that always run; 0 with `mode: async` only, where a job wakes the endpoint.",
    )
    max: int = Field(1, ge=1, le=1000, description="Instances that may run.")

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
        description="`realtime`: requests in flight on one copy of the model that scaling aims at. `async`: requests "
        "that SageMaker gives one instance at once, at most 1,000.",
    )
    backlog_per_instance: int = Field(
        16, ge=1, le=100_000, description="`async`: jobs, waiting and running, per instance that scaling aims at."
    )
    scale_out_cooldown_in_seconds: int = Field(60, ge=0, le=3600, description="Pause after instances were added.")
    scale_in_cooldown_in_seconds: int = Field(300, ge=0, le=3600, description="Pause after instances were removed.")


class Hosting(Section):
    """Where the container runs."""

    mode: Literal["realtime", "async", "ec2"] = Field(
        "realtime",
        description="`realtime`: an endpoint that answers at once, within 60 s. `async`: one that takes jobs only, may "
        "take an hour for each, and can scale to zero; POST /generate waits for its job. `ec2`: as `async`, but on "
        "machines of EC2, without SageMaker, which stop when idle and start for a job.",
    )
    instance_type: InstanceType | Annotated[list[InstanceType], Field(min_length=1, max_length=5)] = Field(
        description="SageMaker instance type of the catalog, for example `ml.g6.2xlarge`; or up to five, best first, "
        "of which SageMaker takes the first that it has (instance pools). `mode: ec2`: EC2's own name, `c7i.xlarge`."
    )
    instance_count: InstanceCount = InstanceCount()
    scaling: Scaling = Scaling()
    volume_size_in_gb: int | None = Field(
        None,
        ge=1,
        le=512,
        description="EBS volume; null = SageMaker's default. Refused on types with an NVMe disk. `mode: ec2`: each "
        "machine's disk; null = room for system, packages and weights.",
    )
    volume_kms_key_arn: KmsKeyArn | None = Field(
        None,
        description="Key that encrypts the volume; null = a key that AWS manages. Refused on types with their own NVMe "
        "disk, which their hardware encrypts.",
    )
    download_timeout_in_seconds: int = Field(
        900, ge=60, le=3600, description="ModelDataDownloadTimeoutInSeconds: time to fetch `model.weights`."
    )
    startup_timeout_in_seconds: int = Field(
        900,
        ge=60,
        le=3600,
        description="ContainerStartupHealthCheckTimeoutInSeconds: time until the model answers. `mode: ec2`: time for "
        "a machine's set-up at the deploy, and for each of its later starts.",
    )
    idle_minutes: int = Field(
        30, ge=1, le=1440, description="`mode: ec2` only: minutes without work after which a machine stops itself."
    )
    renewal: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="`mode: ec2` only: another number replaces the machines at the next deploy, by new ones with that "
        "day's Amazon Linux.",
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
        description="Host image, which sets the driver; null = derived from container image and instance. Those named "
        "`al2-...` are Amazon Linux 2, unsupported since 2026-06-30; SageMaker has no other for CUDA 12 and Neuron.",
    )
    provision_timeout_in_seconds: int | None = Field(
        None,
        ge=300,
        le=3600,
        description="VariantInstanceProvisionTimeoutInSeconds: time to find instances, all types of the list together; "
        "null = SageMaker's default.",
    )
    routing: Literal["least-outstanding-requests", "random", "prefix-aware"] = Field(
        "least-outstanding-requests",
        description="Which instance gets a request. `prefix-aware`: one that has seen the beginning of its body, for "
        "the engine's prefix cache; it holds up to `scaling.concurrent_requests_per_instance` requests, others go on.",
    )
    routing_prefix_in_bytes: int = Field(
        4096,
        ge=1024,
        le=65_536,
        description="`routing: prefix-aware` only: bytes of the body that are compared; the shared part and a little "
        "more.",
    )
    detailed_observability: bool = Field(
        True,
        description="EnableDetailedObservability: metrics of engine and accelerators, which CloudWatch bills; their "
        "page is in the outputs.",
    )
    update_wait_in_seconds: int = Field(
        300,
        ge=0,
        le=3600,
        description="How long an update watches the alarms, old and new instances running, before the old ones end.",
    )
    network_isolation: bool = Field(False, description="Container without network access; needs `model.weights`.")

    # What the mode means: no other module of the library compares it with a name.

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
        """All that may be taken, best first."""
        return (self.instance_type,) if isinstance(self.instance_type, str) else tuple(self.instance_type)


class Vpc(Section):
    """A network of the user's, whose subnets lead to the internet by NAT or a transit gateway."""

    vpc_id: str = Field(pattern=r"^vpc-[0-9a-f]{8,17}$", description="The VPC.")
    subnet_ids: list[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]] = Field(
        min_length=1, max_length=16, description="Its subnets, which the machines take in turn."
    )


class Security(Section):
    """Who reaches the machines, and where they stand."""

    vpc: Vpc | None = Field(
        None,
        description="`hosting.mode: ec2` only: where the machines stand, without a public address; null = a VPC of "
        "their own, with no way in and TCP 443 out.",
    )


class Throttle(Section):
    """Limits of each route, and with `api-key` of each key; requests beyond them get 429."""

    rate: float = Field(20, gt=0, le=10000, description="Requests per second.")
    burst: int = Field(40, ge=1, le=5000, description="Requests at once.")


class Quota(Section):
    """Limit of the stack's own key; needs `auth: api-key`."""

    limit: int = Field(ge=1, le=2_147_483_647, description="Requests per period.")
    period: Literal["DAY", "WEEK", "MONTH"] = Field("DAY", description="Period after which the count starts again.")


class NamedKey(Section):
    """Who a key is for and what it may use; its value is made by `python -m slipway keys create`, never by a deploy."""

    owner: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="Person or team that answers for the key, shown beside its use; null = nobody is named."
    )
    rate: float | None = Field(
        None, gt=0, le=10000, description="Requests per second, of all routes together; null = `api.throttle.rate`."
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
        None, min_length=1, max_length=20, description="Models that the key may ask for, by their ids; null = all."
    )
    expires: Annotated[date, BeforeValidator(_date)] | None = Field(
        None, description="Last day (UTC) on which the key is taken, as `2027-12-31`; null = it does not expire."
    )

    @property
    def expires_at(self) -> int | None:
        """End of the last day, in seconds of the epoch."""
        if self.expires is None:
            return None
        return round((datetime.combine(self.expires, time(), UTC) + timedelta(days=1)).timestamp())


def limits_of_keys(keys: Mapping[str, NamedKey]) -> str:
    """The authorizer's variable: by name, the limits that a key has, as JSON; `expires` in seconds of the epoch."""
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
        description="`iam`: signed requests (SigV4). `api-key`: a shared secret, in `x-api-key` or as "
        "`Authorization: Bearer`. `none`: open to all.",
    )
    openai: bool | None = Field(
        None,
        description="Routes for clients of OpenAI: POST /chat/completions and /completions, GET /models; with jobs "
        "also /files and /batches. null = where the engine takes `messages`; true = also where it takes `inputs` only, "
        "which serves /completions and no chat.",
    )
    other_models: Literal["accept", "refuse"] | None = Field(
        None,
        description="Names in `model`, on OpenAI's routes, that are not the deployment's. `accept`: they stand for its "
        "one model, by whose id every answer goes. `refuse`: 404 `model_not_found`. null = as the engine does: vLLM "
        "refuses them, the others take any. A key with `models` takes only those.",
    )
    keys: dict[KeyName, NamedKey] = Field(
        default_factory=dict,
        description="Keys by their names, each with an owner and limits of its own, beside the stack's one; needs "
        "`auth: api-key`.",
    )
    throttle: Throttle = Throttle()
    quota: Quota | None = Field(None, description="Limit of the stack's own key; null = none.")
    timeout_in_seconds: int = Field(
        DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
        ge=DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
        le=300,
        description="How long API Gateway waits for a function; more than 29 s needs a raised quota. Four seconds less "
        "is the time for POST /generate, of which a real-time endpoint takes up to 60 s, and the most for `?wait=`.",
    )
    max_body_in_kb: int = Field(
        128, ge=1, le=2900, description="Largest request body (1 kB = 1,024 bytes); Lambda takes 6 MB, escaped."
    )
    access_logs: bool = Field(
        True, description="One log line per request, without prompts; needs the stack `slipway-account-settings` once."
    )
    tracing: bool = Field(False, description="AWS X-Ray for the API and its functions.")
    memory_in_mb: int = Field(512, ge=256, le=10240, description="Memory of each function; CPU grows with it.")
    architecture: Literal["arm64", "x86_64"] = Field("arm64", description="Processor of the functions.")
    playground: bool = Field(
        False, description="A page to try the model at the API's own URL; anybody may load it, its calls need the key."
    )

    @property
    def function_timeout_in_seconds(self) -> int:
        """The timeout of functions that wait: shorter than the gateway's, so that their own answer wins."""
        return self.timeout_in_seconds - 1

    @property
    def longest_wait_in_seconds(self) -> int:
        """For the model, or for the end of a job: it leaves the function 3 s to connect and to answer."""
        return self.timeout_in_seconds - 4


class JobLimits(Section):
    """Hard limits of each caller; a job beyond them gets 429."""

    open_jobs: int = Field(1000, ge=1, le=1_000_000, description="Jobs of one caller that have not ended.")
    answer_tokens_per_day: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000_000,
        description="Tokens that the jobs of one caller may ask for per UTC day, and each must then say how many it "
        "asks for; null = no limit.",
    )


class Jobs(Section):
    """Requests that are answered when ready: POST /jobs and its result."""

    enabled: bool = Field(True, description="Refused with `api.auth: none`, which cannot tell whose a job is.")
    retention_in_hours: int = Field(168, ge=1, le=8760, description="How long an ended job can be read.")
    deadline_in_seconds: int = Field(
        3600, ge=420, le=604_800, description="Time from acceptance to the end of a job, waiting and retries included."
    )
    invocation_timeout_in_seconds: int = Field(
        900,
        ge=1,
        le=3600,
        description="`hosting.mode: async` and `ec2` only: time for one attempt; a real-time endpoint has 60 s.",
    )
    max_concurrency: int | None = Field(
        None,
        ge=2,
        le=1000,
        description="`hosting.mode: realtime` only: jobs sent to the endpoint at once, each by a running function; "
        "null = `instance_count.max` x `scaling.concurrent_requests_per_instance`, but at most 4, as a new account may "
        "run 10 functions at once.",
    )
    max_waiting: int = Field(
        4,
        ge=0,
        le=200,
        description="Callers who are held at once until their job ends, each by a running function and each caller in "
        "at most half of the places; others ask again. Few, as a new account may run 10 functions at once: raise it "
        "with that quota.",
    )
    limits: JobLimits = JobLimits()
    on_destroy: Literal["retain", "delete"] = Field(
        "retain", description="What happens to the table of jobs with the stack; the bucket stays in any case."
    )
    deletion_protection: bool = Field(
        False, description="Nobody can delete the table of jobs, a failed first deploy included."
    )

    @property
    def retention_in_seconds(self) -> int:
        """How long an ended job can be read."""
        return self.retention_in_hours * 3600

    @property
    def files_kept_in_days(self) -> int:
        """No file may expire before its row, which promises the version that it pins, current or not."""
        return math.ceil((self.retention_in_seconds + self.deadline_in_seconds) / 86_400) + 1


class Alarms(Section):
    """When endpoint or jobs are unwell; failures and latency roll a bad update back, callers' mistakes do not."""

    topic_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$",
        description="SNS topic to notify; null = none.",
    )
    error_rate: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="Share of invocations, and of requests to the API, answered with 5XX; during an update, share of "
        "the API's calls that the new instances failed.",
    )
    failure_rate: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Share of invocations not answered with 2XX (asynchronous: answered with 4XX); LMI reports its own "
        "failures as 424.",
    )
    latency_in_seconds: float = Field(
        25,
        gt=0,
        lt=60,
        description="`hosting.mode: realtime` only: 99th percentile of the model's latency; the API stops waiting at "
        "25 s. Rolls no update back where there are jobs, which may take 60 s.",
    )
    idle_in_hours: int | None = Field(
        24,
        ge=1,
        le=168,
        description="Hours without a request while instances run, and cost; null = no alarm.",
    )
    failed_job_rate: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="Share of ended jobs that failed or expired, without those whose body the model refused.",
    )
    job_wait_in_seconds: int | None = Field(
        None, ge=60, le=604_800, description="Age of the oldest waiting job; null = half of `jobs.deadline_in_seconds`."
    )


class Logs(Section):
    """The log groups of endpoint, functions and API."""

    retention_in_days: LogRetentionInDays = Field(30, description="Days after which log lines are deleted.")


class Preflight(Section):
    """Warnings of the checks before a deploy that are not to be printed."""

    silenced: dict[
        Annotated[str, Field(pattern=r"^[a-z0-9-]+$")], Annotated[str, Field(min_length=10, max_length=500)]
    ] = Field(default_factory=dict, description="Warnings not to print: rule id and the reason.")


class Deployment(Section):
    """One hosted model and its API: one file `deployments/<name>.yaml`, one stack of that name."""

    region: str | None = Field(
        None, pattern=r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$", description="AWS region; null = a template for every region."
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
        """What the model says of itself; None = there is no lock file."""
        return self._lock

    def with_lock(self, lock: ModelLock) -> Self:
        """The same deployment, whose model's facts are those of the lock."""
        locked = self.model_copy()
        locked._lock = lock
        return locked

    @property
    def revision(self) -> str | None:
        """The model's revision on the Hub: the lock's commit, else `model.revision`; None = the newest."""
        return (self.lock.commit if self.lock else None) or self.model.revision

    @property
    def invocation_timeout_in_seconds(self) -> int:
        """Time that the model has for one job."""
        if self.hosting.answers_at_once:
            return REALTIME_TIMEOUT_IN_SECONDS
        return self.jobs.invocation_timeout_in_seconds

    @property
    def answer_limit_in_seconds(self) -> int:
        """Time that POST /generate gives a real-time endpoint."""
        return min(self.api.longest_wait_in_seconds, REALTIME_TIMEOUT_IN_SECONDS)

    @property
    def most_workers(self) -> int:
        """Functions that run jobs, or record their results, at once; an event source takes 2 or more."""
        if self.hosting.queues_in_sagemaker:
            return _MOST_WORKERS_BY_DEFAULT
        return self.jobs.max_concurrency or max(2, min(self.model_places, _MOST_WORKERS_BY_DEFAULT))

    @property
    def model_places(self) -> int:
        """Requests that the model takes at once on all instances."""
        return self.hosting.instance_count.max * self.hosting.scaling.concurrent_requests_per_instance
