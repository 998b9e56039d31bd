"""A parameter of a portable template."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..editing.places import Place


@dataclass(frozen=True)
class Parameter:
    """A parameter, and the places of the template that it fills.

    description: its unit, its effect, and the meaning of an empty value.
    default: None = a value must be given.
    own: the deployment's own value if it can't be a default, such as an ARN with an account.
    allowed: the allowed values. least, most: limits of a number. pattern: a text must match it.
    stands_in: the text of the template that the parameter replaces; None = it always has its places.
    places: where the parameter stands. conditions, mappings, rules: the sections that these places need.
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
        """Return the entry of the template's section `Parameters`."""
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
    """Return a parameter with the values `true` and `false`, by default `false`. condition: it holds for `true`."""
    return Parameter(
        name,
        "String",
        description,
        default="false",
        allowed=("true", "false"),
        places=(place,),
        conditions={condition: {"Fn::Equals": [{"Ref": name}, "true"]}},
    )
