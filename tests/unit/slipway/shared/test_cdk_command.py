"""Where the CDK's command is missing, the line installs it first."""

from pathlib import Path

from slipway.shared.cdk_command import cdk


def test_a_project_without_the_command_gets_it_first(tmp_path: Path) -> None:
    assert cdk("destroy -c deployment=gpt2", tmp_path) == "npm install aws-cdk && npx cdk destroy -c deployment=gpt2"
    (tmp_path / "package-lock.json").touch()
    assert cdk("destroy -c deployment=gpt2", tmp_path) == "npm ci && npx cdk destroy -c deployment=gpt2"
    command = tmp_path / "node_modules" / ".bin" / "cdk"
    command.parent.mkdir(parents=True)
    command.touch()
    assert cdk("destroy -c deployment=gpt2", tmp_path) == "npx cdk destroy -c deployment=gpt2"
