"""The house stays as it was drawn: imports run one way, and the two sides of the functions agree."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from local_cloud.assembly import ROOT
from slipway.reference import files

# Who may import whom (first-party packages and the CDK); what is not named here is not restricted.
ALLOWED: dict[str, set[str]] = {
    "constructs/llm_hosting/deployment.py": set(),
    "constructs/llm_hosting/resolution.py": {"llm_hosting"},
    "constructs/llm_hosting/catalog": {"llm_hosting"},
    "constructs/llm_hosting/preflight": {"llm_hosting"},
    "constructs/llm_hosting": {"llm_hosting", "aws_cdk", "cdk_nag"},
    "stacks": {"llm_hosting", "aws_cdk", "stacks"},
    "lambda_src/inference_api": {"inference_api", "botocore"},
    "local_cloud": {"local_cloud", "boto3", "botocore", "ministack"},
    "slipway": {"slipway", "llm_hosting", "local_cloud"},
}
RESTRICTED = {
    "aws_cdk",
    "cdk_nag",
    "llm_hosting",
    "inference_api",
    "stacks",
    "slipway",
    "local_cloud",
    "boto3",
    "botocore",
}
MODULES = [
    path
    for folder in ("constructs", "stacks", "lambda_src", "local_cloud", "slipway")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    rule = max((prefix for prefix in ALLOWED if relative.startswith(prefix)), key=len)
    assert imported(path) & RESTRICTED <= ALLOWED[rule]


def test_only_the_hooks_touch_the_emulator() -> None:
    touching = {path.name for path in (ROOT / "local_cloud").rglob("*.py") if "ministack" in imported(path)}
    assert all(name.endswith("hooks.py") for name in touching)


def test_every_handler_that_a_stack_names_exists() -> None:
    named = set(re.findall(r'handler="(\w+)"', (ROOT / "stacks" / "inference_stack.py").read_text()))
    assert named
    for name in named:
        assert callable(importlib.import_module(f"inference_api.handlers.{name}").handler)


def test_the_functions_get_exactly_the_environment_they_read() -> None:
    given = set(re.findall(r'"([A-Z_]{5,})":', (ROOT / "stacks" / "inference_stack.py").read_text()))
    read = set(re.findall(r'"([A-Z_]{5,})"', (ROOT / "lambda_src" / "inference_api" / "settings.py").read_text()))
    assert given == read


@pytest.mark.parametrize(("path", "text"), files(ROOT).items(), ids=lambda value: getattr(value, "name", ""))
def test_the_reference_is_fresh(path: Path, text: str) -> None:
    assert path.read_text() == text, "run `make reference`"
