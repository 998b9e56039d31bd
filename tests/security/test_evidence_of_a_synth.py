"""`slipway evidence` synthesizes a deployment under all packs of cdk-nag."""

import json
from pathlib import Path

from slipway.evidence.gather import evidence_of
from slipway.evidence.run import run
from support.repository import ROOT
from support.templates.template_parts import Template


def test_each_finding_of_all_packs_is_shown_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    assert run("gpt2", ROOT, template=None, as_json=True, output=file) == 0
    findings = json.loads(file.read_text())["findings"]
    packs = {pack for each in findings for pack in each["packs"]}
    assert packs == {"AwsSolutions", "Serverless", "NIST.800.53.R5", "HIPAA.Security", "PCI.DSS.321"}
    assert [each for each in findings if not each["reason"]] == []


def test_every_permission_has_a_reason_with_everything_on(stack_templates: dict[str, Template]) -> None:
    found = [evidence_of(name, template, "us-east-1", None) for name, template in stack_templates.items()]
    permissions = [each for evidence in found for role in evidence.roles for each in role.permissions]
    assert [each for each in permissions if not each.why and each.effect == "Allow"] == []
    assert {evidence.name: evidence.unknown for evidence in found if evidence.unknown} == {}
