"""Runs `slipway` in the test's own process, which saves the start of Python and boto3."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from local_cloud.cloud import Credentials, LocalCloud
from slipway.__main__ import main


@dataclass(frozen=True)
class Outcome:
    """The exit status of a command, and what it printed to stdout and stderr."""

    status: int
    stdout: str
    stderr: str


Command = Callable[..., Outcome]


def command_on(
    cloud: LocalCloud, region: str, patch: pytest.MonkeyPatch, printed: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs a command line against the local cloud, by default as the user who deploys."""

    def run(*arguments: str, caller: Credentials = cloud.deployer) -> Outcome:
        patch.setenv("AWS_ENDPOINT_URL", cloud.url)
        patch.setenv("AWS_ACCESS_KEY_ID", caller.access_key_id)
        patch.setenv("AWS_SECRET_ACCESS_KEY", caller.secret_access_key)
        patch.setenv("AWS_REGION", region)
        patch.setattr(sys, "argv", ["slipway", *arguments])
        printed.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = printed.readouterr()
        return Outcome(int(ended.value.code or 0), said.out, said.err)

    return run
