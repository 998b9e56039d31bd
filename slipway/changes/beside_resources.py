"""Changes of the template itself: macros, and exports that other stacks may import."""

from collections.abc import Iterator
from typing import Any

from slipway.changes.change import Change
from slipway.changes.template.values import shown


def beside_the_resources(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    """The changes of macros and of exports."""
    loops = any(key.startswith("Fn::") for each in (before, after) for key in each.get("Resources") or {})
    if before != after and (before.get("Transform") or after.get("Transform") or loops):
        said = "a macro changes the template on AWS: its effect on the resources is unknown here"
        yield Change("Transform", "", "unknown", "", said)
    old, new = (_exports(each) for each in (before, after))
    for name, export in old.items():
        if export != new.get(name) and export not in new.values():
            said = f"the export {export} goes: CloudFormation refuses that while another stack imports it"
            yield Change(f"Outputs.{name}", "", "removed", "Export", said, gated=True)


def _exports(template: dict[str, Any]) -> dict[str, str]:
    """The names of the exports, by output."""
    outputs = template.get("Outputs") or {}
    exports = {name: output["Export"] for name, output in outputs.items() if "Export" in output}
    return {name: shown(each.get("Name") if isinstance(each, dict) else each) for name, each in exports.items()}
