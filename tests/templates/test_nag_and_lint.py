"""cdk-nag and cfn-lint find nothing in our templates, and find planted faults."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from local_cloud.assembly import Stack, read_stacks
from local_cloud.checks import RefusedTemplateError, lint

# Standard, opt-in, unknown to the CDK's account facts, China, GovCloud.
REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2", "af-south-1", "cn-north-1", "us-gov-west-1"]

IN_ALL_REGIONS = (
    *("qwen3-4b", "qwen3-4b-async", "gpt2-ec2", "customer-keys-realtime"),
    *("slipway-account-settings", "slipway-staging-isolated"),
)


def test_both_packs_of_nag_ran_and_found_nothing(nag_report: dict[str, Any]) -> None:
    packs = {report["pluginName"]: report for report in nag_report["pluginReports"]}
    assert {"AwsSolutions", "Serverless"} <= set(packs)
    assert [violation for report in packs.values() for violation in report["violations"]] == []


def test_a_finding_of_either_pack_ends_the_synth(tmp_path: Path) -> None:
    app = Path(__file__).with_name("app_with_a_fault.py")
    environment = os.environ | {"CDK_OUTDIR": str(tmp_path)}
    result = subprocess.run([sys.executable, str(app)], env=environment, capture_output=True, text=True)
    assert result.returncode == 1
    report = json.loads((tmp_path / "validation-report.json").read_text())
    assert {each["pluginName"] for each in report["pluginReports"] if each["violations"]} == {
        "AwsSolutions",
        "Serverless",
    }


def test_every_acknowledgement_carries_a_reason_and_a_prefixed_id(nag_report: dict[str, Any]) -> None:
    acknowledged = [each for report in nag_report["pluginReports"] for each in report["suppressedViolations"]]
    assert acknowledged
    for each in acknowledged:
        assert "::" in each["acknowledgedId"].partition("[")[0]
        assert len(each["reason"]) > 30
        assert each["acknowledgedAt"].count("/") >= 1, "acknowledged on a whole stack"


def test_cfn_lint_is_silent(assembly: Path) -> None:
    """Lint each template in us-east-1, and some in all regions above.

    Those are the templates for another region, one template of each mode, and those with types that no other has.
    """
    stacks = sorted(read_stacks(assembly), key=_regions)
    groups = [(list(group), regions) for regions, group in groupby(stacks, key=_regions)]
    # Each of two processes lints half of each group: a start of cfn-lint takes as long as a template.
    halves = [(half, regions) for group, regions in groups for half in (group[::2], group[1::2]) if half]
    with ThreadPoolExecutor(2) as processes:
        list(processes.map(lambda half: lint([stack.template_path for stack in half[0]], half[1]), halves))


def _regions(stack: Stack) -> list[str]:
    return REGIONS if stack.name in IN_ALL_REGIONS or stack.region != REGIONS[0] else REGIONS[:1]


def test_cfn_lint_finds_a_planted_fault(assembly: Path, tmp_path: Path) -> None:
    template = next(stack.template for stack in read_stacks(assembly) if stack.name == "gpt2")
    template["Resources"]["Planted"] = {"Type": "AWS::Logs::LogGroup", "Properties": {"Retention": 3}}
    (path := tmp_path / "planted.json").write_text(json.dumps(template))
    with pytest.raises(RefusedTemplateError, match="Retention"):
        lint([path], ["us-east-1"])
