"""Reads CloudFormation templates from JSON or YAML."""

import json
from pathlib import Path
from typing import Any

import yaml

from llm_hosting.file_errors import why
from slipway.changes.template.shape import faults


class NoTemplateError(Exception):
    """A template cannot be found, read or synthesized; the message is one sentence."""


def read_template(path: Path) -> dict[str, Any]:
    """Read a template from a file. Raises NoTemplateError."""
    try:
        return parse_template(path.read_text(), str(path))
    except (OSError, UnicodeError) as error:
        raise NoTemplateError(f"{path} can't be read: {why(error)}.") from error


def parse_template(text: str, name: str) -> dict[str, Any]:
    """Parse a template from JSON or YAML. name: of its file, for the message. Raises NoTemplateError."""
    try:
        content = json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, _TemplateLoader)
    except (ValueError, yaml.YAMLError) as error:
        raise NoTemplateError(f"{name} is not a template: {' '.join(str(error).split())[:200]}") from error
    except RecursionError as error:
        raise NoTemplateError(f"{name} is not a template: it is nested too deep.") from error
    if not isinstance(content, dict) or not isinstance(content.get("Resources"), dict):
        raise NoTemplateError(f"{name} is not a template: it has no Resources.")
    for found in faults(content):
        raise NoTemplateError(f"{name} is not a template: {found}.")
    return content


class _TemplateLoader(yaml.SafeLoader):
    """Reads short forms of functions, such as !Ref, and keeps dates as text, such as a policy's Version."""

    yaml_implicit_resolvers = {
        letter: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _function(loader: _TemplateLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_TemplateLoader.add_multi_constructor("!", _function)
