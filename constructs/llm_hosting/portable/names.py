"""Names in a portable template that must not contain the stack's: a StackSet's is `StackSet-<set>-<36 characters>`."""

from typing import Any

from .editing.places import join

_STACK_NAME = {"Ref": "AWS::StackName"}
_GUID = {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
_UNIQUE = {"Fn::Select": [0, {"Fn::Split": ["-", _GUID]}]}


def with_own_name(value: Any, name: str) -> Any:
    """Replace `<stack name>-<8 hex>` by `<name>-<8 hex>`: in the names of endpoint, log group and roles."""
    if isinstance(value, list):
        return [with_own_name(each, name) for each in value]
    if not isinstance(value, dict):
        return value
    if "Fn::Join" in value:
        parts = [with_own_name(each, name) for each in value["Fn::Join"][1]]
        for index in range(len(parts) - 2):
            if parts[index : index + 3] == [_STACK_NAME, "-", _UNIQUE]:
                parts[index] = name
        return join(parts) if value["Fn::Join"][0] == "" else {"Fn::Join": [value["Fn::Join"][0], parts]}
    return {key: with_own_name(each, name) for key, each in value.items()}
