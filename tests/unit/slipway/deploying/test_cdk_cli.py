"""Which CDK CLI is used, and what a person is told if it can't be."""

from pathlib import Path

import pytest

from slipway.deploying.cdk_cli import CdkCliError, find_cli


def put_cli(folder: Path, says: str) -> Path:
    """Write a program in the CLI's place."""
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "cdk"
    command.write_text(f"#!/bin/sh\n{says}\n")
    command.chmod(0o755)
    return command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    (project := tmp_path / "project").mkdir()
    (project / "cdk.json").touch()
    return project


def test_the_projects_own_cli_comes_before_that_on_the_path(project: Path) -> None:
    on_path = put_cli(project.parent / "path", "echo '2.99999.0 (build 1)'")
    assert find_cli(project).command == str(on_path)
    own = put_cli(project / "node_modules" / ".bin", "echo '2.99999.0 (build 1)'")
    assert find_cli(project).command == str(own)


def test_it_runs_in_the_project_for_the_region(project: Path) -> None:
    put_cli(
        project / "node_modules" / ".bin",
        '[ "$1" = --version ] && echo 2.99999.0 && exit; echo "$1 $AWS_REGION $PWD" > said; exit 3',
    )
    assert find_cli(project).run("deploy", region="eu-west-1") == 3
    assert (project / "said").read_text() == f"deploy eu-west-1 {project}\n"


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("echo '2.100.0 (build 1)'", r"is version 2\.100\.0, and 2\.\d+\.\d+ or newer is needed: run `npm install "),
        ("echo 'Cannot find module x' >&2; exit 1", r"does not work \(Cannot find module x\): run `npm ci` in "),
        ("exit 1", r"does not work \(exit status 1\): run `npm ci` in "),
    ],
)
def test_a_cli_that_is_too_old_or_broken_is_refused_with_the_fix(says: str, told: str, project: Path) -> None:
    put_cli(project / "node_modules" / ".bin", says)
    with pytest.raises(CdkCliError, match=told):
        find_cli(project)


def test_the_version_that_npm_installed_is_read_without_running_the_cli(project: Path) -> None:
    command = put_cli(project / "node_modules" / "aws-cdk" / "bin", "exit 1")
    (project / "node_modules" / "aws-cdk" / "package.json").write_text('{"version": "2.100.0"}')
    (link := project / "node_modules" / ".bin" / "cdk").parent.mkdir()
    link.symlink_to(command)
    with pytest.raises(CdkCliError, match=r"is version 2\.100\.0, and "):
        find_cli(project)


def test_a_machine_without_node_is_told_to_install_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(project / "python3"))  # Node is looked for beside it
    monkeypatch.setattr("llm_hosting.cdk_app.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "/nowhere")
    put_cli(project / "node_modules" / ".bin", "echo 2.99999.0")
    with pytest.raises(CdkCliError, match=r"^The CDK needs Node\.js, which is not on the PATH: install it, or run"):
        find_cli(project)


def test_ctrl_c_reaches_node_itself(project: Path) -> None:
    """The wrapper beside Python would print its traceback."""
    put_cli(project / "node_modules" / ".bin", '[ "$1" = --version ] && echo 2.99999.0 && exit; which node > said')
    assert find_cli(project).run("deploy", region="eu-west-1") == 0
    node = Path((project / "said").read_text().strip())
    assert node.read_bytes()[:4] == b"\x7fELF"


def test_a_project_without_a_cli_is_told_to_install_it(project: Path) -> None:
    with pytest.raises(CdkCliError, match=f"^The CDK CLI is missing: run `npm install --save-dev .+` in {project}.$"):
        find_cli(project)


def test_a_folder_that_is_no_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CdkCliError, match=r"^There is no cdk\.json in .*: run this in a folder"):
        find_cli(tmp_path)
