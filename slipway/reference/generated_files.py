"""Writes the JSON Schemas, the OpenAPI document, the references of files, and the tables in docs/."""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.overlay import EXTENDS
from llm_hosting.deployment.settings.shared_endpoint import SharedEndpoint
from llm_hosting.fleets.fleet import Fleet
from llm_hosting.fleets.rules import RULES
from llm_hosting.preflight.rules.rule import Rule
from llm_hosting.preflight.shared_endpoints import RULES as SHARED_RULES
from slipway.openapi.document import document
from slipway.reference.tables import filled

INTRODUCTION = """\
# The deployment file

One file `deployments/<name>.yaml` describes one hosted model and its API; `<name>` is also the stack's name. This page
and the schemas in `deployments/` are written from the models in `constructs/llm_hosting/deployment/settings/` by
`make reference`. [Overlays](#overlays) change a deployment for one account or stage.

Only `model.id` and `hosting.instance_type` are required; `hosting.endpoint` may stand in place of the latter. Synth
refuses unknown keys, wrong types and settings that AWS or the container would refuse later, and prints all problems at
once.
"""
OVERLAYS = """\
## Overlays

The same service in several accounts or sizes, without a copy: `deployments/<base>/<overlay>.yaml` holds only the
settings in which it differs from `deployments/<base>.yaml`, whose name it repeats.

```yaml
# yaml-language-server: $schema=../overlay.schema.json
# deployments/qwen3-4b/prod.yaml: the stack qwen3-4b-prod
extends: qwen3-4b
hosting:
  instance_count: {min: 2, max: 4}
```

- Its name on the command line is `qwen3-4b/prod`, its stack `qwen3-4b-prod`: `check qwen3-4b/prod`,
  `-c deployment=qwen3-4b/prod`. Commands on deployed stacks take either name.
- Mappings are merged key by key. Everything else replaces the base's value: a list as a whole, too. `null` is the
  default, of a setting, a whole section or one variable of `serving.environment`; only `alarms.idle_in_hours` takes
  null itself, which means no alarm there as in any file.
- There is one level: the base is the deployment file beside the folder, never an overlay. There are no variables and no
  options that set something on the side.
- The base is a deployment of its own, and an edit of it is one of all its overlays.
- `check` lists what an overlay sets: the base's value and its own, defaults included. An error names the file that
  holds the wrong value.
"""
FLEET_INTRODUCTION = """\
# The fleet file

One file `fleets/<name>.yaml` puts one deployment into many accounts and regions by CloudFormation StackSets;
`npx cdk deploy -c fleet=<name>` deploys it, and `slipway fleet plan <name>` says before what that means. This
page and `fleets/schema.json` are written by `make reference` from the models in
`constructs/llm_hosting/fleets/fleet.py`.

Only `deployment` and `targets` are required. Synth refuses unknown keys and wrong types, and judges the
[rules](#rules) over the deployment's template.
"""
RULES_TABLE = """
## Rules

| Rule | Level | Law |
| --- | --- | --- |
"""
ENDPOINT_INTRODUCTION = """\
# The endpoint file

One file `endpoints/<name>.yaml` describes an endpoint for [several deployments](shared-endpoint.md). This page and
`endpoints/schema.json` are written by `make reference` from the models in
`constructs/llm_hosting/deployment/settings/shared_endpoint.py`.
"""
_PAGES = "deployments engines evidence idle models openai permissions rules"
FILLED = tuple(f"{page}.md" for page in _PAGES.split())
CONSTRAINTS = {"minimum": ">= {}", "exclusiveMinimum": "> {}", "maximum": "<= {}", "maxLength": "at most {} characters"}
KINDS = {"object": "mapping of text to text", "array": "list", "string": "text", "integer": "whole number"}


def run(root: Path) -> None:
    """Write all generated files."""
    for path, text in files(root).items():
        path.write_text(text)
        print(f"wrote {path.relative_to(root)}")


def files(root: Path) -> dict[Path, str]:
    """The content of each generated file."""
    schema, fleet = Deployment.model_json_schema(), Fleet.model_json_schema()
    endpoint = SharedEndpoint.model_json_schema()
    page = "\n".join([INTRODUCTION, *_section(schema, schema, "", "The whole file"), OVERLAYS])
    return {
        root / "deployments" / "schema.json": json.dumps(schema, indent=2) + "\n",
        root / "deployments" / "overlay.schema.json": json.dumps(_of_overlays(schema), indent=2) + "\n",
        root / "docs" / "deployment-file.md": page,
        root / "fleets" / "schema.json": json.dumps(fleet, indent=2) + "\n",
        root / "docs" / "fleet-file.md": "\n".join([FLEET_INTRODUCTION, *_section(fleet, fleet, "", "The whole file")])
        + _rules_table(RULES),
        root / "endpoints" / "schema.json": json.dumps(endpoint, indent=2) + "\n",
        root / "docs" / "endpoint-file.md": "\n".join(
            [ENDPOINT_INTRODUCTION, *_section(endpoint, endpoint, "", "The whole file")]
        )
        + _rules_table(SHARED_RULES),
        root / "docs" / "openapi.json": json.dumps(document(), indent=2) + "\n",
        **{path: filled(path.read_text(), root) for path in (root / "docs" / name for name in FILLED)},
    }


def _rules_table(rules: Sequence[Rule[Any]]) -> str:
    return RULES_TABLE + "".join(f"| `{rule.id}` | {rule.level} | {rule.sentence} |\n" for rule in rules)


def _of_overlays(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of overlays: only `extends` is required, and each setting may be null."""
    schema = deepcopy(schema)
    for section in (schema, *schema["$defs"].values()):
        section.pop("required", None)
        section.pop("anyOf", None)  # of which one is required
        for name, field in section["properties"].items():
            field.pop("default", None)
            if isinstance(field.get("additionalProperties"), dict):
                field["additionalProperties"] = _or_null(field["additionalProperties"])
            section["properties"][name] = _or_null(field)
    base = {"type": "string", "description": "Name of the base: of the file's folder, and of the deployment beside it."}
    schema["properties"] = {EXTENDS: base} | schema["properties"]
    return schema | {"required": [EXTENDS], "description": "A deployment, as far as it differs from its base."}


def _or_null(field: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [field, {"type": "null"}], **{name: field.pop(name) for name in ("description",) if name in field}}


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
            many = "[]" if "items" in field else ".<name>" if "patternProperties" in field else ""
            nested.append((f"{path}{name}{many}", inner))
        if name in required or ("default" not in field and field.get("type") != "object"):
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
    by_name = field.get("patternProperties", {}).values()
    for candidate in (field, field.get("items", {}), *by_name, *field.get("anyOf", []), *field.get("allOf", [])):
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
        if "patternProperties" in field:
            return "sections by name"
        return "list of sections" if "items" in field else "section"
    limits = [text.format(field[name]) for name, text in CONSTRAINTS.items() if name in field]
    return " ".join([KINDS.get(field["type"], field["type"]), ", ".join(limits)]).strip()
