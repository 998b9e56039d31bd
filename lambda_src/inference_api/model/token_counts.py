"""Tokens of prompts and answers: as the engine reports them, otherwise estimated by length."""

import json
from collections.abc import Mapping
from typing import Any

from inference_api.model.images import image_tokens
from inference_api.model.request_body import answer_tokens
from inference_api.shared.errors import ApiError
from inference_api.shared.request_rules import RequestRules

_BYTES_PER_TOKEN = 4  # of English; other languages have fewer
_UNSAID_TOKENS = 256  # assumed for an answer if the body sets no limit
_MOST_TOKENS = 100_000_000  # a body may ask for any number, even one with more digits than DynamoDB's numbers have


def most_tokens(document: Mapping[str, Any], rules: RequestRules) -> tuple[int, int]:
    """Return the tokens of the prompt, estimated by its length, and the most tokens that its answers may have."""
    try:
        most = answer_tokens(document, rules)
    except ApiError:
        most = _UNSAID_TOKENS
    return _prompt_tokens(document) + image_tokens(document, rules.images), min(most, _MOST_TOKENS)


def tokens_of(answer: bytes) -> tuple[int | None, int] | None:
    """Return the tokens of prompt and answer that an engine's whole answer reports; None if it reports none."""
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    usage = document.get("usage") if isinstance(document, dict) else None
    if isinstance(usage, dict):
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
        return (prompt, completion) if is_count(prompt) and is_count(completion) else None
    # Details are there if the caller asked for them. TGI and LMI send one object, or one for each prompt. Our own
    # server sends one for each sample, with the prompt's tokens in each; of several prompts each has a list of its own.
    by_prompt = document if isinstance(document, list) else [document]
    if not all(isinstance(each, list) for each in by_prompt):
        by_prompt = [by_prompt]
    details = [[_details(each) for each in samples] for samples in by_prompt]
    counts: list[Any] = [each.get("generated_tokens") for samples in details for each in samples]
    prompts: list[Any] = [samples[0].get("prompt_tokens") for samples in details if samples]
    if not counts or not all(map(is_count, counts)):
        return None
    return (sum(prompts) if all(map(is_count, prompts)) else None), sum(counts)


def _details(sample: Any) -> Mapping[str, Any]:
    details = sample.get("details") if isinstance(sample, dict) else None
    return details if isinstance(details, dict) else {}


def _prompt_tokens(document: Mapping[str, Any]) -> int:
    """Estimate the tokens of the prompt, at least 1, without its images."""
    if "query" in document:
        return pair_tokens(document["query"], document.get("documents") or document.get("texts"))
    prompt = document.get("inputs") or document.get("prompt") or document.get("input") or []
    parts = prompt if isinstance(prompt, list) else [prompt]
    given = sum(type(token) is int for part in parts for token in (part if isinstance(part, list) else [part]))
    texts = [part for part in parts if isinstance(part, str)]
    texts += [text for message in document.get("messages") or [] for text in _texts_of(message)]
    texts += _as_json(document, "tools", "functions")
    return max(1, given + tokens_by_length(sum(len(text.encode(errors="replace")) for text in texts)))


def pair_tokens(query: str, documents: Any) -> int:
    """Estimate the tokens of a query that a model reads with each of the documents."""
    texts = [text for text in documents if isinstance(text, str)] if isinstance(documents, list) else []
    return max(1, sum(tokens_by_length(len((query + text).encode(errors="replace"))) for text in texts))


def _texts_of(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    said = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in said if isinstance(text, str)] + _as_json(message, "tool_calls")


def _as_json(holder: Mapping[str, Any], *names: str) -> list[str]:
    """Return members as JSON, as chat templates put them into the prompt."""
    return [json.dumps(holder[name], ensure_ascii=False) for name in names if holder.get(name)]


def tokens_by_length(length_in_bytes: int) -> int:
    """Estimate the tokens of a text."""
    return -(-length_in_bytes // _BYTES_PER_TOKEN)


def is_count(value: object) -> bool:
    """Whether an engine's figure is a valid count. With an invalid one a job's end could not be written."""
    return type(value) is int and 0 <= value <= _MOST_TOKENS
