"""The feature flags of the CDK that change our templates, and the warning of a value that is not tested."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from llm_hosting.home import HOME
from llm_hosting.service.feature_flags import CHANGING, IN_A_KNOWN_REGION
from slipway import LlmService
from support.templates.services import ON_MACHINES, an_app, asynchronous
from support.templates.template_parts import Template

TESTED: dict[str, Any] = json.loads((HOME / "cdk.json").read_text())["context"]
KNOWN = {*CHANGING, IN_A_KNOWN_REGION, "@aws-cdk/core:defaultCrossStackReferences", "@aws-cdk/core:target-partitions"}
SOMEWHERE = cdk.Environment(account="111122223333", region="us-east-1")
WITH_KEYS = asynchronous(api={"auth": "api-key"})


def templates(folder: Path, flags: dict[str, bool]) -> list[Template]:
    """Return the templates of two modes, of an API with keys, and of a stack in one region."""
    app = an_app(folder, **flags)
    for name, deployment, env in (
        ("ec2", ON_MACHINES, None),
        ("keys", WITH_KEYS, None),
        ("somewhere", asynchronous(), SOMEWHERE),
    ):
        LlmService(cdk.Stack(app, name, env=env), "Default", deployment=deployment)
    return [stack.template for stack in app.synth().stacks]


def flipped(*flags: str) -> dict[str, bool]:
    return {flag: not TESTED[flag] for flag in flags}


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> list[Template]:
    return templates(tmp_path_factory.mktemp("tested"), {})


@pytest.mark.parametrize("flag", [*CHANGING, IN_A_KNOWN_REGION])
def test_a_flag_that_is_warned_of_changes_a_template(flag: str, tested: list[Template], tmp_path: Path) -> None:
    assert templates(tmp_path, flipped(flag)) != tested


def test_all_other_flags_together_change_no_template(tested: list[Template], tmp_path: Path) -> None:
    assert templates(tmp_path, flipped(*(TESTED.keys() - KNOWN))) == tested


def warnings_with(folder: Path, flags: dict[str, Any], env: cdk.Environment | None = None) -> list[str]:
    stack = cdk.Stack(an_app(folder, **flags), "Services", env=env)
    LlmService(stack, "Chat", deployment=asynchronous())
    found = assertions.Annotations.from_stack(stack).find_warning("*", assertions.Match.any_value())
    return [str(each.entry.data) for each in found]


def test_tested_flags_give_no_warning(tmp_path: Path) -> None:
    assert warnings_with(tmp_path, {}, SOMEWHERE) == []


def test_a_flag_that_differs_is_named_with_both_values_and_the_fix(tmp_path: Path) -> None:
    (warning,) = warnings_with(tmp_path, flipped("@aws-cdk/aws-iam:minimizePolicies"))
    assert warning.startswith(
        "The feature flag @aws-cdk/aws-iam:minimizePolicies is false, but Slipway's templates are tested with true; "
        "set it so in the context of your cdk.json."
    )


def test_partition_literals_matter_only_in_a_known_region(tmp_path: Path) -> None:
    assert warnings_with(tmp_path / "any", flipped(IN_A_KNOWN_REGION)) == []
    (warning,) = warnings_with(tmp_path / "one", flipped(IN_A_KNOWN_REGION), SOMEWHERE)
    assert "enablePartitionLiterals is true" in warning
