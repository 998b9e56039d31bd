"""The shipped templates are the accepted ones; `make snapshot` accepts new ones, whose diff somebody reads."""

import json
import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from support.known_deployments import ACCOUNT_SETTINGS, SHIPPED, STAGING

DEFAULT = "qwen3-4b"
WHOLE = [DEFAULT, "qwen3-4b-async", ACCOUNT_SETTINGS, STAGING]


@pytest.mark.parametrize("name", WHOLE)
def test_the_template_is_the_accepted_one(
    templates: dict[str, dict[str, Any]], name: str, snapshot: SnapshotAssertion
) -> None:
    assert masked(templates[name]) == snapshot(extension_class=JSONSnapshotExtension)


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - set(WHOLE)))
def test_the_template_differs_from_the_default_as_accepted(
    templates: dict[str, dict[str, Any]], name: str, snapshot: SnapshotAssertion
) -> None:
    """What makes this deployment another one, and nothing that all have in common."""
    difference = differing(unnamed(DEFAULT, templates[DEFAULT]), unnamed(name, templates[name]))
    assert difference == snapshot(extension_class=JSONSnapshotExtension)


def differing(default: Any, other: Any) -> Any:
    """What `other` has otherwise; "(absent)" for what it has not. Lists are taken whole."""
    if not (isinstance(default, dict) and isinstance(other, dict)):
        return other
    absent = dict.fromkeys(default.keys() - other.keys(), "(absent)")
    changed = {key: value for key, value in other.items() if key not in default or default[key] != value}
    return absent | {key: differing(default.get(key), value) for key, value in changed.items()}


def unnamed(name: str, template: dict[str, Any]) -> Any:
    """Without what repeats the stack's name: the ids of permissions."""
    stem = name.replace("-", "")
    text = json.dumps(masked(template))
    return json.loads(
        re.sub(
            rf"(ApiPermission|EventRule){stem}(\w*?)(?:ApiRestApi)?[0-9A-F]{{8,}}(\w*?)[0-9A-F]{{8,}}\w*",
            r"\1\2\3",
            text,
        )
    )


def masked(template: dict[str, Any]) -> Any:
    """Without hashes of code, and of the API's methods and responses, which are in the template themselves."""
    text = re.sub(r"[0-9a-f]{64}", "<asset>", json.dumps(template))
    return json.loads(re.sub(r"(RestApiDeployment[0-9A-F]{8})[0-9a-f]{32}", r"\1", text))
