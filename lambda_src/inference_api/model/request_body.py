"""The rules of a generation request, checked before it costs time on the model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from inference_api.http.strict_json import read_strict_json
from inference_api.model.generation_parameters import check_names, check_parameters
from inference_api.model.images import check_images
from inference_api.shared.errors import ApiError, EngineRuleError
from inference_api.shared.request_rules import MOST_ANSWERS, Ranges, RequestRules

_PROMPTS = ("inputs", "messages", "prompt")
# The parameters that limit the length of an answer, and those that ask for several answers. Names that only one engine
# uses count only if the engine has a range for them.
_LENGTHS = {
    "inputs": ("max_new_tokens",),
    "messages": ("max_tokens", "max_completion_tokens"),
    "prompt": ("length", "max_tokens"),
}
_COPIES = ("n", "best_of", "num_samples", "num_return_sequences")
_OF_ONE_ENGINE = ("length", "num_samples", "num_return_sequences")


def check_request_body(
    body: bytes,
    content_type: str | None,
    rules: RequestRules,
    engine_serves: Callable[[], bool],
    *,
    may_stream: bool = False,
) -> dict[str, Any]:
    """Check a body and return it as a document.

    engine_serves: tells whether the engine of the rules gets the body. It is called only if the body breaks a rule that
    other engines do not have. may_stream: whether `stream` may be true.

    Raises ApiError 400, 413 or 415 for a body that the engine would refuse or that is not safe to pass on.
    """
    try:
        return _check(body, content_type, rules, may_stream)
    except EngineRuleError:
        if engine_serves():
            raise
        bodies = tuple(dict.fromkeys((*_PROMPTS, *rules.bodies)))
        of_any = replace(rules, engine="the engine", bodies=bodies, ranges={}, names=None, most_answers=MOST_ANSWERS)
        return _check(body, content_type, of_any, may_stream)


def read_document(body: bytes, content_type: str | None, keys: tuple[str, ...], max_bytes: int) -> dict[str, Any]:
    """Return a body as a document. keys: the members of which it needs one. Raises ApiError 400, 413 or 415."""
    if not body.strip():
        raise ApiError("empty_body", f"The body is empty; send JSON with {_one_of(keys)}.")
    if len(body) > max_bytes:
        message = f"The body has {len(body)} bytes; at most {max_bytes} are taken. Send a shorter one."
        raise ApiError("body_too_large", message)
    if content_type is not None and content_type.partition(";")[0].strip().lower() != "application/json":
        raise ApiError("unsupported_media_type", "Send the body with the header content-type: application/json.")
    document = read_strict_json(body)
    if not isinstance(document, dict):
        raise ApiError("invalid_json", f"The body must be a JSON object with {_one_of(keys)}.")
    return document


def _check(body: bytes, content_type: str | None, rules: RequestRules, may_stream: bool) -> dict[str, Any]:
    document = read_document(body, content_type, rules.bodies, rules.max_bytes)
    key = _prompt_key(document, rules)
    if key == "messages":
        _check_messages(document[key])
    elif key == "query":
        _check_query(document[key])
    elif (key == "inputs" and rules.makes_text) or not _is_tokens(document[key]):
        _check_texts(document[key], key)
    check_images(document, rules.images)
    parameters, prefix = _parameters(document, key)
    _check_stream(document.get("stream"), "stream", may_stream)
    _check_stream(parameters.get("stream"), prefix + "stream", may_stream and not prefix)
    if not rules.makes_text:
        return document
    check_parameters(parameters, rules.ranges, engine=rules.engine, prefix=prefix)
    for where, names in (rules.names or {}).get(key, {}).items():
        check_names(parameters if where else document, names, engine=rules.engine, prefix=where)
    if (answers := _answers(document, key, rules.ranges)) > rules.most_answers:
        message = f"{key}: all prompts together ask for {answers} answers; at most {rules.most_answers} are taken."
        raise EngineRuleError("invalid_parameter", message, field=key)
    return document


def body_for_model(body: bytes, document: Mapping[str, Any], rules: RequestRules) -> bytes:
    """Return the caller's own bytes, without `model` if it is an alias: the container refuses it, but needs none.

    document: the body, checked.
    """
    if document.get("model") not in rules.model_aliases:
        return body
    return json.dumps({name: value for name, value in document.items() if name != "model"}, ensure_ascii=False).encode()


def answer_tokens(document: Mapping[str, Any], rules: RequestRules) -> int:
    """Return the most tokens that the answers to a checked body can have. Raises ApiError 400 if it sets no limit."""
    if not rules.makes_text:
        return 0
    ranges = rules.ranges
    key = next(key for key in _PROMPTS if key in document)
    parameters, prefix = _parameters(document, key)
    # The engine's own name first, because an error names the first.
    names = sorted((name for name in _LENGTHS[key] if _counts(name, ranges)), key=lambda name: name not in ranges)
    limits: list[int] = [parameters[name] for name in names if isinstance(parameters.get(name), int)]
    if not limits or min(limits) < 1:
        field = prefix + names[0]
        message = f"{field}: set it to at least 1; this service limits each caller's answer tokens per day."
        raise ApiError("invalid_parameter", message, field=field)
    return max(limits) * _answers(document, key, ranges)


def _answers(document: Mapping[str, Any], key: str, ranges: Ranges) -> int:
    """Return the number of answers to all prompts of a checked body."""
    parameters, _ = _parameters(document, key)
    is_several = key != "messages" and isinstance(document[key], list) and not isinstance(document[key][0], int)
    prompts = len(document[key]) if is_several else 1
    return prompts * max(1, *(int(parameters.get(name) or 1) for name in _COPIES if _counts(name, ranges)))


def _counts(name: str, ranges: Ranges) -> bool:
    return name in ranges or name not in _OF_ONE_ENGINE


def _prompt_key(document: Mapping[str, Any], rules: RequestRules) -> str:
    found = [key for key in dict.fromkeys((*_PROMPTS, *rules.bodies)) if key in document]
    if len(found) == 1 and found[0] in rules.bodies:
        return found[0]
    has = ", ".join(f'"{key}"' for key in found) or "none"
    message = f"The body is invalid: {rules.engine} takes a prompt as {_one_of(rules.bodies)}; the body has {has}."
    raise (EngineRuleError if len(found) == 1 else ApiError)("unsupported_body", message)


def _parameters(document: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], str]:
    """Return the parameters and the path before their names.

    Chats and completions have them beside the prompt, `inputs` has them in an object of their own.
    """
    if key != "inputs":
        return document, ""
    parameters = document.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise ApiError("invalid_parameter", "parameters: must be an object.", field="parameters")
    return parameters or {}, "parameters."


def _check_stream(value: Any, field: str, may_stream: bool) -> None:
    if value is None or value is False or (may_stream and value is True):
        return
    if may_stream:
        raise ApiError("invalid_parameter", f"{field}: must be true or false.", field=field)
    message = f"{field}: streaming is not supported; remove it or set it to false."
    raise ApiError("stream_not_supported", message, field=field)


def _is_tokens(value: Any) -> bool:
    """Whether a prompt is a list of token ids, or a list of such lists, as OpenAI allows."""
    prompts = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    return all(
        isinstance(tokens, list) and tokens and all(type(token) is int for token in tokens) for tokens in prompts
    )


def _check_texts(value: Any, field: str) -> None:
    texts = [(field, value)]
    if isinstance(value, list):
        texts = [(f"{field}[{index}]", text) for index, text in enumerate(value)]
    if not texts:
        raise _empty(field)
    for where, text in texts:
        if not isinstance(text, str):
            rule = "a string, a list of strings, or token ids" if field == "input" else "a string or a list of strings"
            raise _invalid(where, f"{field} is {rule}")
        if not text:
            raise _empty(where)


def _check_query(query: Any) -> None:
    if not isinstance(query, str):
        raise _invalid("query", "it is a string")
    if not query:
        raise _empty("query")


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list):
        raise _invalid("messages", "it is a list of messages")
    if not messages:
        raise _empty("messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise _invalid(f"messages[{index}]", "a message is an object with a role and its content")


def _empty(field: str) -> ApiError:
    return ApiError("empty_input", f"The body is invalid: {field} is empty; send some text.", field=field)


def _invalid(field: str, rule: str) -> ApiError:
    return ApiError("invalid_input", f"The body is invalid at {field}: {rule}.", field=field)


def _one_of(bodies: tuple[str, ...]) -> str:
    return " or ".join(f'"{key}"' for key in bodies)
