"""Deployment files by name: what is said where there are none."""

from pathlib import Path

import pytest

from llm_hosting.deployment.paths import UnknownDeploymentError, find


@pytest.mark.parametrize(
    ("name", "problem"), [("chat", "There is no deployment 'chat'"), ("", "No deployment is named")]
)
def test_a_folder_without_deployments_is_said_with_what_makes_some(name: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownDeploymentError) as refused:
        find(name, tmp_path / "deployments")
    assert str(refused.value) == (
        f"{problem}. {tmp_path / 'deployments'} has none: "
        "run this in a folder that `slipway init` has made, or use the path of a YAML file."
    )


def test_a_path_that_leads_nowhere_is_said_with_the_folder_where_it_begins(tmp_path: Path) -> None:
    with pytest.raises(UnknownDeploymentError) as refused:
        find("deployments/chat.yaml", tmp_path / "deployments")
    assert str(refused.value) == f"There is no file 'deployments/chat.yaml' in {Path.cwd()}."
