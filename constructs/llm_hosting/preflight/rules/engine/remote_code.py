"""Rules over code that a model brings, which engines run only with consent."""

from collections.abc import Iterator

from ....catalog.model_types import knows_type
from ....deployment.finding import Finding
from ....resolution import Container, Resolution
from ..model import reason_against
from ..rule import error, warning
from .model_type import reads_config

# The repositories of these models hold code that transformers does not have.
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
_CONSENT = {
    "djl": "OPTION_TRUST_REMOTE_CODE",
    "vllm": "SM_VLLM_TRUST_REMOTE_CODE",
    "sglang": "SM_SGLANG_TRUST_REMOTE_CODE",
    "tgi": "HF_MODEL_TRUST_REMOTE_CODE",
    "huggingface": "HF_TRUST_REMOTE_CODE",
}
_CONSENT_BY_OTHER_NAMES = ("TRUST_REMOTE_CODE", "HF_TRUST_REMOTE_CODE")
_NO = ("false", "0", "no", "off")
# Each names a file of settings, which may give consent.
_SETTINGS = ("SM_VLLM_CONFIG", "SM_SGLANG_CONFIG")


@error
def own_class_needs_consent(resolution: Resolution) -> Iterator[Finding]:
    """transformers ends at a model_type that it does not know, if it may not run the model's own class of settings.

    "... requires you to execute the configuration file in that repo": resolve_trust_remote_code in
    dynamic_module_utils.py. vLLM and SGLang read some types with classes of their own.
    """
    container = resolution.container
    if _needs_own_class(container):
        shape = container.shape
        kind = (shape.wrapper or shape.model_type) if shape else None
        yield Finding(
            "serving.environment",
            f"{container.engine} {container.label} does not know the model_type {kind!r} of {container.model_id}, and "
            "may not run the class that the model brings",
            f"read that code, pin model.revision, and set {_CONSENT[container.server]} to 'true'",
        )


@warning
def remote_code_needs_consent(resolution: Resolution) -> Iterator[Finding]:
    """The container runs code from the model's repository only when told to."""
    container = resolution.container
    architecture, library = container.shape.architecture if container.shape else "", container.library
    is_foreign = library is not None and architecture not in library.known | library.refused.keys()
    runs_own = architecture in _OWN_CODE or (container.lock is not None and container.lock.has_own_code and is_foreign)
    asks = container.server in ("djl", "vllm", "sglang", "huggingface") or container.is_left_to_transformers
    names = (*_CONSENT.values(), *_CONSENT_BY_OTHER_NAMES)
    if runs_own and asks and not container.flag(*names) and not _needs_own_class(container):
        yield Finding(
            "serving.environment",
            f"{container.model_id} brings code of its own, which the engine runs only with consent",
            f"read that code, pin model.revision, and set {_CONSENT[container.server]} to 'true'",
        )


def _needs_own_class(container: Container) -> bool:
    """Whether the engine certainly asks for consent to the model's own class, and nothing gives it."""
    lock, shape, version = container.lock, container.shape, container.version
    is_sure = container.runs_vllm or container.engine == "sglang"
    if not (is_sure and lock and lock.has_own_code and shape and version) or version.facts_from:
        return False
    given = container.environment
    may_consent = any(
        (name.endswith("TRUST_REMOTE_CODE") and value.lower() not in _NO) or name in _SETTINGS
        for name, value in given.items()
    )
    kind, server = shape.wrapper or shape.model_type, "vllm" if container.runs_vllm else container.server
    if kind is None or may_consent or not reads_config(container) or reason_against(container):
        return False
    return not knows_type(kind, server, version.transformers)
