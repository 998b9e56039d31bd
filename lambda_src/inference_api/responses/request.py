"""The body of POST /responses -> the body of a chat, and the members of the answer that repeat the request."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from inference_api.model.request_body import read_document
from inference_api.responses.checks import a_flag, a_name, a_text, an_object, one_of
from inference_api.responses.fields import FIELDS, OF_CHATS, check_fields
from inference_api.responses.items import read_input
from inference_api.responses.tools import Tools, read_choice, read_tools
from inference_api.shared.errors import ApiError

_LOGPROBS = "message.output_text.logprobs"
_AS_ON_CHATS = ("model", "temperature", "top_p", "stream")
_MESSAGE = re.compile(r"messages\[(\d+)\]")
# The names of a chat's fields in this body, for errors about the translated body.
_OF_BODY = {each: name for each, name in OF_CHATS.items() if each != "logprobs"}


class ResponseRequest(NamedTuple):
    """A checked request.

    chat: the chat's body. echo: the members of the answer that repeat the request. fields: the field that each message
    of the chat comes from. summarizes: whether the caller wants reasoning as a summary.
    """

    chat: dict[str, Any]
    echo: dict[str, Any]
    tools: Tools
    fields: list[str]
    summarizes: bool

    def in_words_of_caller(self, error: ApiError) -> ApiError:
        """Return a refusal of the chat with the names of this body's fields."""
        field = error.field
        if field is None:
            return error
        named = _MESSAGE.sub(lambda found: self.fields[int(found[1])], field).replace(".image_url.url", ".image_url")
        first, *rest = re.split(r"(?=[.\[])", named, maxsplit=1)
        named = "".join((_OF_BODY.get(first, first), *rest))
        if named != field:
            error.field, error.message = named, error.message.replace(field, named, 1)
        return error


def read_request(body: bytes, content_type: str | None, max_bytes: int) -> ResponseRequest:
    """Check a body and translate it. Raises ApiError 400, 413 or 415."""
    document = read_document(body, content_type, ("input",), max_bytes)
    document = {name: value for name, value in document.items() if value is not None}
    check_fields(document)
    messages, tools = read_input(document), read_tools(document.get("tools"))
    choice, functions = read_choice(document.get("tool_choice"), tools)
    text, reasoning = _read_text(document), _read_reasoning(document)
    logprobs = _LOGPROBS in document.get("include", ()) or document.get("top_logprobs") is not None
    chat = {
        **{name: document[name] for name in _AS_ON_CHATS if name in document},
        "messages": messages.made,
        "max_tokens": document.get("max_output_tokens"),
        "tools": functions or None,
        "tool_choice": choice if functions else None,
        "parallel_tool_calls": document.get("parallel_tool_calls") if functions else None,
        "response_format": _response_format(text["format"]),
        "reasoning_effort": reasoning["effort"],
        "logprobs": logprobs or None,
        "top_logprobs": document.get("top_logprobs"),
        # Fields that only engines know, such as top_k, pass as on chats.
        **{name: value for name, value in document.items() if name not in FIELDS},
    }
    return ResponseRequest(
        chat={name: value for name, value in chat.items() if value is not None},
        echo=_echo(document, text, reasoning),
        tools=tools,
        fields=messages.fields,
        summarizes=reasoning["summary"] is not None,
    )


def chat_body(request: ResponseRequest) -> bytes:
    """Return the chat's body as bytes, without spaces: the limit of the caller's body holds for it, too."""
    return json.dumps(request.chat, ensure_ascii=False, separators=(",", ":")).encode()


def _read_text(document: Mapping[str, Any]) -> dict[str, Any]:
    text = document.get("text", {})
    verbosity = text.get("verbosity")
    if verbosity is not None:
        one_of("low", "medium", "high")(verbosity, "text.verbosity")
    form = text.get("format")
    form = {"type": "text"} if form is None else an_object(form, "text.format")
    one_of("text", "json_object", "json_schema")(form.get("type"), "text.format.type")
    if form["type"] == "json_schema":
        a_name(form.get("name"), "text.format.name")
        an_object(form.get("schema"), "text.format.schema")
        for name, check in (("description", a_text), ("strict", a_flag)):
            if form.get(name) is not None:
                check(form[name], f"text.format.{name}")
    return {"format": form} | ({"verbosity": verbosity} if verbosity else {})


def _response_format(form: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the form of a chat's answer; None for plain text."""
    if form["type"] == "json_schema":
        named = {name: value for name, value in form.items() if name != "type" and value is not None}
        return {"type": "json_schema", "json_schema": named}
    return None if form["type"] == "text" else {"type": form["type"]}


def _read_reasoning(document: Mapping[str, Any]) -> dict[str, Any]:
    reasoning = document.get("reasoning", {})
    effort, summary = reasoning.get("effort"), reasoning.get("summary")
    if summary is None:
        summary = reasoning.get("generate_summary")  # its old name
    if effort is not None:
        a_name(effort, "reasoning.effort")
    if summary is not None:
        one_of("auto", "concise", "detailed")(summary, "reasoning.summary")
    return {"effort": effort, "summary": summary}


def _echo(document: Mapping[str, Any], text: dict[str, Any], reasoning: dict[str, Any]) -> dict[str, Any]:
    same = ("instructions", "max_output_tokens", "max_tool_calls", "prompt_cache_key", "safety_identifier", "user")
    return {
        **{name: document.get(name) for name in same},
        "metadata": document.get("metadata", {}),
        "temperature": document.get("temperature", 1),
        "top_p": document.get("top_p", 1),
        "top_logprobs": document.get("top_logprobs", 0),
        "parallel_tool_calls": document.get("parallel_tool_calls", True),
        "tool_choice": document.get("tool_choice", "auto"),
        "tools": [_tool(each) for each in document.get("tools", ())],
        "text": text,
        "reasoning": reasoning,
        "background": False,
        "previous_response_id": None,
        "service_tier": "default",
        "store": False,
        "truncation": "disabled",
    }


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as the SDK's types have it: a function needs both of these."""
    return {"parameters": None, "strict": None, **tool} if tool["type"] == "function" else dict(tool)
