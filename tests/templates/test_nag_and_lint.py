"""cdk-nag, cfn-lint in six regions, and snapshots."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from known_deployments import ACCOUNT_SETTINGS, SHIPPED
from local_cloud.assembly import read_stacks
from local_cloud.checks import TemplateError, lint

# Standard, opt-in and absent from the CDK's account facts, China, GovCloud.
REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2", "af-south-1", "cn-north-1", "us-gov-west-1"]


def test_both_packs_of_nag_ran_and_left_nothing_open(nag_report: dict[str, Any]) -> None:
    packs = {report["pluginName"]: report for report in nag_report["pluginReports"]}
    assert {"AwsSolutions", "Serverless"} <= set(packs)
    assert [violation for report in packs.values() for violation in report["violations"]] == []


def test_every_acknowledgement_carries_a_reason_and_a_prefixed_id(nag_report: dict[str, Any]) -> None:
    acknowledged = [each for report in nag_report["pluginReports"] for each in report["suppressedViolations"]]
    assert acknowledged
    for each in acknowledged:
        assert "::" in each["acknowledgedId"].partition("[")[0]
        assert len(each["reason"]) > 30
        assert each["acknowledgedAt"].count("/") >= 1, "acknowledged on a whole stack"


def test_cfn_lint_is_silent_in_every_region(assembly: Path) -> None:
    for stack in read_stacks(assembly):
        lint(stack.template_path, [stack.region] if stack.name == "own-image" else REGIONS)


def test_cfn_lint_finds_a_planted_fault(assembly: Path, tmp_path: Path) -> None:
    template = next(stack.template for stack in read_stacks(assembly) if stack.name == "gpt2")
    template["Resources"]["Planted"] = {"Type": "AWS::Logs::LogGroup", "Properties": {"Retention": 3}}
    (path := tmp_path / "planted.json").write_text(json.dumps(template))
    with pytest.raises(TemplateError, match="Retention"):
        lint(path, ["us-east-1"])


@pytest.mark.parametrize("name", [*SHIPPED, ACCOUNT_SETTINGS])
def test_the_template_is_the_accepted_one(
    templates: dict[str, dict[str, Any]], name: str, snapshot: SnapshotAssertion
) -> None:
    text = json.dumps(templates[name])
    masked = re.sub(r"[0-9a-f]{64}", "<asset>", text)
    # The deployment's id changes with every method and gateway response; those are in the snapshot themselves.
    masked = re.sub(r"(RestApiDeployment[0-9A-F]{8})[0-9a-f]{32}", r"\1", masked)
    assert json.loads(masked) == snapshot(extension_class=JSONSnapshotExtension)
