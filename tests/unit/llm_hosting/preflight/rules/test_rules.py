"""Each rule with deployments that break it, and with deployments that just keep it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_hosting.deployment.finding import LEVELS
from llm_hosting.preflight.rules.rule import RULES
from support.deployments.good_one import findings

LEVEL = {rule.id: rule.level for rule in RULES}
MODULE = {rule.id: rule.law.__module__.removeprefix("llm_hosting.preflight.").removeprefix("rules.") for rule in RULES}
FOLDER = Path(__file__).parent / "rule_cases"
FILES = sorted(FOLDER.rglob("*.yaml"))
CASES: dict[str, dict[str, Any]] = {
    rule: {**cases, "file": ".".join(file.relative_to(FOLDER).with_suffix("").parts)}
    for file in FILES
    for rule, cases in yaml.safe_load(file.read_text()).items()
}
BROKEN = [pytest.param(rule, case, id=rule) for rule, cases in CASES.items() for case in cases.get("broken", [])]
KEPT = [pytest.param(rule, case, id=rule) for rule, cases in CASES.items() for case in cases.get("kept", [])]


@pytest.mark.parametrize(("rule", "case"), BROKEN)
def test_a_broken_rule_names_its_field_and_the_fix(rule: str, case: dict[str, Any]) -> None:
    found = findings(case["deployment"])
    mine = [finding for finding in found if finding.rule == rule]
    assert {finding.field for finding in mine} == {case["field"]}
    assert any(case["says"] in finding.message for finding in mine), [finding.message for finding in mine]
    as_bad = LEVELS[: min(LEVELS.index(LEVEL[rule]), LEVELS.index("unknown")) + 1]
    others = {finding.rule for finding in found if finding.level in as_bad} - {rule}
    assert others == set(case.get("beside", []))


@pytest.mark.parametrize(("rule", "case"), KEPT)
def test_a_kept_rule_says_nothing(rule: str, case: dict[str, Any]) -> None:
    assert [finding.message for finding in findings(case) if finding.rule == rule] == []


def test_every_rule_has_a_case_that_breaks_it_in_the_file_of_its_module() -> None:
    assert {rule: cases["file"] for rule, cases in CASES.items()} == MODULE
    assert [rule for rule, cases in CASES.items() if not cases.get("broken")] == []


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (
            {f"V{number}": "x" for number in range(100)},
            "has 100 variables, and Slipway adds 4; SageMaker takes 100 in all",
        ),
        ({f"V{number}": "x" * 1000 for number in range(33)}, "bytes; SageMaker takes 32,768"),
    ],
)
def test_sagemaker_limits_the_environment(variables: dict[str, str], says: str) -> None:
    (finding,) = (each for each in findings({"serving": {"environment": variables}}) if each.level == "error")
    assert (finding.rule, says in finding.message) == ("environment-fits", True), finding.message
