"""JSON values that fit a schema: the document that a request demands, or the arguments of a tool."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from local_cloud.model_server.contract.answer import EngineRefusedError

_MOST_NESTED = 8


def document(parameters: Mapping[str, Any], text: Callable[[], str]) -> str | None:
    """The JSON document that `response_format` demands; without a schema it holds the text. None for plain text.

    Raises EngineRefusedError.
    """
    wanted = parameters.get("response_format") or {}
    try:
        match wanted.get("type", "text"):
            case "json_object":
                return json.dumps({"text": text()}, ensure_ascii=False)
            case "json_schema":
                return json.dumps(example(wanted["json_schema"]["schema"]), ensure_ascii=False)
            case "json":  # TGI's
                return json.dumps(example(wanted["value"]), ensure_ascii=False)
    except (AttributeError, IndexError, KeyError, TypeError):
        raise EngineRefusedError("response_format has no usable schema", param="response_format") from None
    return None


def example(schema: Any) -> Any:
    """A small value that fits a JSON schema; knows types, constants, choices and references."""
    return _example(schema, schema, 0)


def _example(schema: Any, root: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > _MOST_NESTED:
        return None
    if "$ref" in schema:
        target = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        return _example(target, root, depth + 1)
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else schema["enum"][0]
    for choices in ("anyOf", "oneOf", "allOf"):
        if schema.get(choices):
            return _example(schema[choices][0], root, depth + 1)
    kind = schema.get("type") or ("object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties") or {}
            return {name: _example(each, root, depth + 1) for name, each in properties.items()}
        case "array":
            return [_example(schema.get("items"), root, depth + 1)] * max(1, schema.get("minItems", 1))
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    return "text".ljust(schema.get("minLength", 0), "x")
