"""Turns pydantic's errors into findings that name the setting, the value and what is allowed."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ..installed_version import installed_version
from .finding import Finding

Location = tuple[int | str, ...]

SHOWN = 80  # characters of a wrong value that a message repeats
_SIZES = {
    "string_too_short": ("min_length", "at least"),
    "string_too_long": ("max_length", "at most"),
    "too_short": ("min_length", "at least"),
    "too_long": ("max_length", "at most"),
}
_TYPES = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "list_type": "a list, such as [one, two]",
    "string_type": "a text",
}
_NAMED: dict[Location, str] = {("api", "keys"): "a key", ("model", "adapters"): "an adapter"}


def errors_of(error: ValidationError) -> list[ErrorDetails]:
    """Return one error for each field; if a field takes two types, the error of the type that the file gives."""
    kept: dict[Location, ErrorDetails] = {}
    for each in _of_words_or_section(error.errors(include_url=False)):
        of_list = next((at for at, part in enumerate(each["loc"]) if str(part).startswith("list[")), None)
        location = tuple(part for part in each["loc"][:of_list] if not _is_member(part))
        other_kind = location in kept and kept[location]["type"] in ("int_type", "bool_type")
        if location not in kept or other_kind or (of_list is not None and each["type"] != "list_type"):
            kept[location] = {**each, "loc": location}
    return list(kept.values())


def _of_words_or_section(errors: list[ErrorDetails]) -> Iterator[ErrorDetails]:
    """Yield the errors, of a field that takes a word or a section only those of the kind that the file gives."""
    fields = {
        each["loc"][:depth]: isinstance(each["input"], dict)
        for each in errors
        for depth, part in enumerate(each["loc"])
        if str(part).startswith("literal[")
    }
    for each in errors:
        location = each["loc"]
        field = next((location[:depth] for depth in range(len(location)) if location[:depth] in fields), None)
        if field is None:
            yield each
        elif str(location[len(field)]).startswith("literal[") != fields[field]:
            yield {**each, "loc": field + location[len(field) + 1 :]}


def _is_member(part: int | str) -> bool:
    """Whether a part of a location is not a setting but a type of a union that pydantic tried."""
    return part in ("int", "bool") or str(part).startswith(("list[", "constrained-"))


@dataclass(frozen=True)
class SettingProblems:
    """Findings about the settings of a file. model: the model of the whole file."""

    model: type[BaseModel]

    def finding(self, error: ErrorDetails) -> Finding:
        """Return the finding, in the words of the field's own description and limits."""
        field = ".".join(str(part) for part in error["loc"] if part != "[key]")
        return Finding(field, *self._problem_and_fix(error))

    def _problem_and_fix(self, error: ErrorDetails) -> tuple[str, str]:
        kind, location = error["type"], error["loc"]
        value = "the value" if _may_be_secret(error) else _shown(error["input"])
        refused = f"{value} is not allowed"
        if kind == "extra_forbidden":
            return self._unknown_key(location)
        if kind == "missing":
            return "is missing", f"set it: {self._description(location)}"
        if kind == "literal_error":
            section = self._model_of_field(location)
            or_section = f", or put settings below it: {_known(section)}" if section else ""
            return refused, _one_of(error["input"], error["ctx"]["expected"]) + or_section
        if location[-1] == "[key]" and "silenced" in location:
            return "is not the id of a rule", "use lower-case letters, digits and hyphens"
        named = _NAMED.get(location[:2]) if location[-1] == "[key]" else None
        if named:
            return (
                f"is not allowed as the name of {named}",
                "use lower-case letters, digits and hyphens, at most 32 in all",
            )
        if location[-1] == "[key]" and location[:2] == ("security", "tags"):
            return "is not allowed as the name of a tag", "use letters, digits, spaces and _ . : / = + - @, at most 128"
        if location[-1] == "[key]":
            return (
                "is not allowed as the name of an environment variable",
                "use letters, digits and underscores, a letter first",
            )
        if kind in _SIZES:
            bound, least_or_most = _SIZES[kind]
            count = error["ctx"][bound]
            thing = "character" if kind.startswith("string") else "item"
            return refused, f"use {least_or_most} {count:,} {thing}{'s' if count > 1 else ''}"
        if kind == "model_type":
            section = self._model_of_field(location) or self._section(
                location
            )  # the latter if the user names the section
            return refused, f"put settings below it: {_known(section)}"
        if kind == "dict_type":
            section_by_name = self._model_of_field(location)
            where = "a name below it, and its settings below that" if section_by_name else "settings below it"
            return refused, f"put {where}: {_known(section_by_name)}"
        if kind == "string_type" and "account" in str(location) and isinstance(error["input"], int):
            return "is read as a number by YAML", "put its 12 digits in quotes"  # 0123 would be shown as 83
        if kind == "string_type" and not isinstance(error["input"], list | dict | None):
            return f"{value} is not read as text by YAML", "put it in quotes"
        if kind == "string_pattern_mismatch":
            return f"{value} has the wrong form", f"use this form: {self._description(location)}"
        return refused, f"use {self._range(location) or _allowed(error)}"

    def _unknown_key(self, location: Location) -> tuple[str, str]:
        section = self._section(location)
        problem = f"is not a known key of Slipway {installed_version()}".rstrip()
        elsewhere = list(_places(self.model, str(location[-1])))
        if len(elsewhere) == 1:
            return problem, f"move it to `{elsewhere[0]}`"
        nearest = difflib.get_close_matches(str(location[-1]), section.model_fields, n=1, cutoff=0.5)
        rename = f"rename it to `{nearest[0]}`, or " if nearest else ""
        return problem, f"{rename}use one of {_known(section)}; a newer version may know it"

    def _description(self, location: Location) -> str:
        location = location[:-1] if isinstance(location[-1], int) else location  # an item of a list
        field = self._section(location).model_fields.get(str(location[-1]))
        section = self._model_of_field(location)
        own = (field and field.description) or (section and section.__doc__) or self._description_of_value(location)
        return own.rstrip(".")

    def _description_of_value(self, location: Location) -> str:
        """Return the description of the values of a mapping, such as those of `model.adapters`."""
        mapping = self._section(location).model_fields.get(str(location[-2])) if len(location) > 1 else None
        values = get_args(mapping.annotation)[1:] if mapping else ()
        about = [each.description for value in values for each in get_args(value)[1:] if isinstance(each, FieldInfo)]
        return next((each for each in about if each), "")

    def _range(self, location: Location) -> str:
        """Return, for example, "a whole number, 60 or more, 3600 or less"; empty for a field without limits."""
        field = self._section(location).model_fields.get(str(location[-1]))
        words = {"ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}"}
        limits = [
            word.format(getattr(limit, name))
            for limit in (field.metadata if field else [])
            for name, word in words.items()
            if hasattr(limit, name)
        ]
        kind = "a whole number" if field and int in (field.annotation, *get_args(field.annotation)) else "a number"
        return ", ".join([kind, *limits]) if limits else ""

    def _section(self, location: Location) -> type[BaseModel]:
        """Return the model that holds the field."""
        section = self.model
        for depth in range(1, len(location)):
            section = self._model_of_field(location[:depth]) or section
        return section

    def _model_of_field(self, location: Location) -> type[BaseModel] | None:
        """Return the model of a field that is a section itself, or a list of sections."""
        field = self._section(location).model_fields.get(str(location[-1]))
        for candidate in (field.annotation, *get_args(field.annotation)) if field else ():
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                return candidate
        return None


def _places(section: type[BaseModel], name: str) -> Iterator[str]:
    """Yield each setting of this name, at any depth, such as `security.vpc`."""
    for field, found in section.model_fields.items():
        if field == name:
            yield field
        above = f"{field}.NAME" if get_origin(found.annotation) is dict else field
        for candidate in (found.annotation, *get_args(found.annotation)):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                yield from (f"{above}.{place}" for place in _places(candidate, name))


def _one_of(value: object, expected: str) -> str:
    """Return the fix, the nearest value first. expected: pydantic's list of the allowed values, texts in quotes."""
    near = difflib.get_close_matches(str(value).lower(), re.findall("'([^']*)'", expected), n=1)
    return f"did you mean {near[0]}? Use {expected}" if near else f"use {expected}"


def _allowed(error: ErrorDetails) -> str:
    """Return the allowed values of a field without limits of its own, such as a number or a text."""
    if error["type"] == "greater_than_equal":
        return f"{error['ctx']['ge']} or more"
    return _TYPES.get(error["type"], error["msg"].removeprefix("Input should be "))


def _shown(value: object) -> str:
    """Return a value as a message repeats it. YAML's words for true and false are not Python's."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _may_be_secret(error: ErrorDetails) -> bool:
    """Whether a refused value may be a token in the wrong place; all others are printed, and often logged."""
    location, is_text = error["loc"], isinstance(error["input"], str)
    return is_text and (location[:2] == ("serving", "environment") or str(location[-1]).endswith("_secret_arn"))


def _known(section: type[BaseModel] | None) -> str:
    return ", ".join(section.model_fields) if section else "NAME: value"
