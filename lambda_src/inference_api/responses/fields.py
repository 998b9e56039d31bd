"""The fields of a body of POST /responses, and what becomes of each. docs/openai.md shows the table."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from inference_api.http.metadata import check_metadata
from inference_api.responses.checks import (
    Check,
    a_flag,
    a_list,
    a_number,
    a_number_from,
    a_text,
    an_object,
    invalid,
    one_of,
    only_false,
    refused,
    texts,
)

TRANSLATED, ACCEPTED, REFUSED = "translated", "accepted", "refused"


class Field(NamedTuple):
    """A field. check: of its value. fate: one of the three words above. meaning: what becomes of it."""

    check: Check
    fate: str
    meaning: str


def _input(value: Any, field: str) -> None:
    if not isinstance(value, str | list):
        raise invalid(field, "must be a string or a list of items")


def _cache_options(value: Any, field: str) -> None:
    if an_object(value, field).get("prewarm") is not None:
        only_false("an engine caches the prompts that it answers; remove it")(value["prewarm"], f"{field}.prewarm")


_SEND_ALL = "send all items of the conversation in input"

FIELDS: Mapping[str, Field] = {
    "input": Field(_input, TRANSLATED, "a text, or items (below), become `messages`"),
    "instructions": Field(a_text, TRANSLATED, "the first `system` message; `developer` messages that follow join it"),
    "model": Field(a_text, TRANSLATED, "as on chats; may be left out"),
    "max_output_tokens": Field(a_number_from(1), TRANSLATED, "`max_tokens`"),
    "temperature": Field(a_number, TRANSLATED, "as on chats"),
    "top_p": Field(a_number, TRANSLATED, "as on chats"),
    "stream": Field(a_flag, TRANSLATED, "events of this API; they do not end with `[DONE]`"),
    "text": Field(an_object, TRANSLATED, "`format` becomes `response_format`; `verbosity` has no effect"),
    "tools": Field(a_list, TRANSLATED, "`function`, `custom` and `namespace` become functions; others are a 400"),
    "tool_choice": Field(lambda value, field: None, TRANSLATED, "a word, a function, a custom tool or `allowed_tools`"),
    "parallel_tool_calls": Field(a_flag, TRANSLATED, "as on chats, with `tools`"),
    "reasoning": Field(
        an_object, TRANSLATED, "`effort` becomes `reasoning_effort`; with `summary` reasoning comes as a summary"
    ),
    "include": Field(texts, TRANSLATED, "`message.output_text.logprobs` becomes `logprobs`; others have no effect"),
    "top_logprobs": Field(a_number_from(0, 20), TRANSLATED, "`logprobs` with that many"),
    "metadata": Field(lambda value, field: check_metadata(value), ACCEPTED, "comes back in the answer"),
    "user": Field(a_text, ACCEPTED, "comes back in the answer"),
    "safety_identifier": Field(a_text, ACCEPTED, "comes back in the answer"),
    "prompt_cache_key": Field(a_text, ACCEPTED, "comes back in the answer"),
    "max_tool_calls": Field(a_number_from(1), ACCEPTED, "comes back in the answer; it limits built-in tools only"),
    "store": Field(a_flag, ACCEPTED, "nothing is stored; the answer says `store: false`"),
    "truncation": Field(one_of("auto", "disabled"), ACCEPTED, "nothing is cut off: a prompt that is too long is a 400"),
    "service_tier": Field(a_text, ACCEPTED, "no effect; the answer says `default`"),
    "stream_options": Field(an_object, ACCEPTED, "no effect: events have no `obfuscation`"),
    "prompt_cache_options": Field(_cache_options, ACCEPTED, "no effect; `prewarm: true` is a 400"),
    "prompt_cache_retention": Field(a_text, ACCEPTED, "no effect"),
    "image": Field(an_object, ACCEPTED, "no effect"),
    "client_metadata": Field(an_object, ACCEPTED, "no effect; Codex sends it"),
    "access_programs": Field(an_object, ACCEPTED, "no effect"),
    "background_options": Field(an_object, ACCEPTED, "no effect"),
    "background": Field(only_false("POST jobs takes work for later"), REFUSED, "`true` is a 400; use jobs or batches"),
    "previous_response_id": Field(refused(_SEND_ALL), REFUSED, "nothing is stored: " + _SEND_ALL),
    "conversation": Field(refused(_SEND_ALL), REFUSED, "nothing is stored: " + _SEND_ALL),
    "prompt": Field(refused("send its text in instructions or input"), REFUSED, "no stored prompts"),
    "moderation": Field(refused("remove it"), REFUSED, "there is no model for it"),
    "context_management": Field(refused("shorten input before you send it"), REFUSED, "nothing is compacted"),
}
# Fields of chats, by the field that means the same here.
OF_CHATS = {
    "messages": "input",
    "inputs": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
    "functions": "tools",
    "function_call": "tool_choice",
    "logprobs": "top_logprobs",
}


def check_fields(document: Mapping[str, Any]) -> None:
    """Check the type of each field, and that none is one of chats. Nulls pass, and fields that only engines know.

    Raises ApiError 400, which names the field.
    """
    for name, value in document.items():
        if name in OF_CHATS:
            raise invalid(name, f"is a field of chat/completions; here it is {OF_CHATS[name]}")
        if name == "n" and value not in (None, 1):
            raise invalid(name, "a response has one answer; remove it, or send several requests")
        if value is not None and name in FIELDS:
            FIELDS[name].check(value, name)
    if document.get("stream_options") is not None and not document.get("stream"):
        raise invalid("stream_options", "is allowed only with stream: true; remove it")
