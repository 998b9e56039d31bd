"""The names that callers, operators and deployment files rely on; a release may add names, and removes none."""

from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterator
from inspect import Parameter, isclass, isfunction, signature
from typing import Any

from pydantic import BaseModel

import slipway
import slipway.rules
import slipway.testing
from llm_hosting.api.routes import ROUTES
from llm_hosting.deployment.model import Deployment
from llm_hosting.fleets.fleet import Fleet
from llm_hosting.resolution import Container, Placement, Resolution
from slipway.__main__ import command_line
from slipway.openapi.errors import CODES
from slipway.openapi.schemas import SCHEMAS
from support.releases.json_keys import json_keys

Promises = dict[str, list[str]]

REQUIRED = "required"
"""The kind of `verb or call: its required arguments`; a release may remove some of them, and adds none."""
# What docs/own-facts.md tells rules of a project to read.
_OF_RULES: dict[type, tuple[str, ...]] = {
    Resolution: ("deployment", "image", "version", "cuda", "environment", "container", "placements"),
    Container: ("engine", "model_id", "shape"),
    Placement: ("instance", "memory", "degree", "copies"),
}
_PASSED_ON = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def promises() -> Promises:
    """Return the names of the working tree, by kind."""
    found = {
        "errors": (f"{status} {code}" for status, codes in CODES.items() for code in codes),
        "routes": (f"{each.method} {each.path}{_condition(each.jobs, each.openai)}" for each in ROUTES),
        "fields of requests and answers": _fields(SCHEMAS),
        "settings": _settings(Deployment.model_json_schema()),
        "settings of fleets": _settings(Fleet.model_json_schema()),
        "commands": _commands(command_line()),
        "keys of --json": json_keys(),
        "python": _python(),
        REQUIRED: (*_required_of_commands(command_line()), *_required_of_python()),
    }
    return {kind: sorted(set(names)) for kind, names in found.items()}


def broken(kept: Promises, today: Promises) -> Promises:
    """Return the names of a kept release that are missing today, and arguments that it did not require."""
    missing = {kind: sorted(set(names) - set(today.get(kind, []))) for kind, names in kept.items()}
    wanted = dict(each.split(":") for each in today.get(REQUIRED, []))
    missing[REQUIRED] = [
        f"{call}: {word}"
        for call, words in (each.split(":") for each in kept.get(REQUIRED, []))
        for word in sorted(set(wanted.get(call, "").split()) - set(words.split()))
    ]
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


def _commands(parser: ArgumentParser) -> Iterator[str]:
    """Yield each verb, its options, and its arguments by their place, with dots where it takes several."""
    for name, verb in _verbs(parser):
        yield from [name] if verb is not parser else []
        for word, action in _arguments(verb):
            yield f"{name} {word}"
            yield from [f"{name} {word}..."] if word.startswith("<") and action.nargs in ("+", "*") else []
            yield from (f"{name} ... {choice}" for choice in action.choices or ())


def _required_of_commands(parser: ArgumentParser) -> Iterator[str]:
    for name, verb in _verbs(parser):
        words = (word for word, action in _arguments(verb) if action.required)
        yield f"{name}: {' '.join(words)}"


def _verbs(parser: ArgumentParser, name: str = "slipway") -> Iterator[tuple[str, ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        verbs: Any = action.choices if action.nargs == "A..." else None
        for verb, its_parser in (verbs or {}).items():
            yield from _verbs(its_parser, f"{name} {verb}")


def _arguments(verb: ArgumentParser) -> Iterator[tuple[str, Action]]:
    place = 0
    for action in verb._actions:
        if not action.option_strings and action.nargs != "A...":
            place += 1
            yield f"<{place}>", action
        yield from ((option, action) for option in action.option_strings if option not in ("-h", "--help"))


def _python() -> Iterator[str]:
    """Yield the names that users import, with the public names of classes and the parameters of calls."""
    for module in (slipway, slipway.rules, slipway.testing):
        yield from (f"{module.__name__}.{name}" for name in module.__all__)
    for kind, names in _OF_RULES.items():
        yield from (f"{kind.__name__}.{each}" for each in names if each in vars(kind) or each in kind.__annotations__)
    for name, call in _calls():
        if isclass(call):
            yield from (f"{name}.{each}" for each in vars(call) if not each.startswith("_"))
        yield from (f"{name}({each}=)" for each, parameter in _parameters(call) if parameter.kind not in _PASSED_ON)


def _required_of_python() -> Iterator[str]:
    for name, call in _calls():
        words = (each for each, parameter in _parameters(call) if _is_required(parameter))
        yield f"{name}: {' '.join(words)}"


def _calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what users call: classes, their methods, functions."""
    for module in (slipway, slipway.rules, slipway.testing):
        for name in module.__all__:
            found = getattr(module, name)
            if found in _OF_RULES or (isclass(found) and issubclass(found, BaseModel)):
                continue  # users read the former; the latter's fields are settings
            yield name, found
            for inner, method in vars(found).items() if isclass(found) else ():
                if isfunction(method) and not inner.startswith("_"):
                    yield f"{name}.{inner}", method


def _parameters(call: Callable[..., Any]) -> Iterator[tuple[str, Parameter]]:
    taken = signature(call.__init__ if isclass(call) else call).parameters
    return ((name, each) for name, each in taken.items() if name != "self")


def _is_required(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty and parameter.kind not in _PASSED_ON
