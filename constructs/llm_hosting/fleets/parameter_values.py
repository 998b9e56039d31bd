"""Judges parameters as CloudFormation would in each stack: allowed values, patterns, the template's rules."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..deployment.nearest import nearest


def problems_of(name: str, value: str, declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield problem and fix of one value. declared: the template's section `Parameters`."""
    if name not in declared:
        yield "is not a parameter of the template", f"use {nearest(name, declared)}"
        return
    parameter = declared[name]
    allowed = [str(each) for each in parameter.get("AllowedValues", [])]
    if allowed and value not in allowed:
        yield f"{value!r} is not allowed", f"use {nearest(value, allowed)}"
    pattern = parameter.get("AllowedPattern")
    items = value.split(",") if parameter["Type"] == "CommaDelimitedList" else [value]
    for item in (each.strip() for each in items):
        if pattern and not re.fullmatch(pattern, item):
            yield f"{item!r} does not match {pattern}", f"use this form: {parameter['Description'].rstrip('.')}"
    if parameter["Type"] == "Number":
        yield from _number(value, parameter)


def _number(value: str, parameter: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    least, most = parameter.get("MinValue"), parameter.get("MaxValue")
    if not re.fullmatch("-?[0-9]+", value):
        yield f"{value!r} is not a whole number", "use digits"
        return
    number = int(value)
    if (least is not None and number < least) or (most is not None and number > most):
        yield f"{value} is out of range", f"use {least} to {most}"


def broken_rules(template: Mapping[str, Any], values: Mapping[str, str], region: str) -> Iterator[str]:
    """Yield the descriptions of the assertions with which CloudFormation would refuse a stack.

    Only functions that our templates use in rules are known. Source: "Rule-specific intrinsic functions",
    CloudFormation User Guide.
    """
    known = {**values, "AWS::Region": region}
    for rule in template.get("Rules", {}).values():
        if "RuleCondition" not in rule or _holds(rule["RuleCondition"], known):
            for assertion in rule["Assertions"]:
                if not _holds(assertion["Assert"], known):
                    yield assertion["AssertDescription"].rstrip(".")


def _holds(condition: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    ((function, argument),) = condition.items()
    if function == "Fn::Not":
        return not _holds(argument[0], values)
    if function in ("Fn::And", "Fn::Or"):
        return (all if function == "Fn::And" else any)(_holds(each, values) for each in argument)
    one, other = argument
    if function == "Fn::Equals":
        return _value(one, values) == _value(other, values)
    if function == "Fn::Contains":
        return _value(other, values) in [_value(each, values) for each in one]
    raise ValueError(f"{function} is not known in a rule")


def _value(value: Any, values: Mapping[str, str]) -> str:
    return values.get(value["Ref"], "") if isinstance(value, dict) else str(value)
