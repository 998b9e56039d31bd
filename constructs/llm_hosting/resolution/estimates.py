"""Estimates times from size and hardware: the start of an endpoint, and the longest answer."""

from dataclasses import dataclass

from ..catalog.measurements import measured_answer
from . import Container, Placement
from .formats import BYTES_PER_PARAMETER
from .memory import GB, weights_in_files

# Bytes per second. The fastest that published endpoints reached: Mixtral (94 GB) started within 300 s on
# ml.g5.48xlarge, QwQ-32B (65 GB) on ml.g6.12xlarge; smaller types share their network. Usual rates are lower: one
# stream of the Hub gives 100 to 200 MB/s.
_FASTEST, _FASTEST_ON_SMALL, _HUB, _S3, _LOAD = 1.25 * GB, 0.5 * GB, 0.25 * GB, 0.8 * GB, 0.5 * GB
_SMALL_VCPU = 16
_LEAST_START_IN_SECONDS, _CONTAINER_START_IN_SECONDS = 30, 60
_MACHINE_START_IN_SECONDS = 120  # the functions assume this until a start is measured: EC2, Linux, Python's imports
# dnf, pip with torch, and the minute that user_data.sh keeps for its signal to CloudFormation.
_LEAST_SET_UP_IN_SECONDS, _SET_UP_IN_SECONDS = 60 + 60, 240 + 60
_VOLUME = 0.125 * GB  # per second, of a gp3 volume with default settings (EBS User Guide)
_COMPILE_IN_SECONDS = 600  # TensorRT-LLM builds its engine at the start: minutes for 7B, a quarter of an hour for 70B
_WARM_UP_IN_SECONDS = {"djl": 60, "vllm": 90, "tgi": 30, "sglang": 90}
# Share of the memory bandwidth that decoding reaches; OPT-30B on ml.g5.24xlarge: 0.57 (DeepSpeed, AWS 2022).
_BANDWIDTH_SHARE = 0.5


@dataclass(frozen=True)
class Estimate:
    """A time in seconds: the least possible and the likely one; None = not known. `basis` names the figures."""

    least: float | None
    likely: float | None
    basis: str


@dataclass(frozen=True)
class AnswerTime:
    """Seconds for the longest answer, if it is the only request on the endpoint."""

    least: float
    likely: float
    basis: str


@dataclass(frozen=True)
class Rate:
    """Tokens of answers per second, of all requests and copies together.

    is_measured: published for exactly this load; otherwise estimated.
    """

    tokens_per_second: float
    is_measured: bool


_SIZE_UNKNOWN = Estimate(None, None, "the size of the model is not known")


def start_in_seconds(placement: Placement) -> Estimate:
    """Return the time from the first byte of the weights to the first answer, without the wait for an instance."""
    download, load = download_in_seconds(placement), load_in_seconds(placement)
    if download.least is None or load.least is None:
        return download
    if download.likely is None or load.likely is None:
        return Estimate(download.least + load.least, None, load.basis)
    basis = f"{download.basis}, then {load.basis}"
    return Estimate(download.least + load.least, download.likely + load.likely, basis)


def download_in_seconds(placement: Placement) -> Estimate:
    """Return the time in which SageMaker or the container downloads the weights."""
    size = weights_in_files(placement.container)
    if size is None:
        return _SIZE_UNKNOWN
    fastest = _FASTEST_ON_SMALL if placement.instance.vcpu <= _SMALL_VCPU else _FASTEST
    source, rate = ("the Hub", _HUB) if placement.container.comes_from_hub else ("S3", _S3)
    basis = f"{size / GB:.0f} GB from {source} at {rate / GB * 1000:.0f} MB/s"
    return Estimate(size / fastest, size / rate, basis)


def load_in_seconds(placement: Placement) -> Estimate:
    """Return the time from the last byte of the weights to the first answer."""
    container = placement.container
    size = weights_in_files(container)
    if size is None:
        return _SIZE_UNKNOWN
    measured = measured_answer(container.model_id, container.engine, placement.instance.type)
    if measured:
        seconds = measured.load_in_seconds
        return Estimate(seconds, seconds, f"loaded in {seconds:.0f} s, {measured.source}")
    if placement.instance.kind == "neuron":
        return Estimate(_LEAST_START_IN_SECONDS, None, "compilation for Neuron takes from minutes to an hour")
    is_compiled = container.engine == "lmi-tensorrt-llm"
    warm_up = _COMPILE_IN_SECONDS if is_compiled else _WARM_UP_IN_SECONDS.get(container.server, 0)
    likely = _CONTAINER_START_IN_SECONDS + size / _LOAD + warm_up
    return Estimate(_LEAST_START_IN_SECONDS, likely, f"loaded at {_LOAD / GB * 1000:.0f} MB/s")


def set_up_in_seconds(placement: Placement) -> Estimate:
    """Return the time of a machine's first start, with its packages and its model."""
    start = start_in_seconds(placement)
    basis = f"{_SET_UP_IN_SECONDS} s for the system's and Python's packages, {start.basis}"
    return Estimate(_LEAST_SET_UP_IN_SECONDS + (start.least or 0), _SET_UP_IN_SECONDS + (start.likely or 0), basis)


def boot_in_seconds(placement: Placement) -> float:
    """Return the usual time from the start of a stopped machine to the model's first answer."""
    return _MACHINE_START_IN_SECONDS + (weights_in_files(placement.container) or 0) / _VOLUME


def answer_time_in_seconds(placement: Placement) -> AnswerTime | None:
    """Return the time of `serving.max_new_tokens`, published or estimated by memory bandwidth; None = not known."""
    container, instance = placement.container, placement.instance
    tokens = container.deployment.serving.max_new_tokens
    if tokens is None:
        return None
    measured = measured_answer(container.model_id, container.engine, instance.type)
    if measured:
        scale = tokens / measured.tokens
        basis = f"{measured.p99_in_seconds:.1f} s at p99 for {measured.tokens} tokens, {measured.source}"
        return AnswerTime(measured.p50_in_seconds * scale, measured.p99_in_seconds * scale, basis)
    weights = _weights_per_token(container, placement)
    if weights is None or not instance.memory_bandwidth_in_gb_per_s:
        return None
    bandwidth = instance.memory_bandwidth_in_gb_per_s
    least = tokens * weights / (bandwidth * GB)
    basis = f"each token reads {weights / GB:.1f} GB at up to {bandwidth:,.0f} GB/s"
    return AnswerTime(least, least / _BANDWIDTH_SHARE, basis)


def token_rate(placement: Placement, requests: int, context: int) -> Rate | None:
    """Return the rate with so many requests at once, each half-way through its context; None = not known.

    A step of decoding reads the weights once for all requests of a copy, and the keys and values of each request. A
    mixture of experts reads only the experts that a request needs.
    """
    container, instance, need = placement.container, placement.instance, placement.memory
    measured = measured_answer(container.model_id, container.engine, instance.type)
    if measured and measured.batch == requests:
        return Rate(measured.batch * measured.tokens / measured.p50_in_seconds, is_measured=True)
    weights, bandwidth = _weights_per_token(container, placement), instance.memory_bandwidth_in_gb_per_s
    if weights is None or need.weights is None or not bandwidth or need.per_token is None:
        return None
    each = max(1.0, requests / placement.copies)
    read = min(need.weights, weights * each) + each * need.per_token * context / 2
    steps = bandwidth * GB * _BANDWIDTH_SHARE / read
    return Rate(steps * each * min(placement.copies, requests), is_measured=False)


def _weights_per_token(container: Container, placement: Placement) -> float | None:
    """Return the bytes that one token reads on each device; for a mixture, those of its active experts."""
    active = container.shape.active_parameters_in_billions if container.shape else None
    if placement.memory.weights is None or not active:
        return placement.memory.weights
    return active * GB * BYTES_PER_PARAMETER[container.quantization or container.dtype or "fp16"] / placement.degree
