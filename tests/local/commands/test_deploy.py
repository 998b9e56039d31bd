"""`slipway deploy` and `slipway destroy` with the CDK's own CLI, against a local cloud in which nothing is prepared."""

import os
import pty
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from llm_hosting.home import HOME
from local_cloud.cloud import LocalCloud
from support.stacks.machines import forget_faults, order_fault
from support.stacks.small_stacks import delete_stacks

REGION = "eu-central-1"  # of this module alone, so nothing is prepared there
SMALL: dict[str, Any] = {
    "model": {"id": "openai-community/gpt2"},
    "serving": {"engine": "tgi", "version": "1.4.0"},
    "hosting": {"instance_type": "ml.g5.xlarge"},
    "jobs": {"enabled": False},
}
ON_A_MACHINE = {
    "model": {"id": "openai-community/gpt2"},
    "serving": {"engine": "transformers"},
    "hosting": {"mode": "ec2", "instance_type": "c5.xlarge"},
}
OTHER = SMALL | {"hosting": {"instance_type": "ml.g4dn.xlarge"}}  # the quota of SMALL's type is for two
Run = Callable[..., subprocess.CompletedProcess[str]]


def write(folder: Path, name: str, content: dict[str, Any]) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.fixture(scope="module")
def slipway(bare_cloud: LocalCloud) -> Iterator[Run]:
    """Run the command as a process, whose standard input is no terminal unless the test gives one."""
    environment = os.environ | {
        "AWS_ENDPOINT_URL": bare_cloud.url,
        "AWS_ACCESS_KEY_ID": bare_cloud.deployer.access_key_id,
        "AWS_SECRET_ACCESS_KEY": bare_cloud.deployer.secret_access_key,
        "AWS_REGION": REGION,
    }

    def run(
        *arguments: str, stdin: int = subprocess.DEVNULL, cwd: Path = HOME, **changed: str
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "slipway", *arguments]
        return subprocess.run(command, env=environment | changed, stdin=stdin, cwd=cwd, capture_output=True, text=True)

    yield run
    delete_stacks(bare_cloud, REGION)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deployments")


@pytest.fixture(scope="module")
def deployed(slipway: Run, folder: Path) -> str:
    """Deploy `first` and `second` into the account as it is, and return what the command prints."""
    names = [write(folder, name, SMALL) for name in ("first", "second")]
    done = slipway("deploy", ",".join(names), "--yes")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def with_cli(project: Path, does: str) -> Path:
    """Make a project whose CDK CLI is a shell script."""
    (project / "deployments").mkdir()
    (project / "cdk.json").write_text("{}")
    (cli := project / "node_modules" / ".bin" / "cdk").parent.mkdir(parents=True)
    cli.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 2.99999.0 && exit\n{does}\n')
    cli.chmod(0o755)
    return project


def status_of(cloud: LocalCloud, stack: str) -> str | None:
    try:
        found = cloud.client("cloudformation", region=REGION).describe_stacks(StackName=stack)
    except ClientError:
        return None
    return str(found["Stacks"][0]["StackStatus"])


def typed(slipway: Run, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a terminal on which somebody types a line."""
    ours, terminal = pty.openpty()
    try:
        os.write(ours, f"{text}\n".encode())
        return slipway(*arguments, stdin=terminal)
    finally:
        os.close(terminal)
        os.close(ours)


def test_what_is_missing_is_prepared_and_each_deployment_is_tested(deployed: str, slipway: Run) -> None:
    plan = deployed.partition("\ncdk ")[0]
    assert "1. bootstrap account 111122223333 in eu-central-1, once" in plan
    assert "2. deploy slipway-account-settings in eu-central-1, once" in plan
    for name in ("first", "second"):
        assert f"create {name} (openai-community/gpt2): nothing here; on AWS about 1.41 USD an hour" in plan
    assert deployed.count("ok      POST /generate  200\n") == 2
    (call,) = (line for line in deployed.splitlines() if line.startswith("slipway call second "))
    assert slipway(*shlex.split(call, comments=True)[1:]).stdout.strip()


def test_an_update_needs_no_preparation(deployed: str, bare_cloud: LocalCloud, slipway: Run, folder: Path) -> None:
    changed = write(folder, "first", SMALL | {"api": {"throttle": {"rate": 3, "burst": 6}}})
    done = slipway("deploy", changed, "--yes")
    assert done.returncode == 0, done.stderr
    assert ": no change needs an acknowledgement" in done.stdout
    assert "  1. update first (openai-community/gpt2)" in done.stdout
    assert "bootstrap" not in done.stdout
    assert status_of(bare_cloud, "first") == "UPDATE_COMPLETE"


def test_a_change_that_must_be_acknowledged_is_not_deployed(
    deployed: str, bare_cloud: LocalCloud, slipway: Run, folder: Path
) -> None:
    before = status_of(bare_cloud, "first")
    done = slipway("deploy", write(folder, "first", SMALL | {"api": {"auth": "none"}}), "--yes")
    assert done.returncode == 1
    assert "must be acknowledged" in done.stdout
    assert done.stderr.endswith("Nothing was deployed.\n")
    assert status_of(bare_cloud, "first") == before


def test_nothing_is_deployed_unless_somebody_says_yes(bare_cloud: LocalCloud, slipway: Run, folder: Path) -> None:
    third = write(folder, "third", OTHER)
    unasked, declined = slipway("deploy", third), typed(slipway, "n", "deploy", third)
    assert (unasked.returncode, declined.returncode) == (2, 1)
    assert "there is no terminal to ask on. Use --yes to deploy without asking.\n" in unasked.stderr
    assert "create third" in unasked.stdout
    assert declined.stderr.endswith("Nothing was deployed.\n")
    assert status_of(bare_cloud, "third") is None


def test_a_deploy_that_fails_says_why_and_what_to_do(
    deployed: str, bare_cloud: LocalCloud, slipway: Run, folder: Path, tmp_path: Path
) -> None:
    order_fault(bare_cloud, "no_capacity", count=100)
    try:
        done = slipway("deploy", write(folder, "no-room", ON_A_MACHINE), "--yes")
    finally:
        forget_faults(bare_cloud, "no_capacity")
    assert done.returncode == 1
    assert "  cause   AWS has no free instance of the type: try later, or use another type\n" in done.stderr
    assert "failed; mend it, then deploy again." in done.stderr.splitlines()[-1]
    untouched = slipway("deploy", str(folder / "no-room.yaml"), "--yes", cwd=with_cli(tmp_path, "exit 1"))
    assert untouched.returncode == 1
    assert "cause" not in untouched.stderr, "CloudFormation did nothing this time, so its failure is an older one"


def test_ctrl_c_says_that_the_deploy_goes_on_without_us(slipway: Run, tmp_path: Path) -> None:
    project = with_cli(tmp_path, "kill -INT $PPID; exit 130")
    done = slipway("deploy", write(tmp_path, "left", OTHER), "--yes", cwd=project)
    assert done.returncode == 130
    assert "CloudFormation goes on with what it has begun" in done.stdout
    assert done.stdout.endswith("\nslipway status left\nslipway destroy left  # removes it\n")


def test_ctrl_c_during_an_update_offers_no_removal(deployed: str, slipway: Run, tmp_path: Path) -> None:
    project = with_cli(tmp_path, "kill -INT $PPID; exit 130")
    for name in ("app.py", "cdk.json"):
        shutil.copy(HOME / name, project)
    done = slipway("deploy", write(tmp_path, "second", SMALL), "--yes", cwd=project)
    assert done.returncode == 130
    assert done.stdout.endswith("\nslipway status second  # when it is done, deploy again\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("deploy", "gpt3", "--yes"), "There is no deployment 'gpt3'. Did you mean gpt2?"),
        (("destroy", "gpt3", "--yes"), "gpt3: there is no such stack in eu-central-1 of account 111122223333; "),
    ],
)
def test_a_name_that_is_not_there_is_refused_in_one_sentence(
    arguments: tuple[str, ...], said: str, slipway: Run
) -> None:
    done = slipway(*arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(said)
    assert "Traceback" not in done.stderr


def test_credentials_that_aws_refuses_are_named_in_one_sentence(slipway: Run, folder: Path) -> None:
    done = slipway("deploy", write(folder, "third", OTHER), "--yes", AWS_ACCESS_KEY_ID="AKIAEXPIRED")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("AWS does not accept the credentials (InvalidClientTokenId)")


def test_a_destroy_tells_what_goes_and_stays_and_proves_that_nothing_bills(
    deployed: str, bare_cloud: LocalCloud, slipway: Run, folder: Path
) -> None:
    unasked, declined = slipway("destroy", "second"), typed(slipway, "yes", "destroy", "second")
    assert (unasked.returncode, declined.returncode) == (2, 1)
    assert declined.stderr.endswith("The answer is not second; nothing was destroyed.\n")
    assert status_of(bare_cloud, "second") == "CREATE_COMPLETE"
    (folder / "second.yaml").unlink()
    done = slipway("destroy", "second", "--yes")
    assert done.returncode == 0, done.stderr
    assert "1.41 USD an hour for the instances that run now" in done.stdout
    assert "  stays  log group /aws/sagemaker/Endpoints/second-" in done.stdout
    assert "Nothing of it bills by the hour" in done.stdout
    assert "To remove it: slipway purge second\n" in done.stdout
    assert status_of(bare_cloud, "second") is None
