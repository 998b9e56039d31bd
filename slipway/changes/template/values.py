"""Lists and texts of template values, parts of which only AWS may know."""

import json
from typing import Any


def as_list(value: Any) -> list[Any]:
    """The value as a list: IAM and CloudFormation take one value for a list of one."""
    return value if isinstance(value, list) else [value]


def shown(value: Any) -> str:
    """The value as text, with `${Name}` or `${Name.Attribute}` for the parts that only AWS knows."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, argument),) = value.items()
        if name == "Ref":
            return "${" + (argument if isinstance(argument, str) else argument[0]) + "}"
        if name == "Fn::Parameter":
            return "${" + str(argument) + "}"
        if name == "Fn::GetAtt":
            return "${" + ".".join(map(shown, argument[:2])) + "}"
        if name == "Fn::Join" and argument[0] == "" and isinstance(argument[1], list):
            return "".join(map(shown, argument[1]))
        if name == "Fn::NoEcho":
            return "(secret)"
    return value if isinstance(value, str) else text_of(value)


def logical_id_in(name: str) -> str:
    """The logical id in `${Bucket}` or `${Bucket.Arn}`; '' for any other text."""
    return name[2:-1].split(".")[0] if name.startswith("${") and name.endswith("}") and name.count("${") == 1 else ""


def text_of(value: Any) -> str:
    """The JSON text of a value, with sorted keys: equal values have equal texts."""
    return json.dumps(value, sort_keys=True, default=lambda _: "AWS::NoValue")


def number(value: Any) -> int | None:
    """Return a whole number of a resolved template, which holds it as text; None if it is none."""
    return int(value) if isinstance(value, str) and value.isdecimal() else None
