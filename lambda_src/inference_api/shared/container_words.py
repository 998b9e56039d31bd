"""The words of a container's error: LMI hides in them whether its engine refused the request or failed."""

import ast
import json
import re
from contextlib import suppress
from typing import Any

# vLLM's refusal as LMI 18 and later show it, with the status 500 (djl_python/lmi_vllm/request_response_utils.py).
_VLLM_REFUSAL = re.compile(r"error=ErrorInfo\(message=(.*), type=.*, code=(\d{3})\)", re.DOTALL)
# LMI itself could not read the body: the first with a rolling batch (djl_python/input_parser.py), the second without.
_LMI_REFUSAL = re.compile(r"Input [Pp]arsing failed[.:] ")
# How engines say that a prompt is too long, alone or with its answer; the number is the most that both may have.
_TOO_LONG = re.compile(
    "|".join(
        (
            r"maximum context length(?: is| of)? \(?(\d+)",  # vLLM, SGLang
            r"longer than the maximum model length of (\d+)",  # vLLM
            r"model's context length is only (\d+)",  # vLLM of 2026
            r"longer than the model's context length \((\d+)",  # SGLang
            r"exceeds the maximum allowed length \(\d+ tokens\)",  # SGLang: of a prompt, less than the context
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
# SageMaker's words in place of a container whose process ended (aws/amazon-sagemaker-examples#2815); those for one that
# is slow begin with "Your invocation timed out".
_NO_ANSWER = "could not get a response"


def status_of_engine(status: int | None, words: str) -> int | None:
    """The status that the engine inside LMI gave, where LMI's own says less; otherwise the container's own.

    status: None where SageMaker does not say it; engines repeat it in their words.
    """
    document = _document(words)
    error = document.get("error") if status in (424, 500, None) else None
    if isinstance(error, str) and (refusal := _VLLM_REFUSAL.fullmatch(error)):
        return int(refusal[2])
    if isinstance(error, str) and _LMI_REFUSAL.match(error):
        return 400
    return status or _status_in(document)


def sentence_of(words: str) -> str:
    """What the engine says, without the JSON around it; the words themselves if they have no such place."""
    document = _document(words)
    error = document.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    if isinstance(inner, str) and (refusal := _VLLM_REFUSAL.fullmatch(inner)):
        with suppress(ValueError, SyntaxError):
            inner = ast.literal_eval(refusal[1])
    found = inner or document.get("message")
    return found if isinstance(found, str) else words


def too_long(sentence: str) -> str | None:
    """A refusal of a prompt for its length, in the words of OpenAI, which clients look for; None for any other."""
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
    """Whether SageMaker says that the container went away, not that it is slow."""
    return _NO_ANSWER in words


def _document(words: str) -> dict[str, Any]:
    """LMI's words are `{"code", "error"}`."""
    try:
        document = json.loads(words)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _status_in(document: dict[str, Any]) -> int | None:
    """OpenAI's `{"error": {"code": 400}}`, older vLLM's and LMI's `{"code": 400}`, TGI's `{"error_type"}`."""
    if document.get("error_type") == "validation":
        return 422
    inner = document.get("error")
    for holder in (inner if isinstance(inner, dict) else {}, document):
        code = holder.get("code")
        if isinstance(code, int) and 400 <= code < 600:
            return code
    return None
