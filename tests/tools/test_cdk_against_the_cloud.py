"""The CDK's own command deploys to a running local cloud, compares, and destroys."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest

from local_cloud.api_client import connect
from local_cloud.assembly import Stack
from local_cloud.cloud import ACCOUNT, LocalCloud
from support.command import Command
from support.repository import ROOT

Cdk = Callable[..., subprocess.CompletedProcess[str]]
DEPLOYMENT = "tests/deployments/jobs-off.yaml"


@pytest.fixture
def cdk(cloud: LocalCloud, tmp_path: Path) -> Cdk:
    """Run `cdk` with the account's root key, as docs/local-cloud.md shows; cdk.json names the app."""
    environment = os.environ | {
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "us-east-1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # cdk.json says `python3 app.py`
    }
    command = [str(ROOT / "node_modules" / ".bin" / "cdk"), "-c", f"deployment={DEPLOYMENT}", "-o", str(tmp_path)]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        # Without CI in the environment, `cdk` writes everything except results to stderr; with it, to stdout.
        return subprocess.run([*command, *arguments], env=environment, cwd=ROOT, stdout=PIPE, stderr=STDOUT, text=True)

    return run


def test_a_stack_is_deployed_compared_and_destroyed_whatever_the_clock_shows(
    cloud: LocalCloud, stacks: dict[str, Stack], cdk: Cdk, slipway: Command
) -> None:
    stack = stacks["jobs-off"]
    cloud.advance(3600)  # AWS's JavaScript SDK signs by the Date of answers if it differs by minutes from its own clock
    cloudformation = cloud.client("cloudformation", region=stack.region)
    deployed = cdk("deploy", stack.name, "--require-approval", "never")
    assert deployed.returncode == 0, deployed.stdout
    (found,) = cloudformation.describe_stacks(StackName=stack.name)["Stacks"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in found["Outputs"]}
    assert outputs["ApiUrl"].startswith(f"{cloud.url}/")
    assert outputs["ApiUrl"] in deployed.stdout
    assert connect(cloud, outputs, stack.region).call("POST", "/generate", {"inputs": "A list is"})[0] == 200
    assert slipway("diff", DEPLOYMENT, "--against", "stack").stdout.endswith(": nothing changes\n")
    compared = cdk("diff", stack.name, "--fail")
    assert compared.returncode == 0, compared.stdout
    assert "Number of stacks with differences: 0" in compared.stdout
    destroyed = cdk("destroy", stack.name, "--force")
    assert destroyed.returncode == 0, destroyed.stdout
    assert all(each["StackName"] != stack.name for each in cloudformation.describe_stacks()["Stacks"])
