"""Evaluates a template's intrinsic functions, so that two forms of one value compare as equal."""

import base64
import hashlib
import json
import re
from typing import Any

NO_VALUE = object()
_UNKNOWN_VALUE = "****"  # what DescribeStacks answers for a parameter with NoEcho


class Resolver:
    """Fills in parameters, mappings, conditions and pseudo parameters. A value that only AWS knows stays a reference.

    Scalars become strings, as CloudFormation compares them ("3" is 3, "true" is true).
    """

    def __init__(self, template: dict[str, Any], values: dict[str, str], region: str) -> None:
        self._mappings = template.get("Mappings") or {}
        self._conditions = template.get("Conditions") or {}
        self._names = {**_pseudo(region), **_parameters(template.get("Parameters") or {}, values)}
        self._evaluating: set[str] = set()

    def value(self, given: Any) -> Any:
        """The value in its canonical form."""
        if isinstance(given, dict):
            return self._function(given) if is_function(given) else self._object(given)
        if isinstance(given, list):
            items = [self.value(each) for each in given]
            return [each for each in items if each is not NO_VALUE]
        return scalar(given)

    def condition(self, name: str) -> Any:
        """True, False, or the part of the expression that only AWS can evaluate."""
        if name in self._evaluating or name not in self._conditions:
            return {"Condition": name}
        self._evaluating.add(name)
        try:
            return self._test(self._conditions[name])
        finally:
            self._evaluating.discard(name)

    def _object(self, given: dict[str, Any]) -> dict[str, Any]:
        items = {str(key): self.value(value) for key, value in given.items()}
        return {key: value for key, value in items.items() if value is not NO_VALUE}

    def _function(self, given: dict[str, Any]) -> Any:
        ((name, argument),) = given.items()
        method = getattr(self, "_" + name.replace("Fn::", "").lower(), None)
        try:
            if method:
                return method(argument)
        except (TypeError, ValueError, LookupError, AttributeError):
            return {"Fn::Refused": [name, self.value(argument)]}  # CloudFormation refuses such an argument
        return {name: self.value(argument)}

    def _ref(self, name: Any) -> Any:
        if not isinstance(name, str):
            raise TypeError(name)
        return self._names.get(name, {"Ref": name})

    def _getatt(self, argument: Any) -> Any:
        parts = argument.split(".", 1) if isinstance(argument, str) else argument
        name, attribute = parts
        if not isinstance(name, str):
            raise TypeError(name)
        return {"Fn::GetAtt": [name, self.value(attribute)]}

    def _sub(self, argument: Any) -> Any:
        text, names = (argument, {}) if isinstance(argument, str) else argument
        parts: list[Any] = []
        for literal, name in re.findall(r"([^$]+|\$(?!\{))|\$\{([^}]*)\}", text):
            if literal:
                parts.append(literal)
            elif name.startswith("!"):
                parts.append("${" + name[1:] + "}")
            elif name.strip() in names:
                parts.append(self.value(names[name.strip()]))
            else:
                name = name.strip()
                is_attribute = "." in name and "::" not in name
                parts.append(self._getatt(name) if is_attribute else self._ref(name))
        return _joined(parts)

    def _join(self, argument: Any) -> Any:
        separator, items = argument
        items = self.value(items)
        if not isinstance(separator, str):
            raise TypeError(separator)
        if not isinstance(items, list):
            return {"Fn::Join": [separator, items]}
        parts: list[Any] = []
        for each in items:
            parts += [separator, each] if parts else [each]
        return _joined(parts)

    def _findinmap(self, argument: list[Any]) -> Any:
        keys = [self.value(each) for each in argument[:3]]
        if all(isinstance(each, str) for each in keys):
            try:
                return self.value(self._mappings[keys[0]][keys[1]][keys[2]])
            except (KeyError, TypeError):
                if len(argument) > 3 and isinstance(argument[3], dict) and "DefaultValue" in argument[3]:
                    return self.value(argument[3]["DefaultValue"])
        return {"Fn::FindInMap": keys}

    def _select(self, argument: list[Any]) -> Any:
        index, items = self.value(argument[0]), self.value(argument[1])
        if isinstance(items, list) and isinstance(index, str) and index.isdecimal() and int(index) < len(items):
            return items[int(index)]
        return {"Fn::Select": [index, items]}

    def _split(self, argument: list[Any]) -> Any:
        separator, text = argument[0], self.value(argument[1])
        return text.split(separator) if isinstance(text, str) else {"Fn::Split": [separator, text]}

    def _if(self, argument: list[Any]) -> Any:
        condition = self.condition(argument[0])
        if isinstance(condition, bool):
            return self.value(argument[1] if condition else argument[2])
        one, other = map(self.value, argument[1:])
        if one is other or one == other:
            return one
        branches = [{"Ref": "AWS::NoValue"} if each is NO_VALUE else each for each in (one, other)]
        return {"Fn::If": [condition, *branches]}

    def _base64(self, argument: Any) -> Any:
        text = self.value(argument)
        return base64.b64encode(text.encode()).decode() if isinstance(text, str) else {"Fn::Base64": text}

    def _length(self, argument: Any) -> Any:
        items = self.value(argument)
        return str(len(items)) if isinstance(items, list) else {"Fn::Length": items}

    def _tojsonstring(self, argument: Any) -> Any:
        value = self.value(argument)
        return {"Fn::ToJsonString": value} if references(value) else json.dumps(value, sort_keys=True)

    def _test(self, given: Any) -> Any:
        ((name, argument),) = given.items()
        if name == "Condition":
            return self.condition(argument)
        if name == "Fn::Equals":
            one, other = (self.value(each) for each in argument)
            known = not references(one) and not references(other)
            return one == other if known or one == other else {name: [one, other]}
        tests = [self._test(each) for each in argument]
        if name == "Fn::Not":
            return not tests[0] if isinstance(tests[0], bool) else {name: tests}
        decisive = name == "Fn::Or"
        if decisive in [each for each in tests if isinstance(each, bool)]:
            return decisive
        unknown = [each for each in tests if not isinstance(each, bool)]
        return {name: unknown} if unknown else not decisive


def scalar(value: Any) -> str:
    """The text that CloudFormation compares."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def references(value: Any) -> bool:
    """Whether some part of the value is known only on AWS."""
    if isinstance(value, dict):
        return is_function(value) or any(references(each) for each in value.values())
    return isinstance(value, list) and any(references(each) for each in value)


def is_function(given: dict[str, Any]) -> bool:
    """Whether the object is an intrinsic function: `{"Ref": ...}` or `{"Fn::...": ...}`."""
    name = next(iter(given), None)
    return len(given) == 1 and isinstance(name, str) and (name == "Ref" or name.startswith("Fn::"))


def _joined(parts: list[Any]) -> Any:
    flat: list[Any] = []
    for part in parts:
        inner = part["Fn::Join"][1] if isinstance(part, dict) and part.get("Fn::Join", ["?"])[0] == "" else [part]
        for each in inner if isinstance(inner, list) else [part]:
            if isinstance(each, str) and flat and isinstance(flat[-1], str):
                flat[-1] += each
            elif each != "" and each is not NO_VALUE:
                flat.append(each)
    if not flat:
        return ""
    return flat[0] if len(flat) == 1 else {"Fn::Join": ["", flat]}


def _parameters(parameters: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, parameter in parameters.items():
        given = values.get(name, parameter.get("Default"))
        kind = parameter.get("Type", "String")
        if given is None or given == _UNKNOWN_VALUE:
            names[name] = {"Fn::Parameter": name}
            continue
        if kind.startswith("AWS::SSM::Parameter::Value"):
            names[name] = {"Fn::Ssm": scalar(given)}  # the value is known only on AWS
        elif kind == "CommaDelimitedList" or kind.startswith("List<"):
            given = given if isinstance(given, list) else scalar(given).split(",")
            names[name] = [scalar(each).strip() for each in given]
        else:
            names[name] = scalar(given)
        if scalar(parameter.get("NoEcho", False)) == "true":
            names[name] = {"Fn::NoEcho": hashlib.sha256(json.dumps(names[name]).encode()).hexdigest()}
    return names


def _pseudo(region: str) -> dict[str, Any]:
    partition = "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    return {"AWS::Region": region, "AWS::Partition": partition, "AWS::URLSuffix": suffix, "AWS::NoValue": NO_VALUE}
