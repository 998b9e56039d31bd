"""Neutral scanners find nothing in our templates beside the accepted findings, each of which has a reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from security.conftest import EVERYTHING_ON, Findings, checkov, cloudsplaining, policies_of
from slipway.evidence.accepted_findings import Accepted, Scanner, accepted
from support.templates.template_parts import Template

ALL_ON = {path.stem for path in EVERYTHING_ON}
# The authorizer of tokens asks the issuer on the internet, and so stays outside of the VPC.
OUTSIDE = {"CKV_AWS_117", *(f"{pack}-LambdaInsideVPC" for pack in ("NIST.800.53.R5", "HIPAA.Security", "PCI.DSS.321"))}


@pytest.fixture(scope="session")
def cloudsplaining_findings(stack_templates: dict[str, Template]) -> Findings:
    """Return what cloudsplaining finds in all policies of each stack."""
    policies = dict(each for stack, template in stack_templates.items() for each in policies_of(stack, template))
    found: Findings = {}
    for name, actions in cloudsplaining(policies).items():
        found.setdefault(name.split("/")[0], set()).update(actions)
    return found


@pytest.fixture
def findings(request: pytest.FixtureRequest) -> tuple[Findings, dict[str, Accepted]]:
    """Return what a scanner finds by stack, and its accepted findings by the same names."""
    scanner: Scanner = request.param
    if scanner == "standards":
        rows = {f"{pack}-{rule}": row for rule, row in accepted(scanner).items() for pack in row.packs}
        return request.getfixturevalue("nag_findings"), rows
    return request.getfixturevalue(f"{scanner}_findings"), accepted(scanner)


for_each_scanner = pytest.mark.parametrize("findings", ["standards", "checkov", "cloudsplaining"], indirect=True)


@for_each_scanner
def test_every_finding_is_accepted_with_a_reason(findings: tuple[Findings, dict[str, Accepted]]) -> None:
    found, rows = findings
    assert {stack: rules - rows.keys() for stack, rules in found.items() if rules - rows.keys()} == {}


@for_each_scanner
def test_every_accepted_finding_is_still_found(findings: tuple[Findings, dict[str, Accepted]]) -> None:
    """The file can only shrink: remove a row that finds nothing."""
    found, rows = findings
    assert rows.keys() - set().union(*found.values()) == set()


@for_each_scanner
def test_the_named_settings_close_findings(findings: tuple[Findings, dict[str, Accepted]]) -> None:
    found, rows = findings
    closed = {rule for rule, row in rows.items() if row.closed_by}
    still = {stack: closed & found.get(stack, set()) for stack in ALL_ON}
    still["everything-on-jwt"] -= OUTSIDE
    assert {stack: rules for stack, rules in still.items() if rules} == {}


def test_each_reason_is_a_sentence() -> None:
    scanners: tuple[Scanner, ...] = ("standards", "checkov", "cloudsplaining")
    for row in [row for scanner in scanners for row in accepted(scanner).values()]:
        assert len(row.reason) > 30
        assert row.reason.endswith("."), row.rule


def test_checkov_finds_a_planted_fault(tmp_path: Path) -> None:
    group = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "0.0.0.0/0"}
    properties = {"GroupDescription": "planted", "SecurityGroupIngress": [group]}
    planted = {"Resources": {"Planted": {"Type": "AWS::EC2::SecurityGroup", "Properties": properties}}}
    (tmp_path / "planted.template.json").write_text(json.dumps(planted))
    assert "CKV_AWS_24" in checkov(tmp_path)["planted"]


def test_cloudsplaining_finds_a_planted_fault() -> None:
    statement: dict[str, Any] = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
    assert cloudsplaining({"planted": {"Version": "2012-10-17", "Statement": [statement]}}) == {
        "planted": {"s3:GetObject"}
    }
