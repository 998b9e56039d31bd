"""`make smoke` as a process of its own: interrupted while its stack is created, and cleaning up."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from local_cloud.assembly import DEFAULT_REGION
from local_cloud.cloud import LocalCloud
from support.patience import wait_for


def test_an_interrupted_run_leaves_nothing_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.smoke", "--local", "--only", "access-log"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: _creates(tmp_path) or None, "the creation of the stack")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    (folder,) = (each.name for each in tmp_path.glob("smoke-us-east-1-*"))
    assert "nothing is left after" in said
    assert f"To ask them: make smoke LOCAL=1 RESUME={folder}" in said
    report = (tmp_path / folder / "report.md").read_text()
    assert "Removal: nothing is left after" in report
    assert "stopped by SIGINT" in report


def test_clean_removes_what_no_stack_owns_and_heeds_no_record_of_another_account(
    bare_cloud: LocalCloud, tmp_path: Path
) -> None:
    s3, logs = (bare_cloud.client(service, region=DEFAULT_REGION) for service in ("s3", "logs"))
    s3.create_bucket(Bucket="slipway-smoke-made-parts-1234abcd")
    logs.create_log_group(logGroupName="/aws/sagemaker/Endpoints/slipway-smoke-1234abcd")
    logs.create_log_group(logGroupName="/aws/sagemaker/Endpoints/slipway-smoked-1234abcd")
    other = tmp_path / f"smoke-{DEFAULT_REGION}-20260101-000000"
    other.mkdir()
    (other / "state.json").write_text(json.dumps({"region": DEFAULT_REGION, "account": "444455556666"}))
    keys = bare_cloud.deployer
    environment = os.environ | {
        "AWS_ENDPOINT_URL": bare_cloud.url,
        "AWS_ACCESS_KEY_ID": keys.access_key_id,
        "AWS_SECRET_ACCESS_KEY": keys.secret_access_key,
        "AWS_REGION": DEFAULT_REGION,
    }
    command = [sys.executable, "-m", "tools.smoke", "--local", "--clean"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "nothing is left after" in done.stdout
    assert not [each for each in s3.list_buckets()["Buckets"] if each["Name"].startswith("slipway-smoke")]
    groups = logs.describe_log_groups(logGroupNamePrefix="/aws/sagemaker/Endpoints/slipway-smoke")["logGroups"]
    assert [each["logGroupName"] for each in groups] == ["/aws/sagemaker/Endpoints/slipway-smoked-1234abcd"]


def _creates(folder: Path) -> bool:
    return any("CREATE_IN_PROGRESS" in log.read_text() for log in folder.glob("smoke-*/slipway-smoke.log"))
