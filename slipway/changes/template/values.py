"""Values of a template, of which parts may be known only on AWS, as lists and texts."""

import json
from typing import Any


def as_list(value: Any) -> list[Any]:
    """IAM takes one value for a list of one."""
    return value if isinstance(value, list) else [value]


def shown(value: Any) -> str:
    """A value of which parts may be known only on AWS, as `${Name}` or `${Name.Attribute}`."""
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
    """Of `${Bucket}` or `${Bucket.Arn}`; '' for other texts."""
    return name[2:-1].split(".")[0] if name.startswith("${") and name.endswith("}") and name.count("${") == 1 else ""


def text_of(value: Any) -> str:
    """The same text for the same JSON."""
    return json.dumps(value, sort_keys=True, default=lambda _: "AWS::NoValue")
