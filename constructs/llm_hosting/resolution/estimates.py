"""Estimates times from size and hardware: the start of an endpoint, and the longest answer."""

from dataclasses import dataclass

from ..catalog.measurements import measured_answer
from . import Placement
from .memory import GB, weights_in_files

# Bytes per second. The fastest that published endpoints reached: Mixtral (94 GB) started within 300 s on
# ml.g5.48xlarge, QwQ-32B (65 GB) on ml.g6.12xlarge; smaller types share their network. Usual rates are lower: one
# stream of the Hub gives 100 to 200 MB/s.
_FASTEST, _FASTEST_ON_SMALL, _HUB, _S3, _LOAD = 1.25 * GB, 0.5 * GB, 0.25 * GB, 0.8 * GB, 0.5 * GB
_SMALL_VCPU = 16
_LEAST_START_IN_SECONDS, _CONTAINER_START_IN_SECONDS = 30, 60
MACHINE_START_IN_SECONDS = 120  # the functions assume this until a start is measured: EC2, Linux, Python's imports
# dnf, pip with torch, and the minute that user_data.sh keeps for its signal to CloudFormation.
_LEAST_SET_UP_IN_SECONDS, _SET_UP_IN_SECONDS = 60 + 60, 240 + 60
# SageMaker finds an instance and pulls an image of about 10 GB before the weights. A component at zero copies answered
# 462 s after a copy was asked for, of which about 160 s are weights and load by the figures here (Qwen3-0.6B on
# ml.g5.xlarge, published by Hugging Face in July 2026).
INSTANCE_AND_IMAGE_IN_SECONDS = 300
_VOLUME = 0.125 * GB  # per second, of a gp3 volume with default settings (EBS User Guide)
_COMPILE_IN_SECONDS = 600  # TensorRT-LLM builds its engine at the start: minutes for 7B, a quarter of an hour for 70B
_WARM_UP_IN_SECONDS = {"djl": 60, "vllm": 90, "tgi": 30, "sglang": 90}
# Share of the memory bandwidth that decoding reaches, and the time of a layer's kernels beside that of reading. A token
# takes 4.6 ms (Qwen3-1.7B) and 9.6 ms (Qwen3-30B-A3B) on an A100 (tt-inference-server#340); a step of gpt-oss-120b on 8
# H100 takes 3.7 ms for 4 requests and 7.4 ms for 64 (InferenceX#828).
_BANDWIDTH_SHARE, _LAYER_IN_SECONDS = 0.75, 80e-6


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


def wake_in_seconds(placement: Placement) -> Estimate:
    """Return the time from the request for a first instance of an endpoint to the first answer."""
    start = start_in_seconds(placement)
    if start.least is None or start.likely is None:
        return start
    basis = f"{INSTANCE_AND_IMAGE_IN_SECONDS} s for instance and image, {start.basis}"
    return Estimate(start.least, INSTANCE_AND_IMAGE_IN_SECONDS + start.likely, basis)


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
    return MACHINE_START_IN_SECONDS + (weights_in_files(placement.container) or 0) / _VOLUME


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
    weights = _weights_read(placement, requests=1)
    if weights is None or not instance.memory_bandwidth_in_gb_per_s:
        return None
    bandwidth = instance.memory_bandwidth_in_gb_per_s
    least = tokens * weights / (bandwidth * GB)
    basis = f"each token reads {weights / GB:.1f} GB at up to {bandwidth:,.0f} GB/s"
    return AnswerTime(least, tokens * _step_in_seconds(placement, weights, bandwidth), basis)


def token_rate(placement: Placement, requests: int, context: int) -> Rate | None:
    """Return the rate with so many requests at once, each half-way through its context; None = not known.

    A step of decoding reads the weights once for all requests of a copy, and the keys and values of each request. The
    time for prompts is left out, and so is that of computing, which limits large batches.
    """
    container, instance, need = placement.container, placement.instance, placement.memory
    measured = measured_answer(container.model_id, container.engine, instance.type)
    if measured and measured.batch == requests:
        return Rate(measured.batch * measured.tokens / measured.p50_in_seconds, is_measured=True)
    each = max(1.0, requests / placement.copies)
    weights, bandwidth = _weights_read(placement, each), instance.memory_bandwidth_in_gb_per_s
    if weights is None or not bandwidth or need.per_token is None:
        return None
    step = _step_in_seconds(placement, weights + each * need.per_token * context / 2, bandwidth)
    return Rate(each * min(placement.copies, requests) / step, is_measured=False)


def _step_in_seconds(placement: Placement, size: float, bandwidth: float) -> float:
    """Return the time of a step that reads so many bytes on each device. bandwidth: GB/s of a device."""
    layers = (placement.container.shape.layers if placement.container.shape else None) or 0
    return size / (bandwidth * GB * _BANDWIDTH_SHARE) + layers * _LAYER_IN_SECONDS


def _weights_read(placement: Placement, requests: float) -> float | None:
    """Return the bytes of weights that a step for so many requests reads on each device.

    A mixture reads each expert that one of the tokens is routed to. A token takes k of n experts, so all tokens leave
    an expert out with a probability of (1 - k/n) ^ requests: with 4 of 128, 64 requests read 111 (InferenceX#1061).
    Without n and k, the active share of all parameters is the most that k/n can be.
    """
    weights, shape = placement.memory.weights, placement.container.shape
    total, active = placement.container.parameters_in_billions, shape.active_parameters_in_billions if shape else None
    if weights is None or shape is None or not (active and total and active < total):
        return weights
    share = active / total
    if shape.experts and shape.experts_per_token:
        share = min(share, shape.experts_per_token / shape.experts)
    in_experts = (1 - active / total) / (1 - share)  # share of all parameters
    left_out: float = (1 - share) ** requests
    return weights * (1 - in_experts * left_out)
