"""`python -m slipway stage` from a Hub on loopback to the local cloud's S3: whole, killed, corrupted, refused."""

import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
import yaml

from deployed_stacks import deployed, edited
from hub_server import HubServer
from known_deployments import STAGED_FILE
from local_cloud.assembly import ROOT, Stack
from local_cloud.cloud import ACCOUNT, Credentials, LocalCloud
from local_cloud.deploy import DeployError, deploy
from s3_recorder import Request, S3Recorder
from slipway import stage
from small_stacks import REGION, statement
from template_parts import Template

MODEL, BUCKET = "example/tiny", "staged-weights"
_random = random.Random(7)
FILES = {
    "README.md": b"Not for engines.",
    "added_tokens.json": b"{}",
    "config.json": b'{"architectures": ["GPT2LMHeadModel"]}',
    "model-00001-of-00002.safetensors": _random.randbytes(150_000),
    "model-00002-of-00002.safetensors": _random.randbytes(120_000),
    "model.safetensors.index.json": b"{}",
    "onnx/model.onnx": b"Another format.",
    "pytorch_model.bin": b"The same again.",
    "pytorch_model.bin.index.json": b"{}",
    "tokenizer.json": b'{"version": "1.0"}',
}
LARGE_FILES = FILES | {
    "model-00001-of-00002.safetensors": 36 * _random.randbytes(1_000_003),  # three parts, each different
    "model-00002-of-00002.safetensors": 18 * _random.randbytes(1_000_003),  # two
}
PARTS = {("model-00001-of-00002.safetensors", number) for number in (1, 2, 3)} | {
    ("model-00002-of-00002.safetensors", number) for number in (1, 2)
}


def _chosen(files: dict[str, bytes]) -> dict[str, bytes]:
    """What is staged of them, unless patterns are given."""
    return {path: body for path, body in files.items() if path.startswith(("added", "config", "model", "tokenizer"))}


STAGED = _chosen(FILES)


@dataclass
class Staging:
    """A deployment file of a test's own, and what its staging has to do with."""

    cloud: LocalCloud
    hub: HubServer
    s3: S3Recorder
    folder: Path
    name: str

    def write(self, *, region: str | None = REGION, **model: Any) -> None:
        """The deployment file; JSON is YAML."""
        settings = {"id": MODEL, "weights": f"s3://{BUCKET}/{self.name}/"} | model
        content = {"model": settings, "hosting": {"instance_type": "ml.g5.xlarge"}} | (
            {"region": region} if region else {}
        )
        self.path.write_text(json.dumps(content))

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.yaml"

    def _environment(self, caller: Credentials | None = None, **variables: str) -> dict[str, str]:
        key = caller or self.cloud.deployer
        return {
            "AWS_ENDPOINT_URL": self.cloud.url,
            "AWS_ENDPOINT_URL_S3": self.s3.url,
            "AWS_ACCESS_KEY_ID": key.access_key_id,
            "AWS_SECRET_ACCESS_KEY": key.secret_access_key,
            "HF_ENDPOINT": self.hub.url,
            "HF_HOME": str(self.folder / "hub"),
        } | variables

    def start(self) -> subprocess.Popen[str]:
        """As its user does, in a process of its own, which can be killed."""
        return subprocess.Popen(
            [sys.executable, "-m", "slipway", "stage", str(self.path), "--folder", str(self.folder / "way")],
            cwd=ROOT,
            env=os.environ | self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *, abandon: bool = False, **environment: Any) -> tuple[int, str, str]:
        """The same in this process; exit status, and what was said on standard output and standard error."""
        out, err = io.StringIO(), io.StringIO()
        boto3.setup_default_session()  # it would remember the last caller
        with patch.dict(os.environ, self._environment(**environment)), redirect_stdout(out), redirect_stderr(err):
            code = stage.run(str(self.path), ROOT, self.folder / "way", give_up=abandon)
        return code, out.getvalue(), err.getvalue()

    def refused(self, **settings: Any) -> str:
        """The one sentence that is said when it ends with status 1."""
        code, _, err = self.run(**settings)
        assert code == 1
        assert len(err.strip().splitlines()) == 1, err
        return err

    def killed(self, when: Any) -> Counter[str]:
        """Run it until a request for which `when` says yes, which never arrives, and kill it there.

        Returns how often each operation reached S3.
        """
        self.s3.cut = when
        process = self.start()
        assert self.s3.is_cut.wait(30)
        process.kill()
        process.communicate()
        assert self.s3.idle.wait(30)
        self.s3.cut = lambda request: False
        return Counter(request.operation for request in self.s3.passed)

    def visible(self) -> dict[str, bytes]:
        """What SageMaker would load."""
        client = self.cloud.client("s3", region=REGION)
        listed = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.name}/").get("Contents", [])
        return {
            each["Key"].removeprefix(f"{self.name}/"): client.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read()
            for each in listed
        }

    def manifest(self) -> dict[str, Any]:
        key = f".slipway/{self.name}/manifest.json"
        body = self.cloud.client("s3", region=REGION).get_object(Bucket=BUCKET, Key=key)["Body"].read()
        parsed: dict[str, Any] = json.loads(body)
        return parsed

    def sent(self) -> list[tuple[str, int]]:
        """The parts that reached S3 since the last time, of the large files."""
        parts = [(request.key.rpartition("/")[2], request.part) for request in self.s3.take() if request.part]
        return [(path, part) for path, part in parts if "safetensors" in path and not path.endswith(".json")]

    def open_uploads(self) -> list[dict[str, Any]]:
        client = self.cloud.client("s3", region=REGION)
        uploads: list[dict[str, Any]] = client.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{self.name}/").get(
            "Uploads", []
        )
        return uploads


@pytest.fixture(scope="module")
def bucket(bare_cloud: LocalCloud) -> str:
    bare_cloud.client("s3", region=REGION).create_bucket(Bucket=BUCKET)
    return BUCKET


@pytest.fixture
def staging(bare_cloud: LocalCloud, bucket: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Staging]:
    """Of a model of a few small files; `indirect` parametrization gives another one's."""
    name = f"s{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    with HubServer(MODEL, getattr(request, "param", FILES)) as hub, S3Recorder(bare_cloud.url) as s3:
        made = Staging(bare_cloud, hub, s3, tmp_path, name)
        made.write()
        yield made


large = pytest.mark.parametrize("staging", [LARGE_FILES], indirect=True, ids=["large"])


def _operation(name: str, ending: str = "") -> Any:
    return lambda request: request.operation == name and request.key.endswith(ending)


def _after(count: int, name: str) -> Any:
    """Says yes to every further request of that kind."""
    seen: list[Request] = []

    def is_further(request: Request) -> bool:
        if request.operation == name:
            seen.append(request)
        return len(seen) > count

    return is_further


@large
def test_weights_are_staged_whole_and_a_second_run_has_nothing_to_do(staging: Staging) -> None:
    process = staging.start()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert f"{MODEL} at {staging.hub.main}: 6 files, 54.0 MB" in out
    assert f"revision: {staging.hub.main}" in out
    assert staging.visible() == _chosen(LARGE_FILES)
    assert set(staging.sent()) == PARTS
    manifest = staging.manifest()
    assert (manifest["state"], manifest["model"], manifest["revision"]) == ("complete", MODEL, "main")
    assert manifest["commit"] == staging.hub.main
    assert {file["path"]: file["size"] for file in manifest["files"]} == {
        p: len(body) for p, body in _chosen(LARGE_FILES).items()
    }
    assert not staging.open_uploads()
    assert not [path for path in (staging.folder / "way").rglob("*") if path.is_file() and path.suffix != ".lock"]

    code, out, err = staging.run()
    assert (code, err) == (0, "")
    assert "Nothing to do" in out
    assert {request.operation for request in staging.s3.take()} == {"List", "GetObject", "HeadObject"}
    assert all(staging.hub.downloads(path) == 1 for path in STAGED)


@large
def test_a_staging_that_was_killed_shows_nothing_and_goes_on_where_it_was(staging: Staging) -> None:
    small = 4
    assert staging.killed(_after(small + 3, "UploadPart"))["UploadPart"] == small + 3
    assert staging.visible() == {}
    assert staging.manifest()["state"] == "uploading"
    before = staging.sent()
    whole = [path for path, count in Counter(path for path, _ in before).items() if count == len(_parts_of(path))]
    downloads = {path: staging.hub.downloads(path) for path in whole}

    code, out, err = staging.run()
    assert (code, err) == (0, "")
    assert "going on" in out
    after = staging.sent()
    assert sorted([*before, *after]) == sorted(PARTS), "every part was sent exactly once"
    assert {path: staging.hub.downloads(path) for path in whole} == downloads
    assert staging.visible() == _chosen(LARGE_FILES)


def _parts_of(path: str) -> set[tuple[str, int]]:
    return {part for part in PARTS if part[0] == path}


def test_a_staging_that_was_killed_while_files_became_visible_lacks_what_engines_open_first(staging: Staging) -> None:
    staging.killed(_operation("CompleteMultipartUpload", "config.json"))
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
def test_a_second_run_is_kept_out_and_ctrl_c_ends_the_first_at_once(staging: Staging) -> None:
    path = "model-00001-of-00002.safetensors"
    staging.hub.held = {path}
    process = staging.start()
    assert staging.hub.held_now.wait(30)
    assert "Another run is staging this model" in staging.refused()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 1
    assert err.strip() == "stopped; the same command goes on from here"
    assert staging.visible() == {}


@pytest.mark.parametrize("path", ["model-00002-of-00002.safetensors", "config.json"])
def test_a_file_that_came_corrupt_is_refused_and_nothing_is_visible(staging: Staging, path: str) -> None:
    staging.hub.corrupt = {path}
    assert f"{path} is corrupt" in staging.refused()
    assert staging.visible() == {}
    assert not [request for request in staging.s3.take() if request.part and request.key.endswith(path)]

    staging.hub.corrupt = set()
    assert staging.run()[0] == 0
    assert staging.visible() == STAGED


def test_an_object_that_changed_after_it_was_staged_is_noticed(staging: Staging) -> None:
    staging.run()
    client = staging.cloud.client("s3", region=REGION)
    client.put_object(Bucket=BUCKET, Key=f"{staging.name}/tokenizer.json", Body=b"x" * len(STAGED["tokenizer.json"]))
    assert f"s3://{BUCKET}/{staging.name}/tokenizer.json is not what was staged" in staging.refused()
    client.delete_object(Bucket=BUCKET, Key=f"{staging.name}/tokenizer.json")
    staging.s3.take()
    assert staging.run()[0] == 0
    assert [each.key for each in staging.s3.take() if each.part] == [f"{staging.name}/tokenizer.json"]
    assert staging.visible() == STAGED


def test_parts_that_a_rule_of_the_bucket_removed_are_sent_again(staging: Staging) -> None:
    staging.killed(_operation("CompleteMultipartUpload"))
    client = staging.cloud.client("s3", region=REGION)
    for upload in staging.open_uploads():
        if "00001" in upload["Key"]:
            client.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
    staging.s3.take()
    assert staging.run()[0] == 0
    assert staging.sent() == [("model-00001-of-00002.safetensors", 1)]
    assert staging.visible() == STAGED


def test_a_staging_stays_at_its_commit_when_the_branch_moves(staging: Staging) -> None:
    staging.killed(_after(1, "UploadPart"))
    old = staging.hub.main
    new = staging.hub.push(FILES | {"tokenizer.json": b'{"version": "2.0"}'})
    code, out, _ = staging.run()
    assert code == 0
    assert f"main of {MODEL} has moved to {new} since this staging began, which stays at {old}" in out
    assert staging.visible() == STAGED
    assert staging.manifest()["commit"] == old
    staging.write(revision=old)
    assert "Nothing to do" in staging.run()[1]
    staging.write(revision=new)
    assert f"is for {MODEL} at {old}, not for {MODEL} at {new}; name another prefix" in staging.refused()


def test_a_staging_can_be_given_up_until_something_is_visible(staging: Staging) -> None:
    staging.killed(_after(2, "UploadPart"))
    assert staging.open_uploads()
    code, out, _ = staging.run(abandon=True)
    assert code == 0
    assert "nothing is left" in out
    assert not staging.open_uploads()
    assert "Nothing is being staged" in staging.run(abandon=True)[2]


@pytest.mark.parametrize("key", ["", "config.json"])
def test_a_prefix_that_holds_something_else_is_refused(staging: Staging, key: str) -> None:
    client = staging.cloud.client("s3", region=REGION)
    client.put_object(Bucket=BUCKET, Key=f"{staging.name}/{key}", Body=b"")
    named = key or "one with the name of the prefix"
    assert f"1 objects that were not staged there, such as {named}, and SageMaker" in staging.refused()
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
    assert f"{arn} does not hold a token, and nothing else, as plain text" in staging.refused()


def test_the_key_of_the_deployment_encrypts_every_object(staging: Staging) -> None:
    key = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1111abcd-0000-4000-8000-000000000001"
    staging.write(weights_kms_key_arn=key, files=["*.json"])
    assert staging.run()[0] == 0
    client = staging.cloud.client("s3", region=REGION)
    for each in (f"{staging.name}/config.json", f".slipway/{staging.name}/manifest.json"):
        head = client.head_object(Bucket=BUCKET, Key=each)
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", key)


def test_what_the_documentation_says_a_caller_needs_is_enough(staging: Staging) -> None:
    page = (ROOT / "docs" / "weights.md").read_text()
    policy = page.partition("```json\n")[2].partition("```")[0]
    for placeholder, value in (("<bucket>", BUCKET), ("<prefix>/", f"{staging.name}/"), ("<partition>", "aws")):
        policy = policy.replace(placeholder, value)
    caller = staging.cloud.create_user("stager", json.loads(policy)["Statement"])
    code, _, err = staging.run(caller=caller)
    assert (code, err) == (0, "")
    assert staging.visible() == STAGED


def test_a_region_that_is_not_the_deployments_is_refused(staging: Staging) -> None:
    name = f"far-{staging.name}"
    configuration = {"LocationConstraint": "eu-west-1"}
    staging.cloud.client("s3", region="eu-west-1").create_bucket(Bucket=name, CreateBucketConfiguration=configuration)
    staging.write(weights=f"s3://{name}/tiny/")
    assert f"the bucket {name} is in eu-west-1, and the deployment in {REGION}" in staging.refused()
    staging.write(weights=f"s3://{name}/tiny/", region=None, files=["*.json"])
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
def test_what_cannot_be_staged_is_said_in_one_sentence(staging: Staging, model: dict[str, Any], sentence: str) -> None:
    staging.write(**model)
    assert sentence in staging.refused()


def test_who_may_not_write_is_told_so(staging: Staging) -> None:
    reader = staging.cloud.create_user("reader", [statement(["s3:GetBucketLocation", "s3:ListBucket"])])
    assert "AWS does not allow CreateMultipartUpload" in staging.refused(caller=reader)


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
        staging.killed(_operation("CompleteMultipartUpload"))
        with pytest.raises(DeployError, match=f"s3://{bucket}/{prefix}"):
            deploy(cloud, edited(stacks[STAGED_FILE.stem], tmp_path, move, "half-staged"))
        assert staging.run()[0] == 0
    api = deployed(cloud, edited(stacks[STAGED_FILE.stem], tmp_path, move, "staged"))
    assert api.call("POST", "/generate", {"inputs": "A list is"})[0] == 200


def test_a_hub_that_does_not_answer_is_said_in_one_sentence(staging: Staging) -> None:
    assert "could not be asked" in staging.refused(HF_ENDPOINT="http://127.0.0.1:9")
