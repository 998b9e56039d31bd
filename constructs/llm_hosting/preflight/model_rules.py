"""Rules over the model: which versions of which engines run it, in which format, from which files."""

import re
from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.model_names import CLASS_NOT_OF_TEXT, foreign_format
from ..deployment import Deployment
from .finding import error, unknown, warning
from .memory import GB, weights_in_files
from .plan import Plan, container

_NOT_OF_TEXT = re.compile(
    r"(?i)whisper|stable-diffusion|sdxl|\bclip\b|(?<![a-z])(ro|distil|de)?berta?-|minilm|(?<![a-z])bge-|nllb|wav2vec|\bvit-"
)
_META_CHECKPOINT = re.compile(r"meta-llama/Llama-2-\d+b(-chat)?", re.IGNORECASE)
# Their repositories hold code that transformers does not have.
_OWN_CODE = {
    "QWenLMHeadModel",
    "Phi3SmallForCausalLM",
    "ChatGLMModel",
    "ChatGLMForConditionalGeneration",
    "BaiChuanForCausalLM",
    "BaichuanForCausalLM",
    "InternLMForCausalLM",
    "InternLM2ForCausalLM",
    "XverseForCausalLM",
    "InternVLChatModel",
    "GPT2LMHeadCustomModel",
}
# In transformers from 4.33 on; before, their repositories brought it.
_OWN_CODE_AT_FIRST = {"FalconForCausalLM", "RWForCausalLM", "MptForCausalLM", "MPTForCausalLM"}
_CONSENT = {
    "djl": "OPTION_TRUST_REMOTE_CODE",
    "vllm": "SM_VLLM_TRUST_REMOTE_CODE",
    "sglang": "SM_SGLANG_TRUST_REMOTE_CODE",
    "tgi": "HF_MODEL_TRUST_REMOTE_CODE",
    "huggingface": "HF_TRUST_REMOTE_CODE",
}
_OVERRIDES = ("OPTION_HF_OVERRIDES", "SM_VLLM_HF_OVERRIDES")  # of config.json, by vLLM
_TGI_HANDS_ON_FROM = (0, 9)  # before, its SageMaker entry point forgot HF_MODEL_TRUST_REMOTE_CODE (TGI#493)
_CONSENT_BY_OTHER_NAMES = ("TRUST_REMOTE_CODE", "HF_TRUST_REMOTE_CODE")
_TGI_LOADS_EXL2_FROM = (2, 1)  # on one GPU (its launcher, Quantization::Exl2)
_FIRST_SHARDS, _LARGEST_FILE_IN_GB = (4, 18), 10  # release notes of transformers; the size of its shards


@error
def architecture_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Each version of an engine runs the models that were written by then."""
    plan = container(deployment)
    # DJL Serving embeds by other libraries than those that generate; the toolkit, by the model's encoder alone.
    embedding = {"djl": "text-embedding", "huggingface": "feature-extraction"}.get(plan.server)
    embeds = embedding is not None and plan.environment.get("HF_TASK", "").startswith(embedding)
    reason = None if plan.may_have_own_code or embeds else _why_not_run(plan)
    if reason and plan.kin and plan.version:
        yield (
            "serving.version" if " from " in reason else "serving.engine",
            f"{plan.version.engine} {plan.version.label} does not run {plan.model_id} ({plan.kin.architecture}): "
            f"{reason}; use another version or engine.",
        )


@warning
def architecture_needs_code(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Weights in S3 may bring code and requirements of their own, without which the toolkit runs what it knows."""
    plan = container(deployment)
    reason = _why_not_run(plan) if plan.may_have_own_code and not plan.has_own_code else None
    if reason and plan.kin and plan.version:
        yield (
            "serving.version",
            f"{plan.version.engine} {plan.version.label} does not run {plan.model_id} ({plan.kin.architecture}) by "
            f"itself: {reason}; use another version, unless code/inference.py and its requirements.txt bring what is "
            "needed.",
        )


def _why_not_run(plan: Plan) -> str | None:
    """The reason, by the library that computes; None = it runs, or nothing public says."""
    library = plan.library
    names_another = any("architectures" in plan.environment.get(name, "") for name in _OVERRIDES)
    if plan.kin is None or library is None or names_another:
        return None
    # What a model needs may have changed with its files: an older revision needs less.
    return library.reason_against(plan.kin.architecture, {} if plan.revision else plan.kin.needs)


@unknown
def architecture_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """What the engine says of this architecture is not in the catalog."""
    plan = container(deployment)
    library, name = plan.library, plan.shape.architecture if plan.shape else ""
    if name and library and name not in library.known and _why_not_run(plan) is None:
        yield (
            "serving.engine",
            f"whether {plan.engine} runs {name} is not in the catalog; look at its list of models.",
        )


@error
def model_can_be_split(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Some versions run some models on one accelerator only."""
    plan = container(deployment)
    library, name = plan.library, plan.shape.architecture if plan.shape else ""
    if library and plan.degree > 1 and (name in library.unsplit or plan.is_left_to_transformers):
        yield (
            "serving.tensor_parallel_degree",
            f"{plan.degree}: {plan.engine} {plan.version.label if plan.version else ''} does not split {name}; use "
            "1, or a newer version.",
        )


@warning
def model_generates_text(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Models that see, hear, embed or classify answer in shapes of their own."""
    plan = container(deployment)
    shape = plan.shape
    named = CLASS_NOT_OF_TEXT.search(shape.architecture) if shape else _NOT_OF_TEXT.search(plan.model_id)
    if named and plan.server not in ("huggingface", "own"):
        yield (
            "model.id",
            f"{plan.model_id!r} does not look like a model that generates text ({named[0]}), which is all that this "
            "API is made for; use one that does, or huggingface or custom for serving.engine.",
        )


@error
def length_fits_model(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """vLLM refuses more tokens than the model was made for, unless it is told how to stretch them (vllm#7080)."""
    plan = container(deployment)
    context = plan.shape.context if plan.shape else None
    stretched = any(re.search(r"LONG_MAX_MODEL_LEN|ROPE|OVERRIDES", name) for name in plan.environment)
    if plan.runs_vllm and context and (plan.max_model_len or 0) > context and not stretched:
        yield (
            "serving.max_model_len",
            f"{plan.max_model_len:,} is more than the {context:,} tokens of {plan.model_id}; use {context} or less.",
        )


@error
def files_fit_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Most engines load what transformers saves: not Meta's own checkpoints, not GGUF files, not what others packed."""
    plan = container(deployment)
    if plan.has_own_code:
        return
    version = plan.version
    if _META_CHECKPOINT.fullmatch(plan.model_id):
        yield (
            "model.id",
            f"{plan.model_id!r} holds Meta's own checkpoint, without config.json; use {plan.model_id}-hf.",
        )
    named = " ".join([plan.model_id, *plan.environment.values()]).lower()
    said = deployment.model.weights is not None or deployment.model.quantization == "gguf"
    if plan.engine == "llama-cpp" and "gguf" not in named and not said:
        yield (
            "model.id",
            f"{plan.model_id!r} does not look like a repository of GGUF files, which is all that llama.cpp loads; "
            "use one, and name the file in SM_LLAMA_CPP_HF_FILE.",
        )
    if plan.stored_quantization == "bitsandbytes4" and plan.engine == "tgi":
        yield (
            "model.id",
            f"{plan.model_id!r} holds weights that bitsandbytes has packed already, which TGI takes for plain ones; "
            "use the model that they were made from, with model.quantization: bitsandbytes4.",
        )
    old = version is not None and version.transformers is not None and numbers(version.transformers) < _FIRST_SHARDS
    newest = plan.comes_from_hub and plan.revision is None
    if plan.engine == "huggingface" and old and newest and (weights_in_files(plan) or 0) > _LARGEST_FILE_IN_GB * GB:
        yield (
            "serving.version",
            f"transformers {version.transformers if version else ''} of this image reads one file, and {plan.model_id} "
            "comes in shards; use an image with 4.18 or newer.",
        )
    foreign = foreign_format(plan.model_id)
    is_new = version is not None and numbers(version.label) >= _TGI_LOADS_EXL2_FROM
    loads_it = foreign == "ExLlama" and plan.engine == "tgi" and plan.degree == 1 and is_new
    loads_it = loads_it or (foreign == "LLaVA's own server" and plan.engine == "sglang")  # by its README
    if foreign and not loads_it and not plan.may_have_own_code:
        yield (
            "model.id",
            f"{plan.model_id!r} holds weights for {foreign}, which {plan.engine} does not load; use a repository of "
            "the same model that transformers loads.",
        )
    if plan.stored_quantization == "gguf" and plan.engine not in ("llama-cpp", "custom") and not plan.runs_vllm:
        yield (
            "model.id",
            f"{plan.model_id!r} holds GGUF files, which {plan.engine} does not load; use llama-cpp, or the model "
            "that they were made from.",
        )


@warning
def gguf_needs_llama_cpp(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """vLLM takes one GGUF file with the tokenizer of the model it was made from, not a repository of them."""
    plan = container(deployment)
    if plan.stored_quantization == "gguf" and plan.runs_vllm:
        yield (
            "model.id",
            f"{plan.model_id!r} holds GGUF files, of which vLLM takes a single one with another's tokenizer; use "
            "llama-cpp, or the model that they were made from.",
        )


@warning
def remote_code_needs_consent(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The container runs code from the model's repository only when told to."""
    plan = container(deployment)
    forgets = plan.engine == "tgi" and plan.version is not None and numbers(plan.version.label) < _TGI_HANDS_ON_FROM
    names = _CONSENT_BY_OTHER_NAMES if forgets else (*_CONSENT.values(), *_CONSENT_BY_OTHER_NAMES)
    consent = any(plan.environment.get(name, "").lower() in ("true", "1") for name in names)
    if _brings_own_code(plan) and not consent:
        yield (
            "serving.environment",
            f"{plan.model_id} brings code of its own, which the engine refuses to run unasked; read that code, pin "
            f"model.revision, and set {'TRUST_REMOTE_CODE' if forgets else _CONSENT[plan.server]} to 'true'.",
        )


def _brings_own_code(plan: Plan) -> bool:
    architecture = plan.shape.architecture if plan.shape else ""
    if architecture in _OWN_CODE:
        return plan.server in ("djl", "vllm", "sglang", "huggingface") or plan.is_left_to_transformers
    number = numbers(plan.version.label) if plan.version else (99,)
    was_new = (plan.engine == "tgi" and number < (1,)) or (plan.server == "djl" and number < (0, 24))
    return architecture in _OWN_CODE_AT_FIRST and was_new
