"""Items of a response's input -> messages of a chat."""

import json
from collections.abc import Mapping
from typing import Any

from inference_api.responses.checks import a_list, a_name, a_text, an_object, empty, invalid, one_of
from inference_api.responses.tools import arguments_of_text, function_name

_SYSTEM = ("system", "developer")
_ROLES = ("user", "assistant", *_SYSTEM)
_TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
_BETWEEN = "\n\n"


def read_input(document: Mapping[str, Any]) -> "Messages":
    """Translate `instructions` and `input`. Raises ApiError 400, which names the item's field."""
    messages = Messages()
    if document.get("instructions"):
        messages.add_system(document["instructions"], "instructions")
    given = document.get("input")
    if given is None or given in ("", []):
        raise empty("input", "must be a text or a list of items that is not empty; send some text")
    if isinstance(given, str):
        messages.add("input", role="user", content=given)
    else:
        for index, item in enumerate(given):
            messages.add_item(an_object(item, f"input[{index}]"), f"input[{index}]")
    if not messages.made:
        raise empty("input", "has no message; send some text")
    return messages


class Messages:
    """The messages of a chat. fields: the field of the body that each message comes from."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.fields: list[str] = []
        self._calls = set[str]()

    def add(self, field: str, **message: Any) -> None:
        self.made.append(message)
        self.fields.append(field)

    def add_item(self, item: Mapping[str, Any], field: str) -> None:
        """Add an item. Reasoning is left out: chat templates drop that of earlier turns."""
        kind = item.get("type")
        if kind is None and "role" in item:
            kind = "message"
        if kind == "message":
            self._add_message(item, field)
        elif kind in ("function_call", "custom_tool_call"):
            self._add_call(item, field)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._add_output(item, field)
        elif kind in ("item_reference", None):
            self._check_reference(item, field)
        elif kind != "reasoning":
            raise invalid(f"{field}.type", f"{json.dumps(kind)[:60]} is not supported here; remove the item")

    def add_system(self, text: str, field: str) -> None:
        """Add instructions. Those before the first turn become one message: many chat templates take only one."""
        if len(self.made) == 1 and self.made[0]["role"] == "system":
            self.made[0]["content"] += _BETWEEN + text
        else:
            self.add(field, role="system", content=text)

    def _add_message(self, item: Mapping[str, Any], field: str) -> None:
        role = item.get("role")
        one_of(*_ROLES)(role, f"{field}.role")
        content, where = item.get("content"), f"{field}.content"
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else _parts(content, where, str(role))
        if role == "user":
            has_images = any(part["type"] != "text" for part in parts)
            self.add(field, role="user", content=parts if has_images else _joined(parts, "\n"))
        elif role in _SYSTEM:
            self.add_system(_joined(parts, "\n"), field)
        else:
            turn = self._turn(field)
            turn["content"] = _BETWEEN.join(filter(None, (turn["content"], _joined(parts, ""))))

    def _add_call(self, item: Mapping[str, Any], field: str) -> None:
        call_id = a_name(item.get("call_id"), f"{field}.call_id")
        namespace = item.get("namespace")
        name = function_name(
            a_name(item.get("name"), f"{field}.name"),
            "" if namespace is None else a_text(namespace, f"{field}.namespace"),
        )
        if item["type"] == "custom_tool_call":
            arguments = arguments_of_text(a_text(item.get("input"), f"{field}.input"))
        else:
            arguments = a_text(item.get("arguments"), f"{field}.arguments").strip() or "{}"
        self._calls.add(call_id)
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        self._turn(field).setdefault("tool_calls", []).append(call)

    def _add_output(self, item: Mapping[str, Any], field: str) -> None:
        call_id = a_name(item.get("call_id"), f"{field}.call_id")
        if call_id not in self._calls:
            problem = f"no call before it has the id {call_id[:100]}; send the call's item, too"
            raise invalid(f"{field}.call_id", problem)
        output = item.get("output")
        text = output if isinstance(output, str) else _joined(_parts(output, f"{field}.output", "tool"), "\n")
        self.add(field, role="tool", tool_call_id=call_id, content=text)

    def _turn(self, field: str) -> dict[str, Any]:
        """Return the assistant's last message: its texts and calls are items here, but one message of a chat."""
        if not self.made or self.made[-1]["role"] != "assistant":
            self.add(field, role="assistant", content=None)
        return self.made[-1]

    def _check_reference(self, item: Mapping[str, Any], field: str) -> None:
        """Pass a reference to reasoning, which is left out. Raises ApiError 400 for others."""
        if "id" not in item:
            raise invalid(f"{field}.type", "is missing; an item has a type, or a role and its content")
        if not a_name(item["id"], f"{field}.id").startswith("rs_"):
            raise invalid(field, "nothing is stored here that an item_reference could name; send the item itself")


def _parts(content: Any, field: str, role: str) -> list[dict[str, Any]]:
    if not isinstance(content, str | list):
        raise invalid(field, "must be a string or a list of parts")
    return [
        _part(an_object(part, f"{field}[{index}]"), f"{field}[{index}]", role)
        for index, part in enumerate(a_list(content, field))
    ]


def _part(part: Mapping[str, Any], field: str, role: str) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS:
        name = _TEXTS[str(kind)]
        return {"type": "text", "text": a_text(part.get(name), f"{field}.{name}")}
    if kind == "input_image" and role == "user":
        return _image(part, field)
    allowed = "input_text and input_image" if role == "user" else "texts"
    raise invalid(f"{field}.type", f"{json.dumps(kind)[:60]} is not supported in this place; {allowed} are")


def _image(part: Mapping[str, Any], field: str) -> dict[str, Any]:
    if part.get("file_id") is not None:
        raise invalid(f"{field}.file_id", "is not supported here; send the image as a data: URL in image_url")
    image = {"url": a_name(part.get("image_url"), f"{field}.image_url")}
    if (detail := part.get("detail")) not in (None, "auto"):
        one_of("low", "high", "original")(detail, f"{field}.detail")
        # Chats have no `original`; engines take each image as it is.
        image |= {} if detail == "original" else {"detail": detail}
    return {"type": "image_url", "image_url": image}


def _joined(parts: list[dict[str, Any]], between: str) -> str:
    return between.join(part["text"] for part in parts)
