"""Tokens of prompts and answers: as the engine says them, else estimated by length."""

import json
from collections.abc import Mapping
from typing import Any

from inference_api.errors import ApiError
from inference_api.request_body import RequestRules, answer_tokens

_BYTES_PER_TOKEN = 4  # of English; other languages have fewer
_UNSAID_TOKENS = 256  # of an answer whose body sets no limit
_MOST_TOKENS = 100_000_000  # a body may ask for more than models make, and than DynamoDB's numbers have digits for


def most_tokens(body: bytes, document: Mapping[str, Any], rules: RequestRules) -> tuple[int, int]:
    """Of the prompt, by its length, and of the answers that a checked body asks for."""
    try:
        most = answer_tokens(document, rules.ranges)
    except ApiError:
        most = _UNSAID_TOKENS
    return tokens_by_length(len(body)), min(most, _MOST_TOKENS)


def tokens_of(answer: bytes) -> tuple[int | None, int] | None:
    """Of prompt and answer, as a whole answer of the engine says them; None where it does not."""
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    usage = document.get("usage") if isinstance(document, dict) else None
    if isinstance(usage, dict):
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
        return (prompt, completion) if _is_count(prompt) and _is_count(completion) else None
    # TGI and LMI: one object, or one for each prompt, with details where the caller asked for them.
    texts = document if isinstance(document, list) else [document]
    details = [each.get("details") for each in texts if isinstance(each, dict)]
    counts: list[Any] = [each.get("generated_tokens") for each in details if isinstance(each, dict)]
    return (None, sum(counts)) if counts and all(map(_is_count, counts)) else None


def tokens_by_length(length_in_bytes: int) -> int:
    return -(-length_in_bytes // _BYTES_PER_TOKEN)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0
