"""`slipway stage` from a Hub on loopback to the local cloud's S3: whole, corrupted, refused."""

import json
from typing import Any

import pytest

from local_cloud.cloud import ACCOUNT
from local_cloud.keys import put_key
from support.repository import ROOT
from support.stacks.small_stacks import REGION, statement
from support.stacks.staging_runs import BUCKET, FILES, LARGE_FILES, MODEL, PARTS, STAGED, Staging, chosen
from support.stand_ins.hub_models import safetensors

SHARD = "model-00002-of-00002.safetensors"


@pytest.mark.parametrize("staging", [LARGE_FILES], indirect=True, ids=["large"])
def test_all_weights_are_staged_and_a_second_run_has_nothing_to_do(staging: Staging) -> None:
    process = staging.start()
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert f"{MODEL} at {staging.hub.main}: 6 files, 54.0 MB" in out
    assert f"revision: {staging.hub.main}" in out
    assert staging.visible() == chosen(LARGE_FILES)
    assert set(staging.sent()) == PARTS
    manifest = staging.manifest()
    assert (manifest["state"], manifest["model"], manifest["revision"]) == ("complete", MODEL, "main")
    assert manifest["commit"] == staging.hub.main
    assert {file["path"]: file["size"] for file in manifest["files"]} == {
        p: len(body) for p, body in chosen(LARGE_FILES).items()
    }
    assert not staging.open_uploads()
    assert not [path for path in (staging.folder / "way").rglob("*") if path.is_file() and path.suffix != ".lock"]

    code, out, err = staging.run()
    assert (code, err) == (0, "")
    assert "Nothing to do" in out
    assert {request.operation for request in staging.s3.take()} == {"List", "GetObject", "HeadObject"}
    assert all(staging.hub.downloads(path) == 1 for path in STAGED)


@pytest.mark.parametrize("path", ["model-00002-of-00002.safetensors", "config.json"])
def test_a_corrupt_download_is_refused_and_nothing_is_visible(staging: Staging, path: str) -> None:
    staging.hub.corrupt = {path}
    assert f"{path} is corrupt" in staging.refused()
    assert staging.visible() == {}
    assert not [request for request in staging.s3.take() if request.part and request.key.endswith(path)]

    staging.hub.corrupt = set()
    assert staging.run()[0] == 0
    assert staging.visible() == STAGED


def test_an_object_that_changed_after_staging_is_detected(staging: Staging) -> None:
    staging.run()
    client = staging.cloud.client("s3", region=REGION)
    client.put_object(Bucket=BUCKET, Key=f"{staging.name}/tokenizer.json", Body=b"x" * len(STAGED["tokenizer.json"]))
    assert f"s3://{BUCKET}/{staging.name}/tokenizer.json is not what was staged" in staging.refused()
    client.delete_object(Bucket=BUCKET, Key=f"{staging.name}/tokenizer.json")
    staging.s3.take()
    assert staging.run()[0] == 0
    assert [each.key for each in staging.s3.take() if each.part] == [f"{staging.name}/tokenizer.json"]
    assert staging.visible() == STAGED


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({SHARD: None}, f"lacks {SHARD}, which model.safetensors.index.json lists; name another commit"),
        ({SHARD: STAGED[SHARD][:-1]}, f"{SHARD} of {MODEL} at"),
        ({SHARD: b"version https://git-lfs.github.com/spec/v1"}, "is a git-lfs pointer"),
        ({"config.json": b"<html>"}, "is an HTML page"),
    ],
)
def test_weights_that_are_not_whole_are_refused_before_a_part_is_sent(
    staging: Staging, change: dict[str, bytes | None], said: str
) -> None:
    staging.hub.push({path: body for path, body in (FILES | change).items() if body is not None})
    assert said in staging.refused()
    assert not [request for request in staging.s3.take() if request.operation == "CreateMultipartUpload"]
    staging.write(files=["config.json", "*-00001-of-*"])
    staging.hub.push(FILES)
    assert f"lacks {SHARD}; let model.files name them, too" in staging.refused()


@pytest.mark.parametrize("key", ["", "config.json"])
def test_a_prefix_with_other_objects_is_refused(staging: Staging, key: str) -> None:
    client = staging.cloud.client("s3", region=REGION)
    client.put_object(Bucket=BUCKET, Key=f"{staging.name}/{key}", Body=b"")
    named = key or "one with the name of the prefix"
    assert f"1 objects that were not staged there, such as {named}; SageMaker" in staging.refused()
    assert not [request for request in staging.s3.take() if request.operation == "CreateMultipartUpload"]


def test_a_gated_model_needs_a_token_which_goes_to_the_hub_only(staging: Staging) -> None:
    staging.hub.token = "hf_" + "x" * 20
    said = staging.refused()
    assert f"{MODEL} is gated: accept its terms at {staging.hub.url}/{MODEL}" in said
    assert "model.hub_token_secret_arn" in said
    assert not [request for request in staging.s3.take() if request.operation == "CreateMultipartUpload"]
    assert f"{MODEL} is gated" in staging.refused(HF_TOKEN="hf_" + "y" * 20)
    secrets = staging.cloud.client("secretsmanager", region=REGION)
    arn = secrets.create_secret(Name=f"hub-{staging.name}", SecretString=f"{staging.hub.token}\n")["ARN"]
    staging.write(hub_token_secret_arn=arn)
    code, out, err = staging.run()
    assert code == 0, err
    assert staging.hub.tokens_of_storage == []
    assert staging.hub.token not in out + err
    secrets.put_secret_value(SecretId=arn, SecretString=json.dumps({"token": staging.hub.token}))
    assert f"{arn} must hold a token as plain text and nothing else" in staging.refused()


def test_the_key_of_the_deployment_encrypts_every_object(staging: Staging) -> None:
    key = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1111abcd-0000-4000-8000-000000000001"
    put_key(staging.cloud, key)
    staging.write(weights_kms_key_arn=key, files=["config.json", "tokenizer.json"])
    assert staging.run()[0] == 0
    client = staging.cloud.client("s3", region=REGION)
    for each in (f"{staging.name}/config.json", f".slipway/{staging.name}/manifest.json"):
        head = client.head_object(Bucket=BUCKET, Key=each)
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", key)


def test_the_documented_permissions_are_enough(staging: Staging) -> None:
    page = (ROOT / "docs" / "weights.md").read_text()
    policy = page.partition("```json\n")[2].partition("```")[0]
    for placeholder, value in (("<bucket>", BUCKET), ("<prefix>/", f"{staging.name}/"), ("<partition>", "aws")):
        policy = policy.replace(placeholder, value)
    caller = staging.cloud.create_user("stager", json.loads(policy)["Statement"])
    code, _, err = staging.run(caller=caller)
    assert (code, err) == (0, "")
    assert staging.visible() == STAGED


def test_a_bucket_in_another_region_is_refused(staging: Staging) -> None:
    name = f"far-{staging.name}"
    configuration = {"LocationConstraint": "eu-west-1"}
    staging.cloud.client("s3", region="eu-west-1").create_bucket(Bucket=name, CreateBucketConfiguration=configuration)
    staging.write(weights=f"s3://{name}/tiny/")
    assert f"the bucket {name} is in eu-west-1, and the deployment in {REGION}" in staging.refused()
    staging.write(weights=f"s3://{name}/tiny/", region=None, files=["config.json", "tokenizer.json"])
    code, out, _ = staging.run(AWS_REGION=REGION)
    assert code == 0
    assert "names no region: deploy it in eu-west-1, where the bucket is" in out


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"weights": None}, "model.weights: "),
        ({"weights": "s3://there-is-no-such-bucket/tiny/"}, "there is no bucket there-is-no-such-bucket"),
        ({"revision": "v9"}, f"model.revision: {MODEL} has no 'v9'"),
        ({"id": "example/another"}, "has no example/another, or it is private"),
        ({"files": ["*.gguf"]}, "model.files: no file of the repository fits *.gguf"),
    ],
)
def test_a_model_that_cannot_be_staged_is_refused_in_one_sentence(
    staging: Staging, model: dict[str, Any], sentence: str
) -> None:
    staging.write(**model)
    assert sentence in staging.refused()


def test_missing_write_permission_is_reported(staging: Staging) -> None:
    reader = staging.cloud.create_user("reader", [statement(["s3:GetBucketLocation", "s3:ListBucket"])])
    assert "AWS does not allow CreateMultipartUpload" in staging.refused(caller=reader)


def test_an_unreachable_hub_is_reported_in_one_sentence(staging: Staging) -> None:
    assert "could not be asked" in staging.refused(HF_ENDPOINT="http://127.0.0.1:9")


READABLE = {
    "config.json": b'{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2}',
    "model-00001-of-00002.safetensors": safetensors({"a": ("BF16", [500, 1000], 1_000_000)}),
    "model-00002-of-00002.safetensors": safetensors({"b": ("BF16", [1500, 1000], 3_000_000)}),
}


@pytest.mark.parametrize("staging", [READABLE], indirect=True, ids=["readable"])
def test_a_lock_reads_the_hub_before_the_staging_and_the_prefix_after_it(
    staging: Staging, capsys: pytest.CaptureFixture[str]
) -> None:
    before = staging.lock()
    assert (before["source"], before["commit"]) == ("Hugging Face Hub", staging.hub.main)
    assert staging.run()[0] == 0
    staging.hub.requests.clear()
    staging.s3.take()
    after = staging.lock()
    assert (after["source"], after["commit"]) == (f"s3://{BUCKET}/{staging.name}/", staging.hub.main)
    assert f"as s3://{BUCKET}/{staging.name}/ holds nothing that is whole" in capsys.readouterr().out
    assert before["facts"].pop("gated") is False  # only the Hub tells it
    assert after["facts"].pop("gated") is None
    assert (after["facts"], after["files"]) == (before["facts"], before["files"])
    assert after["facts"]["parameters_in_billions"] == 0.002
    assert not staging.hub.requests
    staging.write(revision="v2")
    assert staging.lock()["commit"] == staging.hub.main, "a tag of that commit"
    staging.write(revision="0" * 40)
    assert f"not from {MODEL} at 0000" in staging.not_locked()
    staging.write(id="example/another")
    assert f"is staged from {MODEL} at {staging.hub.main}, not from example/another" in staging.not_locked()


@pytest.mark.parametrize("staging", [READABLE | {"tokenizer.json": b"{}"}], indirect=True, ids=["readable"])
def test_a_tokenizer_that_is_not_staged_is_missing(staging: Staging) -> None:
    assert staging.lock()["tokenizer"] is True
    staging.write(files=["config.json", "*.safetensors"])
    assert staging.lock()["tokenizer"] is False


def test_a_lock_of_copied_objects_names_no_commit(staging: Staging) -> None:
    client = staging.cloud.client("s3", region=REGION)
    for path, body in READABLE.items():
        client.put_object(Bucket=BUCKET, Key=f"{staging.name}/{path}", Body=body)
    found = staging.lock()
    assert (found["commit"], found["facts"]["layers"]) == (None, 2)
    assert " etag:" in found["files"]["config.json"]
