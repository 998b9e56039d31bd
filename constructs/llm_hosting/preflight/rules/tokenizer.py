"""Rules over the tokenizer and the chat template, which turn texts and chats into tokens."""

import re
from collections.abc import Iterator

from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Container, Resolution
from .rule import error, warning

_NAMES_TOKENIZER = re.compile(r"(^|_)TOKENIZER(_PATH|_NAME)?$|(^|_)SKIP_TOKENIZER_INIT$")
_NAMES_TEMPLATE = re.compile(r"CHAT_TEMPLATE(_FILE|_PATH)?$|^TOKENIZER_CONFIG_PATH$")  # the latter is TGI's
_MODES_OF_TRANSFORMERS = (
    "",
    "auto",
    "hf",
    "fast",
    "slow",
)  # values of vLLM's tokenizer_mode; others format chats in code
_WITHOUT_TEMPLATES = ("tgi", "sglang", "transformers")  # servers without templates of their own
# Earlier transformers has a template for each class of tokenizers; vLLM needs 4.44 from 0.6 on.
_TRANSFORMERS_WITHOUT_TEMPLATES_FROM, _IN_VLLM_FROM = "4.44", "0.6"
_MISTRALS_OWN = "tekken.json"  # engines with mistral-common read this file alone
_TEXT = "text"  # the beginning of all tasks of the toolkit that need a tokenizer


@error
def tokenizer_is_there(resolution: Resolution) -> Iterator[Finding]:
    """An engine loads the tokenizer from beside the weights, and ends at its start if there is none."""
    container, lock = resolution.container, resolution.container.lock
    if lock is None or lock.has_tokenizer is not False or container.may_have_own_code:
        return
    is_of_text = container.server != "huggingface" or container.environment.get("HF_TASK", _TEXT).startswith(_TEXT)
    if is_of_text and not _names_tokenizer(container):
        yield Finding(
            "model.id",
            f"{lock.model_id!r} has no tokenizer beside its weights ({lock.shape.source}), without which "
            f"{container.engine} ends at its start",
            "add the tokenizer's files of the model that it was made from, such as tokenizer.json and "
            "tokenizer_config.json, and run `slipway lock <name>`",
        )


@error
def tokenizer_is_whole(resolution: Resolution) -> Iterator[Finding]:
    """An engine that reads the tokenizer ends at its start if the file is empty, cut, or a git-lfs pointer."""
    container, lock = resolution.container, resolution.container.lock
    reads_another = container.may_have_own_code or container.server == "llama-cpp" or _names_tokenizer(container)
    is_of_text = container.server != "huggingface" or container.environment.get("HF_TASK", _TEXT).startswith(_TEXT)
    if lock is None or not lock.unreadable or reads_another or not is_of_text or _names_mode(container):
        return
    file = lock.unreadable[0]
    if _MISTRALS_OWN in lock.files and file != _MISTRALS_OWN:
        return
    yield Finding(
        "model.id",
        f"{file} of {lock.model_id!r} can't be read ({lock.shape.source}): it is empty, cut, or another thing",
        "copy or upload that file again, and run `slipway lock <name>`",
    )


@warning
def chats_have_a_template(resolution: Resolution) -> Iterator[Finding]:
    """A model's chat template says how to write messages as a prompt; without one, engines refuse chats.

    llama.cpp, and transformers before 4.44, have templates of their own.
    """
    container, lock = resolution.container, resolution.container.lock
    brings_none = lock is not None and lock.shape.chat_template is False and not lock.has_own_code
    if not brings_none or "messages" not in resolution.bodies or container.may_have_own_code:
        return
    if not _refuses_without(container) or _names_template(container) or _names_tokenizer(container):
        return
    others = " or ".join(f"`{body}`" for body in resolution.bodies if body != "messages")
    template = "add `chat_template` to its tokenizer_config.json, such as that of the model it was made from, and run "
    template += "`slipway lock <name>`"
    yield Finding(
        "model.id",
        f"{container.model_id!r} has no chat template, so {container.engine} refuses every chat (`messages`)"
        f"{'' if others else ', and it takes nothing else'}",
        f"{template}, or call it by {others} only" if others else template,
    )


def _names_tokenizer(container: Container) -> bool:
    """Whether a variable names another tokenizer, or switches the tokenizer off."""
    return any(value and _NAMES_TOKENIZER.search(name) for name, value in container.environment.items())


def _names_mode(container: Container) -> bool:
    """Whether a variable names a library of tokenizers, which may read other files."""
    return any(value and name.endswith("TOKENIZER_MODE") for name, value in container.environment.items())


def _names_template(container: Container) -> bool:
    """Whether a variable names a template, or a library that formats chats in code."""
    return any(
        value not in _MODES_OF_TRANSFORMERS
        if name.endswith("TOKENIZER_MODE")
        else value and _NAMES_TEMPLATE.search(name)
        for name, value in container.environment.items()
    )


def _refuses_without(container: Container) -> bool:
    """Whether the engine is known to have no template of its own."""
    transformers = container.version.transformers if container.version else None
    return (
        container.server in _WITHOUT_TEMPLATES
        or not is_before(transformers or "0", _TRANSFORMERS_WITHOUT_TEMPLATES_FROM)
        or not is_before(container.vllm or "0", _IN_VLLM_FROM)
    )
