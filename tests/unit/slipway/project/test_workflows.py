"""The workflows of a new project are pinned, have few permissions, and use commands that exist."""

import re
import shlex
from typing import Any

import pytest
import yaml

from slipway.__main__ import command_line
from slipway.project.contents import contents
from support.repository import ROOT

WORKFLOWS = {name: text for name, text in contents().items() if name.startswith(".github/workflows/")}
SESSION = "aws-actions/configure-aws-credentials"


def jobs(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load(text)["jobs"].values())


def steps(text: str) -> list[dict[str, Any]]:
    return [step for job in jobs(text) for step in job["steps"]]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_commit(name: str) -> None:
    used = [step["uses"] for step in steps(WORKFLOWS[name]) if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"[a-z-]+/[a-z-]+@[0-9a-f]{40}", each)] == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_job_without_a_session_on_aws_may_read_the_repository_only(name: str) -> None:
    assert yaml.safe_load(WORKFLOWS[name])["permissions"] == {"contents": "read"}
    for job in jobs(WORKFLOWS[name]):
        has_session = any(step.get("uses", "").startswith(SESSION) for step in job["steps"])
        assert ("id-token" in job.get("permissions", {})) == has_session
        assert {"contents", "id-token", "pull-requests"} >= job.get("permissions", {}).keys()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_each_command_is_one_of_ours(name: str) -> None:
    lines = "\n".join(step.get("run", "") for step in steps(WORKFLOWS[name]))
    commands = re.findall(r"^ *slipway ((?:(?! 2>&1)[^;|&}>\n])+)", lines, re.MULTILINE)
    assert commands
    for command in commands:
        command_line().parse_args(shlex.split(re.sub(r'"\$\w+"|\$\(.+\)', "a-name", command)))


def test_a_change_of_whatever_the_app_may_import_is_compared() -> None:
    text = WORKFLOWS[".github/workflows/diff.yml"]
    events = yaml.safe_load(text)[True]  # YAML 1.1 takes `on` for a truth value
    assert events == {"pull_request": {"paths-ignore": ["docs/**", "tests/**", "**.md"]}}
    assert "':!docs' ':!tests' ':!*.md'" in text, "the job's own rule says the same"


def test_the_comment_on_pull_requests_is_that_of_our_example() -> None:
    ours = (ROOT / "examples" / "github" / "diff-on-pull-request.yml").read_text()
    (compare,) = (step["run"] for step in steps(ours) if step.get("name") == "compare")
    without_set_up = re.sub(r"source .*\n|export PATH=.*\n", "", compare)
    (written,) = (
        step["run"] for step in steps(WORKFLOWS[".github/workflows/diff.yml"]) if step.get("name") == "compare"
    )
    assert written == without_set_up
    assert jobs(WORKFLOWS[".github/workflows/diff.yml"])[1:] == jobs(ours)[1:]
    assert yaml.safe_load(WORKFLOWS[".github/workflows/diff.yml"])[True] == yaml.safe_load(ours)[True]
