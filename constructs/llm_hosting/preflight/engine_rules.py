"""Rules over engine and model: what a version of an image runs, and what it calls its settings."""

import re
from collections.abc import Iterator

from ..catalog.architectures import Architectures, architectures
from ..catalog.engines import EngineVersion, engine
from ..container_settings import image_version, is_read
from ..deployment import Deployment
from .finding import error, unknown, warning
from .nearest import nearest
from .plan import Plan, numbers, plans

# Values of option.rolling_batch that end (djl-serving, branches 0.23.0-dlc to 0.36.0).
_ROLLING_BATCH_GONE = {"lmi-dist": (0, 33), "scheduler": (0, 33), "deepspeed": (0, 28)}
_OWN_BRANCH = ("lmi-dist", "auto")  # LMI's own, which takes more models than vLLM
_FIRST_ROLLING_BATCH = (0, 23)
_S3URL_GONE_FROM = (0, 28)  # deprecated from 0.22.1 on, and read on (djl-serving, ModelInfo.java, LmiUtils.java)
_TITLES = {"vllm": "vLLM", "tgi": "TGI", "transformers": "transformers"}
_DEFAULT_INPUT, _DEFAULT_TOTAL, _DEFAULT_PREFILL = 1024, 2048, 4096  # TGI before 2.0
_FIRST_LIMITS_BY_MODEL = (2,)
_FIRST_CHAT_BY_SHAPE = (2, 4)  # from here on TGI's /invocations takes chat bodies unasked
_FIRST_NAMED_TOKENS = (3,)
# Their repositories hold code that transformers does not have.
_META_CHECKPOINT = re.compile(r"meta-llama/Llama-2-\d+b(-chat)?", re.IGNORECASE)
_OWN_CODE = {
    "QWenLMHeadModel",
    "ChatGLMModel",
    "ChatGLMForConditionalGeneration",
    "BaiChuanForCausalLM",
    "BaichuanForCausalLM",
    "InternLMForCausalLM",
    "InternLM2ForCausalLM",
    "XverseForCausalLM",
    "InternVLChatModel",
}
# In transformers from 4.33 on; before, their repositories brought it.
_OWN_CODE_AT_FIRST = {"FalconForCausalLM", "RWForCausalLM", "MptForCausalLM", "MPTForCausalLM"}
_CONSENT = {
    "djl": "OPTION_TRUST_REMOTE_CODE",
    "vllm": "SM_VLLM_TRUST_REMOTE_CODE",
    "sglang": "SM_SGLANG_TRUST_REMOTE_CODE",
    "tgi": "HF_MODEL_TRUST_REMOTE_CODE",
}
_CONSENT_BY_OTHER_NAMES = ("TRUST_REMOTE_CODE", "HF_TRUST_REMOTE_CODE")
# SageMaker's image of 1.1.0 lacks the kernels for AWQ; FP8 came with 2.0 (release notes of TGI).
_FIRST_TGI = {"awq": (1, 2), "gptq": (0, 9), "fp8": (2, 0)}
_BLOCKS = {"awq": 128, "gptq": 128, "fp8": 128}
_FIRST_BITSANDBYTES, _SPLITS_BITSANDBYTES_FROM = (0, 5), (0, 9)
_AWQ_BY_MARLIN_FROM = (0, 5, 4)  # its kernels take bf16, where nobody asks for the plain ones
_TOPOLOGIES = {
    "ml.trn1": (1, 2, 8, 16, 32),
    "ml.trn1n": (1, 2, 8, 16, 32),
    "ml.inf2": (1, 2, 3, 4, 6, 8, 10, 12, 24),
}
_PADS_FROM = (0, 24)  # djl-serving, branch 0.24.0-dlc: djl_python/transformers_neuronx.py
_NEURON_BATCH_IS_FIXED = {"lmi-neuronx", "tgi-neuronx"}


@warning
def settings_reach_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A setting that the container has no variable for does nothing, but for the checks."""
    for field, value, version in _said(deployment):
        is_default = field == "serving.tensor_parallel_degree" and value == 1
        if field.partition(".")[2] not in version.variables and not is_default:
            yield (
                field,
                f"{value!r} does not reach {version.engine} {version.label}, which has no such setting; remove it.",
            )


@error
def values_fit_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Versions of an engine take some formats of numbers and not others."""
    for field, value, version in _said(deployment):
        variable = version.variables.get(field.partition(".")[2])
        if variable and variable.values is not None and value not in variable.values:
            known = ", ".join(variable.values) or "none"
            yield (
                field,
                f"{value!r} is no value for {version.engine} {version.label}; use one of {known}, or remove it.",
            )


def _said(deployment: Deployment) -> Iterator[tuple[str, object, EngineVersion]]:
    """Settings of the engine that the file says: field, value, the version that has to take it."""
    version, serving = image_version(deployment.serving), deployment.serving
    values: dict[str, object] = {
        "model.dtype": deployment.model.dtype,
        "model.quantization": deployment.model.quantization,
        "serving.max_model_len": serving.max_model_len,
        "serving.max_batch_size": serving.max_batch_size,
        "serving.max_batch_delay_in_ms": serving.max_batch_delay_in_ms,
        "serving.tensor_parallel_degree": serving.tensor_parallel_degree,
    }
    if version and version.tag:
        yield from ((field, value, version) for field, value in values.items() if value is not None)


@error
def handler_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Only DJL Serving runs a handler of one's own."""
    serving = deployment.serving
    if serving.handler and engine(serving.engine).server != "djl":
        yield (
            "serving.handler",
            f"{serving.handler!r} does not run on {serving.engine}: only DJL Serving takes a model.py; use an engine "
            "lmi-..., or remove it.",
        )


@error
def handler_takes_single_requests(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """DJL Serving hands a batch to a handler as one call, which the handlers of model_src/ do not take apart."""
    serving = deployment.serving
    if serving.handler and (serving.max_batch_size or 1) > 1:
        yield "serving.max_batch_size", f"{serving.max_batch_size} is refused with serving.handler; remove it."


@error
def handler_fits_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Names of built-in handlers come and go with versions of the image."""
    for plan in plans(deployment):
        name = _entry_point(plan)
        version = plan.version
        if not (version and name and plan.server == "djl" and name.startswith("djl_python.")):
            continue
        if name not in version.handlers:
            yield (
                "serving.environment.OPTION_ENTRYPOINT",
                f"{name!r} is no handler of {version.engine} {version.label}; use {nearest(name, version.handlers)}.",
            )
        return


@error
def option_fits_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Options of DJL Serving that a version does not know yet, or no more."""
    for plan in plans(deployment):
        version, environment = plan.version, plan.environment
        if plan.server != "djl" or version is None:
            return
        number = numbers(version.label)
        where = f"of {version.engine} {version.label}"
        if "OPTION_S3URL" in environment and number >= _S3URL_GONE_FROM:
            yield (
                "serving.environment.OPTION_S3URL",
                f"is not read any more by the image {where}: option.s3url ended with 0.27; set model.weights instead, "
                "or OPTION_MODEL_ID to the S3 URI.",
            )
        rolling = environment.get("OPTION_ROLLING_BATCH", "")
        if rolling in _ROLLING_BATCH_GONE and number >= _ROLLING_BATCH_GONE[rolling]:
            yield (
                "serving.environment.OPTION_ROLLING_BATCH",
                f"{rolling!r} is gone from the image {where}; remove it, or use vllm.",
            )
        elif rolling not in ("", "disable", "auto") and number < _FIRST_ROLLING_BATCH:
            yield (
                "serving.environment.OPTION_ROLLING_BATCH",
                f"{rolling!r} is not known to the image {where}: rolling batches came with 0.23; use a newer version.",
            )
        started_by = environment.get("SERVING_ENGINE") or environment.get("OPTION_ENGINE")
        if rolling == "deepspeed" and "MPI" in (environment.get("OPTION_ENGINE"), started_by):
            yield (
                "serving.environment.OPTION_ROLLING_BATCH",
                "'deepspeed' is refused by what the engine MPI starts; remove OPTION_ENGINE, or use another.",
            )
        is_async = environment.get("OPTION_ASYNC_MODE", "").lower() == "true"
        if is_async and number < (0, 33):
            yield (
                "serving.environment.OPTION_ASYNC_MODE",
                f"true is not known to the image {where}: it came with LMI 15 (0.33); use a newer version.",
            )
        return


@error
def fastertransformer_needs_code(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The first image with FasterTransformer has no handler for it (djl-serving, branch 0.21.0-dlc)."""
    version = image_version(deployment.serving)
    own = deployment.serving.handler or "OPTION_ENTRYPOINT" in deployment.serving.environment
    if version and version.engine == "lmi-fastertransformer" and version.handler is None and not own:
        yield (
            "serving.version",
            f"{version.label!r} of lmi-fastertransformer has no built-in handler; use 0.22.1 or newer, or bring your "
            "own with serving.handler.",
        )


@error
def architecture_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Each version of an engine runs the models that were written by then."""
    for plan in plans(deployment):
        reason = None if deployment.serving.handler else _why_not_run(plan)
        if reason and plan.kin and plan.version:
            yield (
                "serving.version" if " from " in reason else "serving.engine",
                f"{plan.version.engine} {plan.version.label} does not run {plan.model_id} ({plan.kin.architecture}): "
                f"{reason}; use another version or engine.",
            )
        return


def _why_not_run(plan: Plan) -> str | None:
    """The reason, by the library that computes; None = it runs, or nothing public says."""
    library = _library(plan)
    if plan.kin is None or library is None:
        return None
    # What a model needs may have changed with its files: an older revision needs less.
    return library.reason_against(plan.kin.architecture, {} if plan.revision else plan.kin.needs)


def _library(plan: Plan) -> Architectures | None:
    """The models of what computes; None = unknown."""
    version = plan.version
    own_branch = plan.environment.get("OPTION_ROLLING_BATCH") in _OWN_BRANCH and plan.instance.kind == "gpu"
    if version is None or own_branch:
        return None
    if plan.runs_vllm and version.vllm:
        return architectures("vllm", version.vllm)
    return version.architectures


@unknown
def architecture_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """What the engine says of this architecture is not in the catalog."""
    for plan in plans(deployment):
        library, name = _library(plan), plan.shape.architecture if plan.shape else ""
        if name and library and name not in library.known and name not in library.refused:
            yield (
                "serving.engine",
                f"whether {plan.engine} runs {name} is not in the catalog; look at its list of models.",
            )
        return


@error
def model_can_be_split(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Some versions run some models on one accelerator only."""
    for plan in plans(deployment):
        library, name = _library(plan), plan.shape.architecture if plan.shape else ""
        if library and name in library.unsplit and plan.degree > 1:
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree}: {plan.engine} {plan.version.label if plan.version else ''} does not split {name}; use "
                "1, or a newer version.",
            )
        return


@error
def files_fit_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Most engines load what transformers saves: not Meta's own checkpoints, and not GGUF files."""
    for plan in plans(deployment):
        if _META_CHECKPOINT.fullmatch(plan.model_id):
            yield (
                "model.id",
                f"{plan.model_id!r} holds Meta's own checkpoint, without config.json; use {plan.model_id}-hf.",
            )
        named = " ".join([plan.model_id, *plan.environment.values()]).lower()
        if plan.engine == "llama-cpp" and "gguf" not in named:
            yield (
                "model.id",
                f"{plan.model_id!r} does not look like a repository of GGUF files, which is all that llama.cpp loads; "
                "use one, and name the file in SM_LLAMA_CPP_HF_FILE.",
            )
        if plan.stored_quantization == "gguf" and plan.engine not in ("llama-cpp", "custom") and not plan.runs_vllm:
            yield (
                "model.id",
                f"{plan.model_id!r} holds GGUF files, which {plan.engine} does not load; use llama-cpp, or the model "
                "that they were made from.",
            )
        return


@error
def quantization_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Versions of TGI know formats by name; vLLM's kernels for AWQ, asked for by name, compute in fp16 only."""
    for plan in plans(deployment):
        first, quantization = _FIRST_TGI.get(plan.quantization or ""), plan.quantization
        if plan.engine == "tgi" and plan.version and first and numbers(plan.version.label) < first:
            since = ".".join(map(str, first))
            yield (
                "model.quantization",
                f"{quantization} is not known to TGI {plan.version.label}; use {since} or newer.",
            )
        yield from _bitsandbytes(plan)
        yield from _blocks(plan)
        named = (plan.by_hand("quantization") or "").lower() == "awq"
        implied = quantization == "awq" and numbers(plan.vllm or "9") < _AWQ_BY_MARLIN_FROM
        if plan.dtype == "bf16" and plan.runs_vllm and (named or implied):
            yield "model.dtype", "bf16 is refused with AWQ, whose kernels compute in fp16; use fp16, or leave it out."
        return


def _blocks(plan: Plan) -> Iterator[tuple[str, str]]:
    """Formats with a scale for each block of weights can't be split within one."""
    width = plan.shape.intermediate_size if plan.shape else None
    block = _BLOCKS.get(plan.stored_quantization or "")
    splits = plan.runs_vllm or plan.engine in ("sglang", "tgi")
    if block and width and splits and plan.degree > 1 and (width % plan.degree or (width // plan.degree) % block):
        yield (
            "serving.tensor_parallel_degree",
            f"{plan.degree} splits the {width:,} rows of {plan.model_id} within blocks of {block}, which share a scale "
            f"in {plan.stored_quantization}; use a lower degree, or weights that are not quantized.",
        )


def _bitsandbytes(plan: Plan) -> Iterator[tuple[str, str]]:
    """Release notes of vLLM: bitsandbytes came with 0.5.0, splitting files that are quantized already with 0.9."""
    if plan.quantization != "bitsandbytes4" or plan.vllm is None:
        return
    if numbers(plan.vllm) < _FIRST_BITSANDBYTES:
        yield "model.quantization", f"bitsandbytes is not known to vLLM {plan.vllm} of this image; use a newer version."
    elif plan.stored_quantization and plan.degree > 1 and numbers(plan.vllm) < _SPLITS_BITSANDBYTES_FROM:
        yield (
            "serving.tensor_parallel_degree",
            f"{plan.degree}: vLLM {plan.vllm} of this image does not split files that are quantized by bitsandbytes "
            "already; use 1, or a newer version.",
        )


@warning
def remote_code_needs_consent(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The container runs code from the model's repository only when told to."""
    for plan in plans(deployment):
        names = (*_CONSENT.values(), *_CONSENT_BY_OTHER_NAMES)
        consent = any(plan.environment.get(name, "").lower() in ("true", "1") for name in names)
        if _brings_own_code(plan) and not consent:
            yield (
                "serving.environment",
                f"{plan.model_id} brings code of its own, which the engine refuses to run unasked; read that code, pin "
                f"model.revision, and set {_CONSENT.get(plan.server, 'TRUST_REMOTE_CODE')} to 'true'.",
            )
        return


def _brings_own_code(plan: Plan) -> bool:
    architecture = plan.shape.architecture if plan.shape else ""
    if architecture in _OWN_CODE:
        return plan.server in ("djl", "vllm", "sglang")
    number = numbers(plan.version.label) if plan.version else (99,)
    was_new = (plan.engine == "tgi" and number < (1,)) or (plan.server == "djl" and number < (0, 24))
    return architecture in _OWN_CODE_AT_FIRST and was_new


@error
def tgi_limits(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """TGI ends at once when input, prefill and total do not go together (the checks of its launcher)."""
    for plan in plans(deployment):
        if plan.engine == "tgi" and plan.version:
            yield from _tgi_limits(plan, has_defaults=numbers(plan.version.label) < _FIRST_LIMITS_BY_MODEL)
        return


def _tgi_limits(plan: Plan, *, has_defaults: bool) -> Iterator[tuple[str, str]]:
    """From 2.0 on, what is not given follows from the model and from what is."""
    name = "MAX_INPUT_TOKENS" if "MAX_INPUT_TOKENS" in plan.environment else "MAX_INPUT_LENGTH"
    most = plan.number(name) or (_DEFAULT_INPUT if has_defaults else None)
    total = plan.number("MAX_TOTAL_TOKENS") or (_DEFAULT_TOTAL if has_defaults else None)
    prefill = plan.number("MAX_BATCH_PREFILL_TOKENS") or (_DEFAULT_PREFILL if has_defaults else None)
    batch_total = plan.number("MAX_BATCH_TOTAL_TOKENS")
    if most and total and most >= total:
        yield (
            f"serving.environment.{name}",
            f"{most:,.0f} tokens of input leave none of {total:,.0f} (MAX_TOTAL_TOKENS) for the answer; TGI wants "
            f"input < total: use {total - 1:,.0f} or less, or a larger total.",
        )
    if most and prefill and prefill < most:
        yield (
            "serving.environment.MAX_BATCH_PREFILL_TOKENS",
            f"{prefill:,.0f} is less than the longest input, {most:,.0f} ({name}), at which TGI ends; use {most:,.0f} "
            "or more.",
        )
    if batch_total and total and batch_total < total:
        yield (
            "serving.environment.MAX_BATCH_TOTAL_TOKENS",
            f"{batch_total:,.0f} is less than MAX_TOTAL_TOKENS, {total:,.0f}, at which TGI ends; use {total:,.0f} or "
            "more.",
        )
    if not has_defaults and {"MAX_INPUT_LENGTH", "MAX_INPUT_TOKENS"} <= plan.environment.keys():
        yield "serving.environment.MAX_INPUT_LENGTH", "is refused beside MAX_INPUT_TOKENS, its new name; remove one."


@error
def cores_form_a_topology(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The collectives of Neuron know some numbers of cores only (huggingface/optimum-neuron#424, #619)."""
    for plan in plans(deployment):
        known = _TOPOLOGIES.get(plan.instance.family, ())
        if known and plan.degree not in known and plan.degree <= plan.devices:
            choices = ", ".join(str(degree) for degree in known if degree <= plan.devices)
            yield (
                "serving.tensor_parallel_degree",
                f"{plan.degree} cores are no topology of {plan.instance.type}; use one of {choices}.",
            )


@error
def neuron_positions(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The compiled model has no more positions than the model itself."""
    for plan in plans(deployment):
        context = plan.shape.context if plan.shape else None
        if plan.engine in _NEURON_BATCH_IS_FIXED and context and (plan.max_model_len or 0) > context:
            yield (
                "serving.max_model_len",
                f"{plan.max_model_len:,} positions are more than the {context:,} of {plan.model_id}; use {context} or "
                "less.",
            )
        return


@warning
def batch_fits_neuron(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Shapes are compiled: what the server batches has to be what the model was compiled for."""
    for plan in plans(deployment):
        if plan.engine == "lmi-neuronx" and (plan.batch or 1) > 1:
            yield from _lmi_neuron_batch(plan)
        compiled, served = plan.number("HF_BATCH_SIZE"), plan.number("MAX_BATCH_SIZE")
        if plan.engine == "tgi-neuronx" and compiled and compiled != (served or compiled + 1):
            yield (
                "serving.environment.MAX_BATCH_SIZE",
                f"is {f'{served:.0f}' if served else 'not set'}, but the model is compiled for batches of "
                f"{compiled:.0f} (HF_BATCH_SIZE); set both to the same number.",
            )
        return


def _lmi_neuron_batch(plan: Plan) -> Iterator[tuple[str, str]]:
    label, batch = plan.version.label if plan.version else "", plan.batch
    delay = plan.by_hand("max_batch_delay_in_ms") or plan.deployment.serving.max_batch_delay_in_ms
    rolls = plan.environment.get("OPTION_ROLLING_BATCH", "disable") != "disable"
    if plan.version and numbers(label) < _PADS_FROM:
        yield (
            "serving.max_batch_size",
            f"{batch} is a batch that has to be full on lmi-neuronx {label}, which refuses fewer prompts; use "
            "serving.version 0.24.0 or newer, which pads, or 1.",
        )
    elif not delay and not rolls:
        yield (
            "serving.max_batch_size",
            f"{batch} without serving.max_batch_delay_in_ms: each call is padded to {batch} prompts and computed "
            "alone; set a delay, so that calls share a batch, or use 1.",
        )


@warning
def legacy_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An engine that is no longer built gets no security fixes either."""
    known = engine(deployment.serving.engine)
    if known.legacy:
        yield (
            "serving.engine",
            f"{known.name!r} is legacy since {known.legacy.since}: {known.legacy.reason.rstrip('.')}; its successor is "
            f"{known.legacy.successor}.",
        )


@error
def custom_needs_image(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """There is no image to choose for an engine of one's own."""
    serving = deployment.serving
    if serving.engine == "custom" and serving.image_uri is None:
        yield "serving.image_uri", "is needed with serving.engine: custom; name the image in Amazon ECR."


@warning
def setting_is_read(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Variables that belong to another container, or to another version of this one."""
    for plan in plans(deployment):
        given, version = deployment.serving.environment, plan.version
        task_is_read = plan.server in ("huggingface", "own") or plan.engine == "lmi-huggingface"
        for name in given:
            if (name == "HF_TASK" and not task_is_read) or not is_read(name, plan.server):
                yield f"serving.environment.{name}", f"has no effect on {plan.engine}; remove it."
        deprecated = plan.server == "djl" and version and (0, 22) <= numbers(version.label) < _S3URL_GONE_FROM
        if "OPTION_S3URL" in given and deprecated:
            yield (
                "serving.environment.OPTION_S3URL",
                "is deprecated since 0.22.1, and some images no longer read it; set model.weights instead.",
            )
        if plan.engine == "tgi" and version:
            number = numbers(version.label)
            if "MESSAGES_API_ENABLED" in given and not (1, 4) <= number < _FIRST_CHAT_BY_SHAPE:
                yield (
                    "serving.environment.MESSAGES_API_ENABLED",
                    f"has no effect on TGI {version.label}: it is read from 1.4 to 2.3, and from 2.4 on chats are "
                    "known by their shape; remove it.",
                )
            if "MAX_INPUT_LENGTH" in given and number >= _FIRST_NAMED_TOKENS:
                yield (
                    "serving.environment.MAX_INPUT_LENGTH",
                    "is called MAX_INPUT_TOKENS since TGI 3; rename it, or leave it out to have it computed from "
                    "memory.",
                )
        return


def _entry_point(plan: Plan) -> str | None:
    named = plan.environment.get("OPTION_ENTRYPOINT")
    return None if plan.deployment.serving.handler else named
