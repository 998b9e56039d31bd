"""The workflows in `examples/github/` are pinned, have few permissions, and use commands that exist."""

import os
import re
import shlex
import subprocess
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
def test_actions_are_pinned_by_commit(path: Path) -> None:
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"[a-z-]+/[a-z-]+@[0-9a-f]{40}", each)] == []


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


@pytest.mark.parametrize(("open_now", "does"), [("", "pr create"), ("7", "pr edit 7")])
def test_news_of_the_catalog_go_into_the_open_pull_request_or_a_new_one(
    tmp_path: Path, open_now: str, does: str
) -> None:
    """A pull request that was merged or closed is not opened again by an edit."""
    script = steps(FOLDER / "catalog-refresh.yml")[-1]["run"]
    (gh := tmp_path / "gh").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n[ "$2" != list ] || echo {open_now}\n'
    )
    gh.chmod(0o755)
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "origin"], check=True)
    subprocess.run(["git", "clone", "-q", tmp_path / "origin", tmp_path / "project"], check=True, capture_output=True)
    (catalog := tmp_path / "project" / "catalog").mkdir()
    (catalog / "news.txt").write_text("new\n")
    path = f"{tmp_path}:{os.environ['PATH']}"
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    subprocess.run(bash, cwd=tmp_path / "project", env={"PATH": path}, check=True, capture_output=True)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0].startswith("pr list --head catalog-refresh --state open ")
    assert [each for each in asked[1:] if each.startswith(does)] == asked[1:] != []


@pytest.mark.slow
def test_aws_would_take_the_roles() -> None:
    lint([FOLDER / "role.yaml"], ["us-east-1", "cn-north-1"])  # raises RefusedTemplateError
