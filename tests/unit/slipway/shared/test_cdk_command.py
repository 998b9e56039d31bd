"""Where the CDK's command is missing, the line installs it first."""

from pathlib import Path

from slipway.shared.cdk_command import cdk


def test_a_checkout_without_the_command_gets_it_first(tmp_path: Path) -> None:
    command = tmp_path / "cdk"
    assert cdk("destroy -c deployment=gpt2", command) == "make setup && npx cdk destroy -c deployment=gpt2"
    command.touch()
    assert cdk("destroy -c deployment=gpt2", command) == "npx cdk destroy -c deployment=gpt2"
