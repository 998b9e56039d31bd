"""A parameter of a portable template."""

from dataclasses import dataclass
from typing import Any, Literal

from .places import Place


@dataclass(frozen=True)
class Parameter:
    """description: unit, effect, and the meaning of an empty value, for whoever fills it in.

    default: None = it has to be given. own: the deployment's own value where that is no default, such as an ARN with
    an account. allowed: values; least and most: of a number; pattern: of a text, or of each item of a list.
    places: where it stands in the template.
    """

    name: str
    type: Literal["String", "Number", "CommaDelimitedList"]
    description: str
    default: str | None = None
    own: str | None = None
    allowed: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    pattern: str | None = None
    places: tuple[Place, ...] = ()

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
