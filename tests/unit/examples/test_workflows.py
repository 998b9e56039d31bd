"""The workflows in `examples/github/` are pinned, have few permissions, and use commands that exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cloud.checks import lint
from slipway.__main__ import command_line
from support.repository import ROOT

FOLDER = ROOT / "examples" / "github"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
SESSION = "aws-actions/configure-aws-credentials"


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["jobs"]
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


@pytest.mark.parametrize("path", [*WORKFLOWS, FOLDER / "role.yaml"], ids=lambda path: path.stem)
def test_an_example_says_first_what_it_needs(path: Path) -> None:
    assert re.match(r"# .+\n(#.*\n)+", path.read_text())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_their_major_version(path: Path) -> None:
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"[a-z-]+/[a-z-]+@v[0-9]+", each)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_job_without_a_session_on_aws_may_read_the_repository_only(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}
    for job in jobs(path).values():
        has_session = any(step.get("uses", "").startswith(SESSION) for step in job["steps"])
        assert ("id-token" in job.get("permissions", {})) == has_session
        assert {"contents", "id-token", "pull-requests"} >= job.get("permissions", {}).keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_command_is_one_of_ours(path: Path) -> None:
    lines = "\n".join(step.get("run", "") for step in steps(path))
    commands = re.findall(r"^ *slipway ((?:(?! 2>&1)[^;|&}>\n])+)", lines, re.MULTILINE)
    assert commands
    for command in commands:
        command_line().parse_args(shlex.split(re.sub(r'"\$\w+"', "a-name", command)))


@pytest.mark.slow
def test_aws_would_take_the_roles() -> None:
    lint([FOLDER / "role.yaml"], ["us-east-1", "cn-north-1"])  # raises RefusedTemplateError
