"""The shipped templates are the accepted ones; `make snapshot` accepts new ones, whose diff somebody reads."""

import json
import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from known_deployments import ACCOUNT_SETTINGS, SHIPPED


@pytest.mark.parametrize("name", [*SHIPPED, ACCOUNT_SETTINGS])
def test_the_template_is_the_accepted_one(
    templates: dict[str, dict[str, Any]], name: str, snapshot: SnapshotAssertion
) -> None:
    text = json.dumps(templates[name])
    masked = re.sub(r"[0-9a-f]{64}", "<asset>", text)
    # The deployment's id changes with every method and gateway response; those are in the snapshot themselves.
    masked = re.sub(r"(RestApiDeployment[0-9A-F]{8})[0-9a-f]{32}", r"\1", masked)
    assert json.loads(masked) == snapshot(extension_class=JSONSnapshotExtension)
