"""`slipway stage` that was killed, kept out, moved or given up, and what a deploy sees of it meanwhile."""

import json
import signal
from collections import Counter
from pathlib import Path

import pytest
import yaml

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from support.deployments.known_deployments import STAGED_FILE
from support.patience import wait_for_event
from support.stacks.deployed_stacks import deployed, edited
from support.stacks.small_stacks import REGION
from support.stacks.staging_runs import (
    BUCKET,
    FILES,
    LARGE_FILES,
    MODEL,
    PARTS,
    STAGED,
    Staging,
    after,
    chosen,
    operation,
)
from support.stand_ins.hub_server import HubServer
from support.stand_ins.s3_recorder import S3Recorder
from support.templates.template_parts import Template

large = pytest.mark.parametrize("staging", [LARGE_FILES], indirect=True, ids=["large"])


@large
def test_a_killed_staging_shows_nothing_and_resumes(staging: Staging) -> None:
    small = len(STAGED) - len({path for path, _ in PARTS})
    assert staging.killed(after(small + 3, "UploadPart"))["UploadPart"] == small + 3
    assert staging.visible() == {}
    assert staging.manifest()["state"] == "uploading"
    before = staging.sent()
    whole = [path for path, count in Counter(path for path, _ in before).items() if count == len(_parts_of(path))]
    downloads = {path: staging.hub.downloads(path) for path in whole}

    code, out, err = staging.run()
    assert (code, err) == (0, "")
    assert "resumed: " in out
    then = staging.sent()
    assert sorted([*before, *then]) == sorted(PARTS), "every part was sent exactly once"
    assert {path: staging.hub.downloads(path) for path in whole} == downloads
    assert staging.visible() == chosen(LARGE_FILES)


def _parts_of(path: str) -> set[tuple[str, int]]:
    return {part for part in PARTS if part[0] == path}


def test_a_staging_killed_while_completing_lacks_config_json(staging: Staging) -> None:
    staging.killed(operation("CompleteMultipartUpload", "config.json"))
    assert set(staging.visible()) == set(STAGED) - {"config.json"}
    assert staging.manifest()["state"] == "completing"
    assert "holds objects already" in staging.run(abandon=True)[2]
    staging.s3.take()

    code, _, err = staging.run()
    assert (code, err) == (0, "")
    operations = Counter(request.operation for request in staging.s3.take())
    assert operations["UploadPart"] == 0
    assert operations["CompleteMultipartUpload"] == 1
    assert staging.visible() == STAGED
    assert staging.manifest()["state"] == "complete"


@large
def test_a_second_run_is_refused_and_ctrl_c_ends_the_first_at_once(staging: Staging) -> None:
    path = "model-00001-of-00002.safetensors"
    staging.hub.held = {path}
    process = staging.start()
    wait_for_event(staging.hub.held_now, "the request for the weights", process)
    assert "Another run is staging this model" in staging.refused()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.strip() == "stopped; the same command resumes it"
    assert staging.visible() == {}


def test_parts_that_a_lifecycle_rule_removed_are_sent_again(staging: Staging) -> None:
    staging.killed(operation("CompleteMultipartUpload"))
    client = staging.cloud.client("s3", region=REGION)
    for upload in staging.open_uploads():
        if "00001" in upload["Key"]:
            client.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
    staging.s3.take()
    assert staging.run()[0] == 0
    assert staging.sent() == [("model-00001-of-00002.safetensors", 1)]
    assert staging.visible() == STAGED


def test_a_staging_stays_at_its_commit_when_the_branch_moves(staging: Staging) -> None:
    staging.killed(after(1, "UploadPart"))
    old = staging.hub.main
    new = staging.hub.push(FILES | {"tokenizer.json": b'{"version": "2.0"}'})
    code, out, _ = staging.run()
    assert code == 0
    assert f"main of {MODEL} has moved to {new}, but this staging continues with {old}" in out
    assert staging.visible() == STAGED
    assert staging.manifest()["commit"] == old
    staging.write(revision=old)
    assert "Nothing to do" in staging.run()[1]
    staging.write(revision=new)
    assert f"is for {MODEL} at {old}, not for {MODEL} at {new}; name another prefix" in staging.refused()


def test_a_staging_can_be_abandoned_until_a_file_is_visible(staging: Staging) -> None:
    staging.killed(after(2, "UploadPart"))
    assert staging.open_uploads()
    code, out, _ = staging.run(abandon=True)
    assert code == 0
    assert "its parts are deleted" in out
    assert not staging.open_uploads()
    assert "Nothing is being staged" in staging.run(abandon=True)[2]


def test_a_deploy_sees_the_model_when_its_staging_is_complete(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    weights = yaml.safe_load(STAGED_FILE.read_text())["model"]["weights"]
    bucket, old = weights.removeprefix("s3://").split("/", 1)
    prefix = f"staged-for-{STAGED_FILE.stem}/"
    cloud.client("s3", region=REGION).create_bucket(Bucket=bucket)

    def move(template: Template) -> None:
        template.update(json.loads(json.dumps(template).replace(old, prefix)))

    with HubServer(MODEL, FILES) as hub, S3Recorder(cloud.url) as s3:
        staging = Staging(cloud, hub, s3, tmp_path, "staged")
        staging.write(weights=f"s3://{bucket}/{prefix}")
        staging.killed(operation("CompleteMultipartUpload"))
        with pytest.raises(DeployError, match=f"s3://{bucket}/{prefix}"):
            deploy(cloud, edited(stacks[STAGED_FILE.stem], tmp_path, move, "half-staged"))
        assert staging.run()[0] == 0
    api = deployed(cloud, edited(stacks[STAGED_FILE.stem], tmp_path, move, "staged"))
    assert api.call("POST", "/generate", {"inputs": "A list is"})[0] == 200
