"""Fixtures shared by all tests; imports no CDK, so that unit tests start in milliseconds."""

import json
from pathlib import Path
from typing import Any

import pytest

from known_deployments import ACCOUNT_SETTINGS, SHIPPED, VARIANT_FILES
from local_cloud.assembly import ROOT, read_stacks, synthesize

assert not (ROOT / "constructs" / "__init__.py").exists(), "constructs/__init__.py hides the CDK's package of that name"


@pytest.fixture(scope="session")
def assembly() -> Path:
    """Every shipped deployment, every variant and the account settings, synthesized by app.py in one process."""
    return synthesize([*SHIPPED, *map(str, VARIANT_FILES), ACCOUNT_SETTINGS], ROOT / "cdk.out" / "tests")


@pytest.fixture(scope="session")
def templates(assembly: Path) -> dict[str, dict[str, Any]]:
    """The templates by stack name."""
    return {stack.name: stack.template for stack in read_stacks(assembly)}


@pytest.fixture(scope="session")
def nag_report(assembly: Path) -> dict[str, Any]:
    """cdk-nag's findings, as synth wrote them."""
    report: dict[str, Any] = json.loads((assembly / "validation-report.json").read_text())
    return report
