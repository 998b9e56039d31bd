"""Own handlers with weights in S3: one rank downloads for all; if it fails, all ranks end and say why."""

import json
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from llm_hosting.archive import pack
from local_cloud.cloud import Credentials, LocalCloud
from local_cloud.model_server.contract.answer import StartError
from local_cloud.model_server.djl.messages import RankRequest
from local_cloud.model_server.djl.ranks import LoadError, Ranks
from support.served_handlers import HANDLERS, ask, environment_of, served, unpack
from support.stacks.small_stacks import REGION, Resources, StackFailedError, arn_of, create, resource, role, statement
from support.stand_ins.s3_recorder import Request as S3Request
from support.stand_ins.s3_recorder import S3Recorder

DEGREE = 3
SHARDS = {"non_tp": ["non-tp.pt"], "tp": [f"tp_{rank:02}_{part:02}.pt" for part in range(2) for rank in range(DEGREE)]}
WEIGHTS = {
    "config.json": b"{}",
    "ds_inference_config.json": json.dumps({"type": "BLOOM", "checkpoints": SHARDS}).encode(),
    **{name: name.encode() for names in SHARDS.values() for name in names},
    "tokenizer/tokenizer.json": b"{}",
}
ENGINES = {"deepspeed": "DeepSpeed", "fastertransformer": "FasterTransformer"}
# Slow enough that a rank that does not wait finds no model.
SLOW_FILE_IN_SECONDS = 0.5


@dataclass(frozen=True)
class Weights:
    """A bucket with weights below models/bloom/, and credentials that may read them."""

    cloud: LocalCloud
    bucket: str

    def key(self, *denied: str) -> Credentials:
        objects = f"arn:aws:s3:::{self.bucket}/models/bloom/"
        statements = [statement(["s3:ListBucket", "s3:GetObject"])]
        statements += [statement("s3:GetObject", f"{objects}{name}") | {"Effect": "Deny"} for name in denied]
        return self.cloud.create_user("handler", statements)

    def variables(self, key: Credentials | None = None, **changed: str) -> dict[str, str]:
        """Return the environment of a container that reads the weights."""
        key = key or self.key()
        return {
            "MODEL_S3_BUCKET": self.bucket,
            "MODEL_S3_PREFIX": "models/bloom",
            "AWS_ENDPOINT_URL": self.cloud.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": key.access_key_id,
            "AWS_SECRET_ACCESS_KEY": key.secret_access_key,
            "NO_PROXY": "127.0.0.1",
        } | changed


@pytest.fixture(scope="module")
def weights(bare_cloud: LocalCloud) -> Weights:
    bucket = f"weights-{uuid.uuid4().hex[:8]}"
    s3 = bare_cloud.client("s3", region=REGION)
    s3.create_bucket(Bucket=bucket)
    for name, content in WEIGHTS.items():
        s3.put_object(Bucket=bucket, Key=f"models/bloom/{name}", Body=content)
    # The console makes an empty object for a folder. The other object has a similar prefix.
    s3.put_object(Bucket=bucket, Key="models/bloom/tokenizer/", Body=b"")
    s3.put_object(Bucket=bucket, Key="models/bloom-560m/config.json", Body=b"{}")
    return Weights(bare_cloud, bucket)


@pytest.fixture
def slow_s3(bare_cloud: LocalCloud) -> Iterator[S3Recorder]:
    """Proxy the cloud's S3 and delay each object, as a large one would take time."""

    def delay(request: S3Request) -> bool:
        if request.operation == "GetObject":
            time.sleep(SLOW_FILE_IN_SECONDS)
        return False

    with S3Recorder(bare_cloud.url) as recorder:
        recorder.cut = delay
        yield recorder


def properties_of(name: str) -> dict[str, str]:
    return {"engine": ENGINES[name], "option.tensor_parallel_degree": str(DEGREE)}


@pytest.mark.parametrize("name", ENGINES)
def test_rank_0_alone_downloads_and_the_others_wait_for_it(
    name: str, weights: Weights, slow_s3: S3Recorder, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    variables = weights.variables(AWS_ENDPOINT_URL_S3=slow_s3.url)
    with served(HANDLERS / name, properties_of(name), tmp_path, **variables) as engine:
        assert ask(engine, {"inputs": ["a", "b"], "parameters": {"max_length": 4}})[0] == 200
    folder = tmp_path / "tmp" / "model"
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()} == {
        **WEIGHTS,
        "DONE": f"s3://{weights.bucket}/models/bloom/".encode(),
    }
    assert sum(request.operation == "GetObject" for request in slow_s3.take()) == len(WEIGHTS)
    log = capfd.readouterr().out
    downloaded = log.index("[rank 0] s3://")
    loading = [match.start() for match in re.finditer(r"\[rank \d\] (rank \d of \d loads|loading)", log)]
    assert len(loading) == DEGREE
    assert min(loading) > downloaded


def test_each_rank_reads_its_own_shard(weights: Weights, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with served(HANDLERS / "deepspeed", properties_of("deepspeed"), tmp_path, **weights.variables()):
        pass
    log = capfd.readouterr().out
    for rank in range(DEGREE):
        assert f"rank {rank} reads tp_{rank:02}_00.pt, tp_{rank:02}_01.pt: " in log


def test_a_container_that_starts_again_downloads_nothing(weights: Weights, slow_s3: S3Recorder, tmp_path: Path) -> None:
    variables = weights.variables(AWS_ENDPOINT_URL_S3=slow_s3.url)
    for _ in range(2):
        with served(HANDLERS / "deepspeed", properties_of("deepspeed"), tmp_path, **variables) as engine:
            assert ask(engine, {"inputs": "a"})[0] == 200
    assert sum(request.operation == "GetObject" for request in slow_s3.take()) == len(WEIGHTS)


@pytest.mark.parametrize("marker", [None, "s3://another/model/", "s3://{bucket}/models/bloom-560m/"])
def test_leftovers_of_an_earlier_attempt_are_no_model(marker: str | None, weights: Weights, tmp_path: Path) -> None:
    folder = tmp_path / "tmp" / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("half of")
    (folder / "pytorch_model.bin").write_text("of another model")
    if marker:
        (folder / "DONE").write_text(marker.format(bucket=weights.bucket))
    with served(HANDLERS / "deepspeed", properties_of("deepspeed"), tmp_path, **weights.variables()):
        pass
    assert (folder / "config.json").read_bytes() == WEIGHTS["config.json"]
    assert not (folder / "pytorch_model.bin").exists()


@pytest.mark.parametrize(
    ("denied", "changed", "reason"),
    [
        ((), {"MODEL_S3_BUCKET": "no-such-bucket-at-all"}, "NoSuchBucket"),
        ((), {"MODEL_S3_PREFIX": "models/opt"}, "no object has this prefix"),
        (("tp_01_01.pt",), {}, "Forbidden"),  # in the middle
        ((), {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "Could not connect"),
    ],
)
@pytest.mark.parametrize("name", ENGINES)
def test_a_failed_download_ends_every_rank_soon_with_the_reason(
    name: str,
    denied: tuple[str, ...],
    changed: dict[str, str],
    reason: str,
    weights: Weights,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = unpack(HANDLERS / name, properties_of(name), tmp_path / "model")
    variables = weights.variables(weights.key(*denied), **changed)
    ranks = Ranks(folder, environment_of(folder, tmp_path / "tmp", **variables), DEGREE)
    monkeypatch.setattr("local_cloud.model_server.djl.ranks._LAST_WORDS_IN_SECONDS", 60)
    started = time.monotonic()
    with pytest.raises(LoadError, match=f"cannot be downloaded: .*{reason}"):
        ranks.load({"tensor_parallel_degree": DEGREE}, 600)
    assert time.monotonic() - started < 60  # boto3's own retries may take 15 s
    # They ended by themselves.
    assert [process.returncode for process in ranks.processes] == [1] * DEGREE
    errors = re.findall(r"^weights\.WeightsError: .*cannot be downloaded: (.*)$", capfd.readouterr().out, re.MULTILINE)
    assert len(errors) == DEGREE
    assert all(reason in error for error in errors)
    assert not (tmp_path / "tmp" / "model" / "DONE").exists()


def test_a_launch_succeeds_after_a_failed_one(weights: Weights, tmp_path: Path) -> None:
    broken = weights.variables(weights.key("config.json"))
    with pytest.raises(StartError, match=r"rank \d: WeightsError: .*Forbidden"):
        served(HANDLERS / "deepspeed", properties_of("deepspeed"), tmp_path, **broken).__enter__()
    with served(HANDLERS / "deepspeed", properties_of("deepspeed"), tmp_path, **weights.variables()) as engine:
        assert ask(engine, {"inputs": "a"})[0] == 200


def test_a_rank_that_starts_late_finds_everything_done(weights: Weights, tmp_path: Path) -> None:
    # Only the first rank downloads, so the others may come at any time.
    folder = unpack(HANDLERS / "fastertransformer", properties_of("fastertransformer"), tmp_path / "model")
    environment = environment_of(folder, tmp_path / "tmp", **weights.variables())
    ranks = Ranks(folder, environment, 2)
    first, second = ranks._connections
    try:
        first.send(RankRequest({"tensor_parallel_degree": 2}))
        deadline = time.monotonic() + 120
        while not (tmp_path / "tmp" / "model" / "DONE").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        second.send(RankRequest({"tensor_parallel_degree": 2}))
        assert [first.recv().status, second.recv().status] == [204, 204]
    finally:
        ranks.stop()


def endpoint(name: str, uri: str, allowed: str, environment: dict[str, str]) -> Resources:
    """Return the resources of an endpoint with this archive as its model data."""
    container = {
        "Image": f"763104351884.dkr.ecr.{REGION}.amazonaws.com/djl-inference:0.21.0-deepspeed0.8.3-cu117",
        "Environment": environment,
        "ModelDataSource": {"S3DataSource": {"S3Uri": uri, "S3DataType": "S3Object", "CompressionType": "Gzip"}},
    }
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
        "InstanceType": "ml.p4d.24xlarge",
        "InitialInstanceCount": 1,
        "ContainerStartupHealthCheckTimeoutInSeconds": 3600,
    }
    statements = [statement("ecr:*"), statement("s3:GetObject", allowed), statement("s3:ListBucket")]
    return {
        "Role": role(statements, service="sagemaker"),
        "Model": resource("SageMaker::Model", {"ExecutionRoleArn": arn_of("Role"), "PrimaryContainer": container}),
        "Config": resource("SageMaker::EndpointConfig", {"ProductionVariants": [variant]}),
        "Endpoint": resource(
            "SageMaker::Endpoint",
            {"EndpointName": name, "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}},
        ),
    }


@pytest.fixture(scope="module")
def archive(weights: Weights) -> str:
    """Put the handler's archive into the bucket, and two broken ones; return the key of the good one."""
    content = pack(HANDLERS / "deepspeed", properties_of("deepspeed"))
    s3 = weights.cloud.client("s3", region=REGION)
    s3.put_object(Bucket=weights.bucket, Key="code/model.tar.gz", Body=content)
    s3.put_object(Bucket=weights.bucket, Key="code/broken.tar.gz", Body=content[:600])
    s3.put_object(Bucket=weights.bucket, Key="code/text.tar.gz", Body=b"no archive")
    return "code/model.tar.gz"


def test_an_endpoint_runs_the_handler_of_its_archive_with_the_rights_of_its_role(
    weights: Weights, archive: str
) -> None:
    environment = {"MODEL_S3_BUCKET": weights.bucket, "MODEL_S3_PREFIX": "models/bloom/"}
    allowed = f"arn:aws:s3:::{weights.bucket}/*"
    create(weights.cloud, "bloom", endpoint("bloom", f"s3://{weights.bucket}/{archive}", allowed, environment))
    runtime = weights.cloud.client("sagemaker-runtime", region=REGION)
    body = {"inputs": ["The value of"] * 4, "parameters": {"max_length": 8}, "padding": True}
    answer = runtime.invoke_endpoint(
        EndpointName="bloom", Body=json.dumps(body).encode(), ContentType="application/json"
    )
    assert len(json.loads(answer["Body"].read())["outputs"]) == 4
    assert answer["ContentType"] == "application/json"


@pytest.mark.parametrize(
    ("key", "allowed", "reason"),
    [
        ("code/model.tar.gz", "code/model.tar.gz", "WeightsError: .*Forbidden"),
        ("code/model.tar.gz", "models/bloom/*", "Failed to download model data .*403"),
        ("code/broken.tar.gz", "*", "Failed to extract model data archive from URL"),
        ("code/text.tar.gz", "*", "Failed to extract model data archive from URL"),
    ],
)
def test_an_endpoint_without_its_archive_or_its_weights_fails_with_the_reason(
    key: str, allowed: str, reason: str, weights: Weights, archive: str
) -> None:
    environment = {"MODEL_S3_BUCKET": weights.bucket, "MODEL_S3_PREFIX": "models/bloom/"}
    name, uri = f"broken-{uuid.uuid4().hex[:8]}", f"s3://{weights.bucket}/{key}"
    resources = endpoint(name, uri, f"arn:aws:s3:::{weights.bucket}/{allowed}", environment)
    with pytest.raises(StackFailedError, match=reason):
        create(weights.cloud, name, resources)
