"""Times that follow from size and hardware: the start of an endpoint, and the longest answer."""

from dataclasses import dataclass

from ..catalog.measurements import measured_answer
from .formats import BYTES_PER_PARAMETER
from .memory import GB, memory, weights_in_files
from .plan import Plan

# Bytes per second. The fastest that published endpoints reached: Mixtral (94 GB) started within 300 s on
# ml.g5.48xlarge, QwQ-32B (65 GB) on ml.g6.12xlarge; smaller machines share their network. Usual is less: one stream of
# the Hub's gives 100 to 200 MB/s.
_FASTEST, _FASTEST_ON_SMALL, _HUB, _S3, _LOAD = 1.25 * GB, 0.5 * GB, 0.25 * GB, 0.8 * GB, 0.5 * GB
_SMALL_VCPU = 16
_LEAST_START_IN_SECONDS, _CONTAINER_START_IN_SECONDS = 30, 60
_COMPILE_IN_SECONDS = 600  # TensorRT-LLM builds its engine at the start: minutes for 7B, a quarter of an hour for 70B
_WARM_UP_IN_SECONDS = {"djl": 60, "vllm": 90, "tgi": 30, "sglang": 90}
# Share of the memory bandwidth that decoding reaches; OPT-30B on ml.g5.24xlarge: 0.57 (DeepSpeed, AWS 2022).
_BANDWIDTH_SHARE = 0.5


@dataclass(frozen=True)
class Estimate:
    """Seconds: the least that is possible, and the likely; `words` say from what. None = public facts do not say."""

    least: float | None
    likely: float | None
    words: str


@dataclass(frozen=True)
class AnswerTime:
    """Seconds for the longest answer, alone on the endpoint."""

    least: float
    likely: float
    words: str


def start_in_seconds(plan: Plan) -> Estimate:
    """From the first byte of the weights to the first answer, without the wait for an instance."""
    download, load = download_in_seconds(plan), load_in_seconds(plan)
    if download.least is None or load.least is None:
        return download
    if download.likely is None or load.likely is None:
        return Estimate(download.least + load.least, None, load.words)
    words = f"{download.words}, then {load.words}"
    return Estimate(download.least + load.least, download.likely + load.likely, words)


def download_in_seconds(plan: Plan) -> Estimate:
    """Of the weights, by SageMaker or by the container."""
    size = weights_in_files(plan)
    if size is None:
        return Estimate(None, None, "the size of the model is not known")
    fastest = _FASTEST_ON_SMALL if plan.instance.vcpu <= _SMALL_VCPU else _FASTEST
    source, rate = ("the Hub", _HUB) if plan.comes_from_hub else ("S3", _S3)
    words = f"{size / GB:.0f} GB from {source} at {rate / GB * 1000:.0f} MB/s"
    return Estimate(size / fastest, size / rate, words)


def load_in_seconds(plan: Plan) -> Estimate:
    """From the last byte of the weights to the first answer."""
    size = weights_in_files(plan)
    if size is None:
        return Estimate(None, None, "the size of the model is not known")
    measured = measured_answer(plan.model_id, plan.engine, plan.instance.type)
    if measured:
        seconds = measured.load_in_seconds
        return Estimate(seconds, seconds, f"loaded in {seconds:.0f} s, {measured.source}")
    if plan.instance.kind == "neuron":
        return Estimate(_LEAST_START_IN_SECONDS, None, "compilation for Neuron takes from minutes to an hour")
    warm_up = _COMPILE_IN_SECONDS if plan.engine == "lmi-tensorrt-llm" else _WARM_UP_IN_SECONDS.get(plan.server, 0)
    likely = _CONTAINER_START_IN_SECONDS + size / _LOAD + warm_up
    return Estimate(_LEAST_START_IN_SECONDS, likely, f"loaded at {_LOAD / GB * 1000:.0f} MB/s")


def answer_time_in_seconds(plan: Plan) -> AnswerTime | None:
    """For `serving.max_new_tokens`: as published for this set-up, else by memory bandwidth; None = unknown."""
    tokens = plan.deployment.serving.max_new_tokens
    if tokens is None:
        return None
    measured = measured_answer(plan.model_id, plan.engine, plan.instance.type)
    if measured:
        scale = tokens / measured.tokens
        words = f"{measured.p99_in_seconds:.1f} s at p99 for {measured.tokens} tokens, {measured.source}"
        return AnswerTime(measured.p50_in_seconds * scale, measured.p99_in_seconds * scale, words)
    weights, bandwidth = memory(plan).weights, plan.instance.memory_bandwidth_in_gb_per_s
    if weights is None or not bandwidth:
        return None
    active = plan.shape.active_parameters_in_billions if plan.shape else None
    if active:
        weights = active * GB * BYTES_PER_PARAMETER[plan.quantization or plan.dtype or "fp16"] / plan.degree
    least = tokens * weights / (bandwidth * GB)
    words = f"each token reads {weights / GB:.1f} GB at up to {bandwidth:,.0f} GB/s"
    return AnswerTime(least, least / _BANDWIDTH_SHARE, words)
