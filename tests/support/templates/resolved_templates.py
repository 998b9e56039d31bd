"""Resolves a template for given parameters, so that no parameters, conditions or mappings of values are left."""

import re
from collections.abc import Mapping
from typing import Any

from llm_hosting.portable.editing.places import join

Template = dict[str, Any]
_NOTHING = object()


class Values:
    """Values of parameters: the given ones, and defaults for the others. A parameter without a value is refused."""

    def __init__(self, template: Template, given: Mapping[str, str]) -> None:
        declared = template.get("Parameters", {})
        unknown = given.keys() - declared.keys()
        assert not unknown, f"no such parameters: {unknown}"
        self.parameters = {name: given.get(name, each.get("Default")) for name, each in declared.items()}
        missing = [name for name, value in self.parameters.items() if value is None]
        assert not missing, f"not given: {missing}"
        self._mappings, self._conditions = template.get("Mappings", {}), template.get("Conditions", {})

    def holds(self, condition: Any) -> bool:
        """Return whether a condition holds, given as a name or as an expression."""
        if isinstance(condition, str):
            return self.holds(self._conditions[condition])
        ((name, argument),) = condition.items()
        if name == "Condition":
            return self.holds(argument)
        if name == "Fn::Equals":
            one, other = (str(self.of(each)) for each in argument)
            return one == other
        decide = {"Fn::Not": lambda all_: not all_[0], "Fn::And": all, "Fn::Or": any}[name]
        return bool(decide([self.holds(each) for each in argument]))

    def of(self, value: Any) -> Any:
        """Resolve a value. Numbers become texts, because CloudFormation accepts either."""
        if isinstance(value, list):
            return [each for each in map(self.of, value) if each is not _NOTHING]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref":
                return self._reference(argument)
            if name == "Fn::If":
                return self.of(argument[1 if self.holds(argument[0]) else 2])
            if name == "Fn::Join" and argument[0] == "":
                return join(self.of(argument[1]))
            if name == "Fn::Split" and isinstance(text := self.of(argument[1]), str):
                return text.split(argument[0])
            if name == "Fn::Select" and isinstance(parts := self.of(argument[1]), list):
                return parts[int(argument[0])]
            if name == "Fn::FindInMap":
                keys = self.of(argument)
                known = all(isinstance(each, str) for each in keys) and keys[0] != "Code"
                return self.of(self._mappings[keys[0]][keys[1]][keys[2]]) if known else {name: keys}
            if name == "Fn::Sub" and isinstance(argument, str):
                texts = re.split(r"\$\{([A-Za-z0-9:]+)\}", argument)
                return join([self._reference(each) if index % 2 else each for index, each in enumerate(texts)])
        members = {name: self.of(each) for name, each in value.items()}
        return {name: each for name, each in members.items() if each is not _NOTHING}

    def _reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _NOTHING
        return self.parameters.get(name, {"Ref": name})


def resolved(template: Template, given: Mapping[str, str] | None = None) -> Template:
    """Return resources and outputs as a deploy with these values makes them."""
    values = Values(template, given or {})
    sections = {}
    for section in ("Resources", "Outputs"):
        kept = {
            name: {key: part for key, part in each.items() if key != "Condition"}
            for name, each in template.get(section, {}).items()
            if "Condition" not in each or values.holds(each["Condition"])
        }
        sections[section] = values.of(kept)
    return sections
