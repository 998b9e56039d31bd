"""The report of a check: findings, figures, quotas, and questions that only the account answers."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal

from ..catalog.engines import engine
from ..catalog.instances import FILE as INSTANCES_FILE
from ..catalog.instances import machine_prices
from ..catalog.layers import own_file
from ..catalog.models import MODELS_FILE
from ..deployment.finding import LEVELS, Finding
from ..deployment.model import Deployment
from ..deployment.overlay import SetOverBase
from ..resolution import Placement, Resolution
from ..resolution.adapter_memory import adapters_on_host
from ..resolution.encoder_memory import keeps_cache
from ..resolution.estimates import answer_time_in_seconds, boot_in_seconds, start_in_seconds
from ..resolution.idle import TYPICAL_BUSY_HOURS, idle_time, usd_per_month
from ..resolution.memory import GB, weights_in_files
from ..resolution.packing import packing_of
from .rules.api import regions_of_arns
from .rules.driver import least_driver
from .rules.model import model_is_known
from .rules.own_rules import FILE as RULES_FILE
from .rules.own_rules import all_rules, own_rules
from .rules.suitable_type import NO_SECRET_YET, suitable_type

Verdict = Literal["refused", "ready", "not checked", "not asked"]

VCPU_QUOTA = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"  # L-1216C47A of EC2, in vCPUs
COPIES_DURING_UPDATE = 2  # old and new machines run side by side until the old ones end


@dataclass(frozen=True)
class Figures:
    """The figures of one instance type for a deployment, sizes in GB (10^9 bytes); None = public facts do not say.

    devices: accelerators of the instance, on Neuron their cores; 0 on CPU types.
    degree: devices that share one copy of the model.
    copies: copies of the model on one instance.
    memory_in_gb, weights_in_gb, overhead_in_gb, adapters_in_gb, cache_in_kb_per_token: per accelerator.
    adapters_on_host_in_gb: LoRA adapters in the memory of the machine.
    cached_tokens: tokens of all requests together that the KV cache holds.
    requests_at_full_length: requests of `context` tokens each that the KV cache holds.
    start_in_seconds: time to start a container, from the first byte of weights, or a stopped machine.
    asleep_usd_per_month: price of the disk of a stopped machine; None = an endpoint, or not known.
    wake_in_seconds: time from a call to a real-time endpoint that sleeps to its first token; None = it never sleeps, or
    not known.
    usd_per_month: of such an endpoint, by its busy hours a day; empty = it never sleeps, is shared, or the price is not
    known.
    keeps_cache: False for an engine that makes vectors or scores without a KV cache.
    """

    instance_type: str
    accelerators: str
    devices: int
    degree: int
    copies: int
    memory_in_gb: float
    weights_in_gb: float | None
    overhead_in_gb: float
    cache_in_kb_per_token: float | None
    cached_tokens: int | None
    context: int | None
    requests_at_full_length: float | None
    download_in_gb: float | None
    disk_in_gb: int | None
    start_in_seconds: float | None
    start_timeout_in_seconds: int
    answer_in_seconds: float | None
    host_image: str | None
    usd_per_hour: float | None
    asleep_usd_per_month: float | None = None
    adapters_in_gb: float = 0
    adapters_on_host_in_gb: float = 0
    wake_in_seconds: float | None = None
    usd_per_month: dict[str, float] = field(default_factory=dict)
    keeps_cache: bool = True


@dataclass(frozen=True)
class NeededQuota:
    """The service quota that a deployment needs for an update, with new instances beside those that run.

    instances: SageMaker's instances, or EC2's vCPUs, which its quota counts.
    """

    name: str
    instances: int


@dataclass(frozen=True)
class Report:
    """The report of a check.

    verdict: `refused` = it can't work; `not asked` = AWS did not answer every question; `not checked` = the model or
    the size of its weights is not known; `ready` = no rule objects.
    passed: ids of the rules without a finding.
    not_checked: questions that only the account answers.
    facts: the sources of the model's facts.
    account: id, region and caller, once AWS is asked.
    suitable_type: the cheapest type that no rule refuses, with its price; empty = there is none, or none is needed.
    extends: the base of an overlay.
    sets: the settings of the overlay, except those with an error, whose values may be secrets.
    yours: the rows and rules of the user's project that the check used, each with its file.
    host_image: the host image, where it comes from, and a fix if none is known; empty = no GPUs.
    only_in: the region that an ARN pins a deployment of any region to, and the field of the ARN.
    legacy: since when the engine is legacy, why, and its successor; empty = it is not.
    endpoint: the shared endpoint and all that runs on it; empty = an endpoint of its own.
    """

    name: str
    verdict: Verdict
    findings: list[Finding]
    model: str = ""
    engine: str = ""
    version: str = ""
    image: str = ""
    mode: str = ""
    region: str | None = None
    silenced: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    figures: list[Figures] = field(default_factory=list)
    quotas: list[NeededQuota] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    facts: str = ""
    account: str = ""
    suitable_type: str = ""
    extends: str = ""
    sets: list[SetOverBase] = field(default_factory=list)
    yours: list[str] = field(default_factory=list)
    host_image: str = ""
    only_in: str = ""
    legacy: str = ""
    endpoint: str = ""


NOT_CHECKED = (
    "bootstrap-version: whether `cdk bootstrap` has prepared account and region",
    "service-quota: whether the account may run that many instances of the type",
    "shared-endpoint: whether the endpoint of hosting.endpoint is deployed in the region",
    "image-in-registry: whether the tag can be pulled in the region",
    "weights-in-bucket: region, objects and completeness of the prefix",
    "adapters-in-bucket: region, files and archive of each adapter",
    "cloudwatch-role: whether API Gateway may write its access logs",
    "scaling-role: whether Application Auto Scaling has its role in the account",
    "instance-type-offered: whether EC2 has the type in the region and its zones",
    "machine-network: whether the subnets exist and lead to the internet",
    "service-network: whether your own VPC has zones, DNS and a way to each AWS service that is called through it",
    "vpc-quota: whether the account may have another VPC",
    "volume-key: whether the account encrypts volumes with a key of its own",
    "own-keys: whether the keys that the deployment names exist, are enabled and encrypt symmetrically",
    "function-concurrency: whether Lambda may run enough functions at once",
    "gateway-timeout: whether API Gateway may wait for a function that long",
    "usage-plans: whether the account may have another usage plan for each key",
    "vpc-endpoints: whether the endpoints of a private API exist and lead to execute-api",
    "certificate: whether the certificate of the domain is issued and covers it",
    "hosted-zone: whether the zone of the domain exists in the account",
    "web-acl: whether the web ACL exists in the region",
    "cost-allocation-tag: whether a budget sees the cost of the deployment's tag",
    "budget-topic: whether the topic of the alarms lets AWS Budgets publish",
)


def unreadable(name: str, findings: list[Finding]) -> Report:
    """Return the report on a file that is not a deployment."""
    return Report(name=name, verdict="refused", findings=findings)


def build_report(name: str, resolution: Resolution, findings: list[Finding]) -> Report:
    """Return the report without an account, from the findings of one validation."""
    deployment, speaking = resolution.deployment, {finding.rule for finding in findings}
    silenced = deployment.preflight.silenced
    return Report(
        name=name,
        model=deployment.model.id,
        engine=deployment.serving.engine,
        version=resolution.version,
        image=resolution.image,
        facts=facts_of(resolution),
        mode=deployment.hosting.mode,
        region=deployment.region,
        verdict=_verdict(resolution, findings),
        findings=sorted(findings, key=lambda finding: LEVELS.index(finding.level)),
        silenced=silenced,
        passed=[rule.id for rule in all_rules() if rule.id not in speaking and rule.id not in silenced],
        figures=[figures_of(placement, resolution.inference_ami_version) for placement in resolution.placements],
        quotas=list(_quotas(resolution)),
        not_checked=list(NOT_CHECKED),
        suitable_type=_suitable_type(resolution, findings),
        yours=list(_yours(resolution)),
        host_image=_host_image(resolution),
        only_in="" if deployment.region else _only_in(deployment),
        legacy=_legacy(deployment.serving.engine),
        endpoint=_shared_endpoint(name, deployment),
    )


def _host_image(resolution: Resolution) -> str:
    """Return the host image and where it comes from."""
    container, name, cuda = resolution.container, resolution.inference_ami_version, resolution.cuda
    default = "SageMaker's default for the type"
    if container.platform != "gpu" or resolution.deployment.hosting.runs_on_machines:
        return ""
    if shared := resolution.deployment.shared:
        return f"{name or default}, that of {shared.file}"
    if resolution.deployment.hosting.inference_ami_version:
        return f"{name}, as hosting.inference_ami_version says"
    if name:
        return f"{name}, derived from CUDA {cuda:g} of the image"
    if cuda is None and container.version is None:
        return f"{default}; set hosting.inference_ami_version if you know the CUDA version of serving.image_uri"
    unknown = [placement.instance for placement in resolution.placements if placement.instance.default_driver is None]
    if least := max((least_driver(instance, cuda) for instance in unknown), default=0):
        return f"{default}; set hosting.inference_ami_version if its driver is older than {least}"
    return default


def _shared_endpoint(name: str, deployment: Deployment) -> str:
    """Return the shared endpoint, its instances and all copies on them."""
    shared = deployment.shared
    packing = shared and packing_of(shared.endpoint, {name: deployment, **deployment.neighbours})
    return f"shared/{shared.name}, {packing.words(shared.endpoint)}" if shared and packing else ""


def _only_in(deployment: Deployment) -> str:
    return next((f"{region}, because of {name}" for name, region in regions_of_arns(deployment).items()), "")


def _legacy(name: str) -> str:
    legacy = engine(name).legacy
    if legacy is None:
        return ""
    return f"{name} since {legacy.since}: {legacy.reason.rstrip('.')}; prefer its successor, {legacy.successor}"


def _yours(resolution: Resolution) -> Iterator[str]:
    container = resolution.container
    version, model, own_lock = container.version, container.model_id, container.lock
    used = [] if own_lock else [(MODELS_FILE.name, model, model)]
    used += [(f"engines/{version.engine}.json", version.label, f"{version.engine} {version.label}")] if version else []
    for type_ in (placement.instance.type for placement in resolution.placements):
        # A type of EC2 is either a row of its own or the endpoint type of that hardware.
        used += [(INSTANCES_FILE, row, type_) for row in dict.fromkeys((type_, f"ml.{type_.removeprefix('ml.')}"))]
    files = {shown: file for name, row, shown in used if (file := own_file(name, row))}
    yield from (f"{shown} ({file})" for shown, file in files.items())
    yield from (f"rule {rule.id} ({RULES_FILE})" for rule in own_rules())


def _verdict(resolution: Resolution, findings: Collection[Finding]) -> Verdict:
    if any(finding.level == "error" for finding in findings):
        return "refused"
    is_silenced = model_is_known.id in resolution.deployment.preflight.silenced  # silencing makes no model known
    unknown = model_is_known.findings(resolution) if is_silenced else findings
    return "not checked" if any(finding.rule == model_is_known.id for finding in unknown) else "ready"


def _suitable_type(resolution: Resolution, findings: Collection[Finding]) -> str:
    refusals = {finding.rule for finding in findings if finding.level == "error"} - {NO_SECRET_YET}
    found = suitable_type(resolution, refusals) if refusals else None
    return found.with_price if found else ""


def facts_of(resolution: Resolution) -> str:
    """Return the sources of the facts about the model."""
    container, model = resolution.container, resolution.deployment.model
    source = container.lock.shape.source if container.lock else "the catalog" if container.shape else "unknown"
    by_hand = {
        "model.parameters_in_billions": model.parameters_in_billions,
        "model.quantization": model.quantization,
    }
    named = ", ".join(name for name, value in by_hand.items() if value)
    return f"{source}; from the deployment file: {named}" if named else source


def _quotas(resolution: Resolution) -> Iterator[NeededQuota]:
    hosting = resolution.deployment.hosting
    most = hosting.instance_count.max
    if hosting.endpoint:
        return  # the instances are those of the endpoint
    if hosting.runs_on_machines:
        vcpus = (placement.instance.vcpu for placement in resolution.placements)
        yield from (NeededQuota(VCPU_QUOTA, most * COPIES_DURING_UPDATE * vcpu) for vcpu in vcpus)
        return
    for name in hosting.instance_types:
        yield NeededQuota(f"{name} for endpoint usage", resolution.instances_during_update(most))


def figures_of(placement: Placement, host_image: str | None) -> Figures:
    """Return the figures of one instance type."""
    need, answer = placement.memory, answer_time_in_seconds(placement)
    instance, hosting = placement.instance, placement.container.deployment.hosting
    sleeps, disk = hosting.runs_on_machines, placement.disk_in_gb
    start = boot_in_seconds(placement) if sleeps else start_in_seconds(placement).likely
    has = f"{instance.accelerator_count} x {instance.accelerator}" if instance.accelerator else f"{instance.vcpu} vCPU"
    return Figures(
        instance_type=instance.type,
        accelerators=has,
        devices=placement.devices,
        degree=placement.degree,
        copies=placement.copies,
        memory_in_gb=_gb(need.available) or 0,
        weights_in_gb=_gb(need.weights),
        overhead_in_gb=_gb(need.overhead) or 0,
        cache_in_kb_per_token=round(need.per_token / 1000, 1) if need.per_token else None,
        cached_tokens=need.cached_tokens,
        context=need.context,
        requests_at_full_length=_rounded(need.requests_at_full_length),
        download_in_gb=_gb(weights_in_files(placement.container)),
        disk_in_gb=disk,
        start_in_seconds=_rounded(start),
        start_timeout_in_seconds=hosting.startup_timeout_in_seconds,
        answer_in_seconds=_rounded(answer.likely) if answer else None,
        host_image=host_image,
        usd_per_hour=instance.usd_per_hour,
        wake_in_seconds=_rounded(idle_time(placement).wake_in_seconds) if hosting.sleeps else None,
        usd_per_month=_usd_per_month(placement) if hosting.sleeps and not hosting.endpoint else {},
        asleep_usd_per_month=round(disk * machine_prices().volume_usd_per_gb_and_month, 2) if sleeps and disk else None,
        keeps_cache=keeps_cache(placement.container),
        adapters_in_gb=round(need.adapters / GB, 2),
        adapters_on_host_in_gb=round(adapters_on_host(placement.container.deployment) / GB, 2),
    )


def _usd_per_month(placement: Placement) -> dict[str, float]:
    by_hours = {f"{hours}": usd_per_month(placement, hours) for hours in TYPICAL_BUSY_HOURS}
    return {hours: round(price, 2) for hours, price in by_hours.items() if price is not None}


def _gb(size: float | None) -> float | None:
    return None if size is None else round(size / GB, 1)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
