"""A parameter of a portable template."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..editing.places import Place


@dataclass(frozen=True)
class Parameter:
    """description: unit, effect, and the meaning of an empty value, for whoever fills it in.

    default: None = it has to be given. own: the deployment's own value where that is no default, such as an ARN with
    an account. allowed: values; least and most: of a number; pattern: of a text.
    stands_in: a text of the template that it replaces; None = it has its places in any case. places: where it stands.
    conditions, mappings, rules: that its places need.
    """

    name: str
    type: Literal["String", "Number"]
    description: str
    default: str | None = None
    own: str | None = None
    allowed: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    pattern: str | None = None
    stands_in: str | None = None
    places: tuple[Place, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)
    mappings: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def declaration(self) -> dict[str, Any]:
        """As it stands in a template's section `Parameters`."""
        members = {
            "Type": self.type,
            "Description": self.description,
            "Default": self.default,
            "AllowedValues": list(self.allowed) or None,
            "MinValue": self.least,
            "MaxValue": self.most,
            "AllowedPattern": self.pattern,
        }
        return {name: value for name, value in members.items() if value is not None}


def switch(name: str, description: str, place: Place, condition: str) -> Parameter:
    """`true` or `false`, which it is by default. condition: holds for `true`."""
    return Parameter(
        name,
        "String",
        description,
        default="false",
        allowed=("true", "false"),
        places=(place,),
        conditions={condition: {"Fn::Equals": [{"Ref": name}, "true"]}},
    )
