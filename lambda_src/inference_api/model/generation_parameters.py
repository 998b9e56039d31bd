"""Types of the generation parameters that engines share, and the ranges of one engine."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from operator import ge, gt, le, lt
from typing import Any

from inference_api.shared.errors import ApiError, EngineRuleError
from inference_api.shared.request_rules import Ranges

_NUMBER = "a number"
_WHOLE_NUMBER = "a whole number"
_FLAG = "true or false"
_TEXTS = "a list of strings"
_NAMES = {
    _NUMBER: "temperature top_p min_p typical_p repetition_penalty frequency_penalty presence_penalty",
    _WHOLE_NUMBER: "max_new_tokens max_tokens max_completion_tokens min_new_tokens min_tokens max_length max_seq_len "
    "top_k seed n best_of top_n_tokens truncate num_beams",
    _FLAG: "do_sample return_full_text details decoder_input_details watermark ignore_eos",
    _TEXTS: "stop stop_sequences",
}
# Names that only some engines know. An engine that knows one has a range for it, perhaps without bounds.
_WHOLE_WHERE_RANGED = ("num_samples", "num_return_sequences", "length", "top_n")
# The parameters that multiply the work of one prompt. They are limited, so that no request can hold the model for long.
# OpenAI's API has the same limit.
_COPIES = ("n", "best_of", "num_samples", "num_return_sequences", "num_beams")
_MOST_COPIES = 128
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_BOUNDS = {
    "minimum": ("at least", ge),
    "maximum": ("at most", le),
    "exclusive_minimum": ("greater than", gt),
    "exclusive_maximum": ("less than", lt),
}


def check_parameters(parameters: Mapping[str, Any], ranges: Ranges, *, engine: str, prefix: str) -> None:
    """Check the types and ranges of parameters. Unknown names and nulls pass: the engine decides on them.

    prefix: the path before a name in error messages, such as `parameters.`. Raises ApiError 400 `invalid_parameter`, as
    an EngineRuleError for a value out of the engine's range.
    """
    for name, value in parameters.items():
        field = prefix + name
        kind = _KINDS.get(name) or (_ranged_kind(name) if name in ranges else None)
        if value is None or kind is None:
            continue
        may_be_text = name == "stop" and not prefix
        if not _is(value, kind) and not (may_be_text and isinstance(value, str)):
            wanted = f"a string or {kind}" if may_be_text else kind
            message = f"{field}: must be {wanted}, not {json.dumps(value)[:40]}."
            raise ApiError("invalid_parameter", message, field=field)
        if name == "max_tokens" and value == 0 and "prompt" in parameters and parameters.get("echo") is True:
            continue  # asks for the prompt alone
        for bound, limit in ranges.get(name, {}).items():
            words, holds = _BOUNDS[bound]
            if not holds(value, limit):
                message = f"{field}: {json.dumps(value)[:40]} is refused by {engine}; it must be {words} {limit}."
                raise EngineRuleError("invalid_parameter", message, field=field)
    for name in _COPIES:
        if _is(value := parameters.get(name, 0), _NUMBER) and value > _MOST_COPIES:
            asked = f"{prefix}{name}: {json.dumps(value)[:40]}"
            message = f"{asked} is refused by this service; it must be at most {_MOST_COPIES}."
            raise ApiError("invalid_parameter", message, field=prefix + name)


def check_names(fields: Mapping[str, Any], names: Sequence[str], *, engine: str, prefix: str) -> None:
    """Check that the engine knows each parameter, and that no two of them are synonyms. Nulls pass.

    names: all names that the engine takes here; a string holds a name and its synonyms. Raises EngineRuleError 400.
    """
    sent = [name for name, value in fields.items() if value is not None]
    known = [name for each in names for name in each.split()]
    for name in sent:
        if name not in known:
            near = get_close_matches(name, known, 1)
            fix = f"did you mean {near[0]}?" if near else "remove it."
            message = f"{prefix}{name[:40]}: {engine} has no such parameter in this body; {fix}"
            raise EngineRuleError("invalid_parameter", message, field=prefix + name[:40])
    for each in names:
        if len(same := [name for name in each.split() if name in sent]) > 1:
            message = f"{prefix}{same[1]}: it means the same as {same[0]} to {engine}; send only one of them."
            raise EngineRuleError("invalid_parameter", message, field=prefix + same[1])
    for name in _NAMES[_TEXTS].split():
        if "" in (fields[name] if isinstance(fields.get(name), list) else [fields.get(name)]):
            message = f"{prefix}{name}: {engine} takes no empty text; remove it."
            raise EngineRuleError("invalid_parameter", message, field=prefix + name)


def _ranged_kind(name: str) -> str:
    return _WHOLE_NUMBER if name in _WHOLE_WHERE_RANGED else _NUMBER


def _is(value: Any, kind: str) -> bool:
    if kind is _FLAG:
        return isinstance(value, bool)
    if kind is _TEXTS:
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    # Python counts true and false among the integers, JSON does not.
    return isinstance(value, int if kind is _WHOLE_NUMBER else int | float) and not isinstance(value, bool)
