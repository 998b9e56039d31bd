"""The words of a container's error: LMI hides in them whether its engine refused the request or failed."""

import json
import re

# vLLM's refusal as LMI 18 and later show it, with the status 500 (djl_python/lmi_vllm/request_response_utils.py).
_VLLM_REFUSAL = re.compile(r"error=ErrorInfo\(message=.*, code=(\d{3})\)", re.DOTALL)
# LMI itself could not read the body: the first with a rolling batch (djl_python/input_parser.py), the second without.
_LMI_REFUSAL = re.compile(r"Input [Pp]arsing failed[.:] ")
# vLLM, and servers that copy it: "The model `x` does not exist."
_UNKNOWN_MODEL = re.compile(r"\bmodel\b.*\b(does not exist|not found)", re.DOTALL | re.IGNORECASE)
# SageMaker's words in place of a container whose process ended (aws/amazon-sagemaker-examples#2815); those for one that
# is slow begin with "Your invocation timed out".
_NO_ANSWER = "could not get a response"


def status_of_engine(status: int | None, words: str) -> int | None:
    """The status that the engine inside LMI gave, where LMI's own says less; otherwise the container's own."""
    error = _error_in(words) if status in (424, 500, None) else ""
    if refusal := _VLLM_REFUSAL.fullmatch(error):
        return int(refusal[1])
    return 400 if _LMI_REFUSAL.match(error) else status


def is_unknown_model(words: str) -> bool:
    """Whether a 404 is about the request's `model`, and not about the path."""
    return bool(_UNKNOWN_MODEL.search(words))


def is_without_answer(words: str) -> bool:
    """Whether SageMaker says that the container went away, not that it is slow."""
    return _NO_ANSWER in words


def _error_in(words: str) -> str:
    """The `error` in the words of LMI, which are `{"code", "error"}`."""
    try:
        error = json.loads(words)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return error if isinstance(error, str) else ""
