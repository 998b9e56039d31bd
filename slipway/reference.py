"""`python -m slipway reference`: writes the JSON Schema, the reference of the deployment file, the tables of docs/."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llm_hosting.deployment import Deployment
from slipway import models_reference

INTRODUCTION = """\
# The deployment file

One file `deployments/<name>.yaml` describes one hosted model and its API; `<name>` is also the stack's name. This page
and `deployments/schema.json` are written from the models in `constructs/llm_hosting/deployment.py` by `make reference`.

Only `model.id` and `hosting.instance_type` are required. Synth refuses unknown keys, wrong types and settings that AWS
or the container would refuse later, and prints all problems at once.
"""
FILLED = ("engines.md", "models.md", "rules.md")
CONSTRAINTS = {"minimum": ">= {}", "exclusiveMinimum": "> {}", "maximum": "<= {}", "maxLength": "at most {} characters"}


def run(root: Path) -> None:
    """Write all of them."""
    for path, text in files(root).items():
        path.write_text(text)
        print(f"wrote {path.relative_to(root)}")


def files(root: Path) -> dict[Path, str]:
    """The content of each generated file."""
    schema = Deployment.model_json_schema()
    page = "\n".join([INTRODUCTION, *_section(schema, schema, "", "The whole file")])
    return {
        root / "deployments" / "schema.json": json.dumps(schema, indent=2) + "\n",
        root / "docs" / "deployment-file.md": page,
        **{path: models_reference.filled(path.read_text()) for path in (root / "docs" / name for name in FILLED)},
    }


def _section(schema: dict[str, Any], section: dict[str, Any], path: str, title: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{section['description']}\n"
    yield "| Setting | Allowed | Default | Meaning |"
    yield "| --- | --- | --- | --- |"
    required = section.get("required", [])
    nested: list[tuple[str, dict[str, Any]]] = []
    for name, field in section["properties"].items():
        inner = _resolved(schema, field)
        if "properties" in inner:
            nested.append((f"{path}{name}", inner))
        if name in required:
            default = "required"
        elif field.get("default") is None and field.get("type") == "object":
            default = "`{}`"
        else:
            default = "see below" if isinstance(field.get("default"), dict) else f"`{json.dumps(field['default'])}`"
        meaning = field.get("description") or inner.get("description", "")
        yield f"| `{path}{name}` | {_allowed(schema, field)} | {default} | {meaning} |"
    yield ""
    for name, inner in nested:
        yield from _section(schema, inner, f"{name}.", f"`{name}`")


def _resolved(schema: dict[str, Any], field: dict[str, Any]) -> dict[str, Any]:
    """The model behind a field, or the field itself."""
    for candidate in (field, *field.get("anyOf", []), *field.get("allOf", [])):
        if "$ref" in candidate:
            resolved: dict[str, Any] = schema["$defs"][candidate["$ref"].rpartition("/")[2]]
            return resolved
    return field


def _allowed(schema: dict[str, Any], field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return ", or ".join(_allowed(schema, each) for each in field["anyOf"])
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if "properties" in _resolved(schema, field):
        return "section"
    limits = [text.format(field[name]) for name, text in CONSTRAINTS.items() if name in field]
    kind = {"object": "mapping of text to text", "string": "text", "number": "number", "integer": "whole number"}
    return " ".join([kind.get(field["type"], field["type"]), ", ".join(limits)]).strip()
