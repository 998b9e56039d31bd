"""One synth of representative deployments under all packs of cdk-nag, and what the scanners find in its templates."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_hosting import STANDARDS
from llm_hosting.cdk_app import cdk_app
from slipway.changes.template.resources import resources_of
from slipway.changes.template.values import shown
from support.repository import ROOT
from support.templates.template_parts import Template, all_of

SCANNERS = ROOT / ".venv-security" / "bin"
EVERYTHING_ON = sorted((ROOT / "tests" / "security" / "deployments").glob("everything-on*.yaml"))
REPRESENTATIVE = (
    *("qwen3-4b", "qwen3-4b-async", "qwen3-4b-zero", "gpt2-ec2", "slipway-account-settings"),
    *(f"tests/deployments/{name}.yaml" for name in ("with-api-key", "playground")),
    "slipway-staging-tests/deployments/isolated.yaml",
)
# A scanner that asks the network gets no answer.
OFFLINE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
Findings = dict[str, set[str]]
"""The rules, or actions, that a scanner finds, by stack."""


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the assembly, with the report of all packs of cdk-nag beside it."""
    folder = tmp_path_factory.mktemp("judged")
    names = [*map(str, EVERYTHING_ON), *REPRESENTATIVE]
    app = cdk_app(ROOT, {"deployment": ",".join(names), STANDARDS: True}, folder)
    subprocess.run(app.command, cwd=ROOT, env=app.environment, capture_output=True, check=False)
    app.demand_assembly()
    return folder


@pytest.fixture(scope="session")
def stack_templates(judged: Path) -> dict[str, Template]:
    """Return the templates by the stack's name."""
    return {path.name.split(".")[0]: json.loads(path.read_text()) for path in judged.glob("*.template.json")}


@pytest.fixture(scope="session")
def nag_findings(judged: Path) -> Findings:
    """Return the open findings of all packs by stack, each with its pack: `PCI.DSS.321-LambdaInsideVPC`."""
    found: Findings = {}
    for report in json.loads((judged / "validation-report.json").read_text())["pluginReports"]:
        for violation in report["violations"]:
            for construct in violation["violatingConstructs"]:
                found.setdefault(construct["constructPath"].split("/")[0], set()).add(violation["ruleName"])
    return found


@pytest.fixture(scope="session")
def checkov_findings(judged: Path) -> Findings:
    """Return the failed checks of checkov by stack."""
    return checkov(judged)


def checkov(folder: Path) -> Findings:
    """Run checkov over the templates of a folder."""
    files = [argument for path in sorted(folder.glob("*.template.json")) for argument in ("--file", str(path))]
    options = ["--framework", "cloudformation", "--skip-download", "--compact", "--quiet", "--output", "json"]
    environment = {**os.environ, **OFFLINE}
    done = subprocess.run([SCANNERS / "checkov", *files, *options], env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["parsing_errors"] == 0
    found: Findings = {}
    for failed in report["results"]["failed_checks"]:
        found.setdefault(Path(failed["file_path"]).name.split(".")[0], set()).add(failed["check_id"])
    return found


def cloudsplaining(policies: dict[str, Any]) -> Findings:
    """Return the actions, or other words, that cloudsplaining finds in each policy."""
    command = [SCANNERS / "python", Path(__file__).with_name("cloudsplaining_findings.py")]
    environment = {**os.environ, **OFFLINE}
    done = subprocess.run(command, input=json.dumps(policies), env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    return {name: {str(each) for many in kinds.values() for each in many} for name, kinds in found.items() if kinds}


def policies_of(stack: str, template: Template) -> Iterator[tuple[str, Any]]:
    """Return each policy of the template's roles, with texts for what only AWS knows."""
    for name, resource in resources_of(template, {}, "us-east-1").items():
        if resource.type == "AWS::IAM::Policy":
            yield f"{stack}/{name}", _as_text(resource.properties["PolicyDocument"])
    assert not [each for each in all_of(template, "IAM::Role") if "Policies" in each], "read these, too"


def _as_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_text(each) for each in value]
    if isinstance(value, dict) and not ("Ref" in value or any(key.startswith("Fn::") for key in value)):
        return {key: _as_text(each) for key, each in value.items()}
    return re.sub(r"\$\{[^}]*\}", "known-on-aws", shown(value))
