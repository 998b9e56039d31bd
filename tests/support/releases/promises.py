"""The names that callers, operators and deployment files rely on; a release may add names, and removes none."""

from argparse import ArgumentParser
from collections.abc import Iterator
from inspect import isclass, signature
from typing import Any

from pydantic import BaseModel

import slipway
import slipway.testing
from llm_hosting.api.routes import ROUTES
from llm_hosting.deployment.model import Deployment
from llm_hosting.fleets.fleet import Fleet
from slipway.__main__ import command_line
from slipway.openapi.errors import CODES
from slipway.openapi.schemas import SCHEMAS

Promises = dict[str, list[str]]


def promises() -> Promises:
    """Return the names of the working tree, by kind."""
    found = {
        "errors": (f"{status} {code}" for status, codes in CODES.items() for code in codes),
        "routes": (f"{each.method} {each.path}{_condition(each.jobs, each.openai)}" for each in ROUTES),
        "fields of requests and answers": _fields(SCHEMAS),
        "settings": _settings(Deployment.model_json_schema()),
        "settings of fleets": _settings(Fleet.model_json_schema()),
        "commands": _commands(command_line()),
        "python": _python(),
    }
    return {kind: sorted(set(names)) for kind, names in found.items()}


def broken(kept: Promises, today: Promises) -> Promises:
    """Return the names of a kept release that are missing today."""
    missing = {kind: sorted(set(names) - set(today.get(kind, []))) for kind, names in kept.items()}
    return {kind: names for kind, names in missing.items() if names}


def _condition(jobs: bool, openai: bool) -> str:
    needs = " and ".join(name for name, needed in (("jobs", jobs), ("openai", openai)) if needed)
    return f" (with {needs})" if needs else ""


def _fields(schemas: dict[str, Any]) -> Iterator[str]:
    """Yield `Schema.field`, and the same below it."""
    for name, schema in schemas.items():
        for field, inner in _parts(schema):
            yield from (f"{name}.{field}", *_fields({f"{name}.{field}": inner}))


def _parts(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from schema.get("properties", {}).items()
    for choice in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(choice, []):
            yield from _parts(each)
    if "items" in schema:
        yield from _parts(schema["items"])


def _settings(schema: dict[str, Any]) -> Iterator[str]:
    """Yield each setting as `section.setting`, and each of its fixed words as `section.setting: word`."""
    return _below(schema, "", schema["$defs"])


def _below(schema: dict[str, Any], path: str, definitions: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield from _below(definitions[schema["$ref"].rpartition("/")[2]], path, definitions)
    for word in schema.get("enum", [schema["const"]] if "const" in schema else []):
        yield f"{path}: {word}"
    for inner in (*schema.get("anyOf", []), *filter(None, [schema.get("items")])):
        yield from _below(inner, path, definitions)
    if isinstance(named := schema.get("additionalProperties"), dict):
        yield from _below(named, f"{path}.*", definitions)
    for name, inner in schema.get("properties", {}).items():
        below = f"{path}.{name}".removeprefix(".")
        yield below
        yield from _below(inner, below, definitions)


def _commands(parser: ArgumentParser, name: str = "slipway") -> Iterator[str]:
    """Yield each verb, and each of its options and arguments."""
    for action in parser._actions:
        verbs: Any = action.choices if action.nargs == "A..." else None
        for verb, its_parser in (verbs or {}).items():
            yield f"{name} {verb}"
            yield from _commands(its_parser, f"{name} {verb}")
        yield from (f"{name} {option}" for option in action.option_strings if option not in ("-h", "--help"))
        if not verbs:
            yield from (f"{name} ... {choice}" for choice in action.choices or ())


def _python() -> Iterator[str]:
    """Yield the names that users import, with the public names of classes and the parameters of calls."""
    for module in (slipway, slipway.testing):
        for name in module.__all__:
            found = getattr(module, name)
            yield f"{module.__name__}.{name}"
            if isclass(found) and issubclass(found, BaseModel):
                continue  # its fields are settings
            if isclass(found):
                yield from (f"{name}.{each}" for each in vars(found) if not each.startswith("_"))
            taken = signature(found.__init__ if isclass(found) else found).parameters
            yield from (f"{name}({each}=)" for each in taken if each != "self")
