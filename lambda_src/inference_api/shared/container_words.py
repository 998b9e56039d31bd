"""Reads the error text of a model's container: only there does LMI say whether its engine refused or failed."""

import ast
import json
import re
from contextlib import suppress
from typing import Any

# vLLM's refusal as LMI 18 and later show it, with the status 500 (djl_python/lmi_vllm/request_response_utils.py).
_VLLM_REFUSAL = re.compile(r"error=ErrorInfo\(message=(.*), type=.*, code=(\d{3})\)", re.DOTALL)
# LMI itself could not read the body. It spells this in two ways, with a rolling batch (djl_python/input_parser.py) and
# without.
_LMI_REFUSAL = re.compile(r"Input [Pp]arsing failed[.:] ")
# How engines say that a prompt is too long, alone or with its answer. The number is the limit for both together.
_TOO_LONG = re.compile(
    "|".join(
        (
            r"maximum context length(?: is| of)? \(?(\d+)",  # vLLM, SGLang
            r"longer than the maximum model length of (\d+)",  # vLLM
            r"model's context length is only (\d+)",  # vLLM of 2026
            r"longer than the model's context length \((\d+)",  # SGLang
            r"exceeds the maximum allowed length \(\d+ tokens\)",  # SGLang, for the prompt alone
            r"exceeds the available context size(?: \((\d+) tokens\))?",  # llama.cpp
            r"inputs`? must have less than \d+ tokens",  # TGI
            r"inputs`? tokens \+ `?max_new_tokens`? must be <= (\d+)",  # TGI
            r"exceeds maximum input length \(\d+",  # TensorRT-LLM
            r"are more than the (\d+) that this machine takes",  # model_src/generation
        )
    )
)
# vLLM, and servers that copy it: "The model `x` does not exist."
_UNKNOWN_MODEL = re.compile(r"\bmodel [`'\"].*[`'\"].*(does not exist|not found)", re.DOTALL | re.IGNORECASE)
# SageMaker's text if the container's process ended (aws/amazon-sagemaker-examples#2815). Its text about a slow
# container begins with "Your invocation timed out".
_NO_ANSWER = "could not get a response"


def status_of_engine(status: int | None, words: str) -> int | None:
    """Return the status of the engine inside LMI if the words tell it, otherwise the container's own.

    status: the container's; None if SageMaker does not report it. Engines repeat it in their words.
    """
    document = _document(words)
    error = document.get("error") if status in (424, 500, None) else None
    if isinstance(error, str) and (refusal := _VLLM_REFUSAL.fullmatch(error)):
        return int(refusal[2])
    if isinstance(error, str) and _LMI_REFUSAL.match(error):
        return 400
    return status or _status_in(document)


def sentence_of(words: str) -> str:
    """Return the engine's message without the JSON around it, or all of the words if they hold no message."""
    document = _document(words)
    error = document.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    if isinstance(inner, str) and (refusal := _VLLM_REFUSAL.fullmatch(inner)):
        with suppress(ValueError, SyntaxError):
            inner = ast.literal_eval(refusal[1])
    found = inner or document.get("message")
    return found if isinstance(found, str) else words


def length_refusal(sentence: str) -> str | None:
    """Return a refusal of a too long prompt in OpenAI's words, which clients look for; None for any other refusal."""
    found = _TOO_LONG.search(sentence)
    if found is None or sentence.startswith("This model's maximum context length"):
        return found and sentence
    limit = next(filter(None, found.groups()), None)
    known = f"is {limit} tokens. However, the request needs more" if limit else "is exceeded"
    return f"This model's maximum context length {known}: {sentence}"


def is_unknown_model(words: str) -> bool:
    """Whether a 404 is about the request's `model`, and not about the path."""
    return bool(_UNKNOWN_MODEL.search(words))


def is_without_answer(words: str) -> bool:
    """Whether SageMaker says that the container is gone; a slow container has another text."""
    return _NO_ANSWER in words


def _document(words: str) -> dict[str, Any]:
    """Parse the words as a JSON object, such as LMI's `{"code", "error"}`; empty if they are none."""
    try:
        document = json.loads(words)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _status_in(document: dict[str, Any]) -> int | None:
    """Return the status that the words name.

    OpenAI: `{"error": {"code": 400}}`. Older vLLM and LMI: `{"code": 400}`. TGI: `{"error_type"}`.
    """
    if document.get("error_type") == "validation":
        return 422
    inner = document.get("error")
    for holder in (inner if isinstance(inner, dict) else {}, document):
        code = holder.get("code")
        if isinstance(code, int) and 400 <= code < 600:
            return code
    return None
