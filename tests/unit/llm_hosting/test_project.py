"""The project of a deployment is the one around its file, whatever the current folder is."""

import re
from pathlib import Path

import pytest

from llm_hosting.preflight.rules.own_rules import own_rules
from llm_hosting.project import ProjectError, project_folder, use_project

RULES = '''
from slipway.rules import note

@note
def own(resolution):
    """A law."""
    return ()
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a project with the deployment `chat`; beside it `there`, another one, and `mine.yaml`."""
    for name in ("here", "there"):
        (tmp_path / name / "deployments").mkdir(parents=True)
        (tmp_path / name / "cdk.json").touch()
        (tmp_path / name / "deployments" / "chat.yaml").touch()
    (tmp_path / "mine.yaml").touch()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


THERE = "../there/deployments/chat.yaml"


@pytest.mark.parametrize(
    ("names", "project"),
    [
        ([], "here"),
        (["chat", "deployments/chat.yaml", "../mine.yaml"], "here"),
        ([THERE], "there"),
        (["slipway-account-settings", THERE], "there"),
        (["x" * 5000, "\0", ""], "here"),
    ],
)
def test_a_file_belongs_to_the_project_around_it(here: Path, names: list[str], project: str) -> None:
    assert project_folder(*names) == here.parent / project


def test_deployments_of_two_projects_are_refused(here: Path) -> None:
    said = f"chat belongs to {here}, and {THERE} to {here.parent / 'there'}; name deployments of one project at a time."
    with pytest.raises(ProjectError, match=re.escape(said)):
        project_folder("chat", THERE)


@pytest.mark.parametrize("missing", ["cdk.json", "deployments"])
def test_a_folder_that_is_no_project_has_no_rules(here: Path, missing: str) -> None:
    (here / "rules.py").write_text(RULES)
    try:
        use_project(here)
        assert [rule.id for rule in own_rules()] == ["own"]
        (here / missing).rename(here / "elsewhere")
        use_project(here)
        assert own_rules() == ()
    finally:
        use_project(None)
