"""Places in a template that can be replaced: properties by their path, and texts inside strings."""

from collections.abc import Callable, Iterator
from typing import Any

Template = dict[str, Any]
Place = Callable[[Template], None]

NO_VALUE = {"Ref": "AWS::NoValue"}


def of_type(template: Template, *kinds: str) -> dict[str, dict[str, Any]]:
    """Return the resources of these types by logical id."""
    return {name: each for name, each in template["Resources"].items() if each["Type"] in kinds}


def walk(value: Any) -> Iterator[Any]:
    """Yield the value and all its parts."""
    yield value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from walk(each)


def at(kind: str, path: str, value: Any) -> Place:
    """Return every existing property at this path, such as `ProductionVariants.0.InstanceType`."""

    def put(template: Template) -> None:
        *way, last = path.split(".")
        for resource in of_type(template, kind).values():
            parent = resource["Properties"]
            for step in way:
                parent = parent[int(step)] if isinstance(parent, list) else parent.get(step, {})
            if last in parent:
                parent[last] = value

    return put


def in_texts(text: str, *parts: Any) -> Place:
    """Return every occurrence of a text in the resources."""

    def put(template: Template) -> None:
        template["Resources"] = with_text(template["Resources"], text, *parts)

    return put


def in_statements(action: str, text: str, *parts: Any) -> Place:
    """Return every occurrence of a text in statements that allow an action."""

    def put(template: Template) -> None:
        for each in walk(template["Resources"]):
            if isinstance(each, dict) and each.get("Action") == action:
                each["Resource"] = with_text(each["Resource"], text, *parts)

    return put


def with_text(value: Any, text: str, *parts: Any) -> Any:
    """Return the value with a text in its strings replaced by these parts, which are strings and references."""
    if isinstance(value, str):
        pieces = value.split(text)
        return join([piece for end in pieces[1:] for piece in (*parts, end)], first=pieces[0])
    if isinstance(value, list):
        return [with_text(each, text, *parts) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(content := value.get("Fn::Sub"), str):
        if text not in content:
            return value
        written = "".join(part if isinstance(part, str) else f"${{{part['Ref']}}}" for part in parts)
        return {"Fn::Sub": content.replace(text, written)}
    if "Fn::Join" in value and value["Fn::Join"][0] == "":
        return join([with_text(each, text, *parts) for each in value["Fn::Join"][1]])
    return {name: with_text(each, text, *parts) for name, each in value.items()}


def join(parts: list[Any], first: str = "") -> Any:
    """Return one string, or an Fn::Join of as few parts as possible."""
    merged: list[Any] = [first]
    for part in parts:
        for each in part["Fn::Join"][1] if isinstance(part, dict) and "Fn::Join" in part else [part]:
            if isinstance(each, str) and isinstance(merged[-1], str):
                merged[-1] += each
            else:
                merged.append(each)
    merged = [each for each in merged if each != ""]
    if len(merged) > 1:
        return {"Fn::Join": ["", merged]}
    return merged[0] if merged else ""
