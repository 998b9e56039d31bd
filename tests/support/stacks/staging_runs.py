"""Runs and kills `slipway stage` from a Hub on loopback to the local cloud's S3."""

import io
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3

from local_cloud.cloud import Credentials, LocalCloud
from slipway.locking import lock
from slipway.locking.adapters import adapter_facts
from slipway.staging import stage
from support.patience import PATIENCE_IN_SECONDS, wait_for_event
from support.repository import ROOT
from support.stacks.small_stacks import REGION
from support.stand_ins.hub_models import safetensors
from support.stand_ins.hub_server import HubServer
from support.stand_ins.s3_recorder import Request, S3Recorder

MODEL, BUCKET = "example/tiny", "staged-weights"
_random = random.Random(7)


def _shard(name: str, weights: bytes) -> bytes:
    """Return a safetensors file with these weights."""
    whole = safetensors({name: ("U8", [len(weights)], len(weights))})
    return whole[: -len(weights)] + weights


FILES = {
    "README.md": b"Not for engines.",
    "added_tokens.json": b"{}",
    "config.json": b'{"architectures": ["GPT2LMHeadModel"], "n_layer": 2}',
    "model-00001-of-00002.safetensors": _shard("a", _random.randbytes(150_000)),
    "model-00002-of-00002.safetensors": _shard("b", _random.randbytes(120_000)),
    "model.safetensors.index.json": json.dumps(
        {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    ).encode(),
    "onnx/model.onnx": b"Another format.",
    "pytorch_model.bin": b"The same again.",
    "pytorch_model.bin.index.json": b"{}",
    "tokenizer.json": b'{"version": "1.0"}',
}
LARGE_FILES = FILES | {
    "model-00001-of-00002.safetensors": _shard("a", 36 * _random.randbytes(1_000_003)),  # three parts, each different
    "model-00002-of-00002.safetensors": _shard("b", 18 * _random.randbytes(1_000_003)),  # two
}
PARTS = {("model-00001-of-00002.safetensors", number) for number in (1, 2, 3)} | {
    ("model-00002-of-00002.safetensors", number) for number in (1, 2)
}


def chosen(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files that are staged if the deployment gives no patterns."""
    return {path: body for path, body in files.items() if path.startswith(("added", "config", "model", "tokenizer"))}


STAGED = chosen(FILES)


@dataclass
class Staging:
    """Runs `stage` and `lock` for one deployment file."""

    cloud: LocalCloud
    hub: HubServer
    s3: S3Recorder
    folder: Path
    name: str

    def write(self, *, region: str | None = REGION, **model: Any) -> None:
        """Write the deployment file; JSON is YAML."""
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
            "HF_HUB_DOWNLOAD_TIMEOUT": "120",  # requests are counted, so a slow machine must not cause a second one
            "HF_HOME": str(self.folder / "hub"),
        } | variables

    def start(self) -> subprocess.Popen[str]:
        """Start the command in a process of its own, which can be killed."""
        return subprocess.Popen(
            [sys.executable, "-m", "slipway", "stage", str(self.path), "--folder", str(self.folder / "way")],
            cwd=ROOT,
            env=os.environ | self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *, abandon: bool = False, adapter: str | None = None, to: str | None = None, **environment: Any
    ) -> tuple[int, str, str]:
        """Run the command in this process: exit status, standard output, standard error."""
        out, err = io.StringIO(), io.StringIO()
        boto3.setup_default_session()  # boto3 caches the credentials of the last caller
        with patch.dict(os.environ, self._environment(**environment)), redirect_stdout(out), redirect_stderr(err):
            way = self.folder / "way"
            code = stage.run(str(self.path), ROOT, way, give_up=abandon, adapter=adapter, to=to)
        return code, out.getvalue(), err.getvalue()

    def lock(self) -> dict[str, Any]:
        """Run `slipway lock` and return the content of the lock file."""
        boto3.setup_default_session()
        with patch.dict(os.environ, self._environment()):
            assert lock.run(str(self.path), ROOT) == 0
        content: dict[str, Any] = json.loads(self.path.with_suffix(".lock.json").read_text())
        return content

    def adapters_in_lock(self) -> dict[str, dict[str, Any]]:
        """Return what `lock` would write of the adapters."""
        boto3.setup_default_session()
        with patch.dict(os.environ, self._environment()):
            return adapter_facts(stage.parsed(self.path))

    def not_locked(self) -> str:
        """Run `lock`, which must exit with 2, and return its sentence."""
        boto3.setup_default_session()
        with patch.dict(os.environ, self._environment()), redirect_stderr(io.StringIO()) as err:
            assert lock.run(str(self.path), ROOT) == 2
        return err.getvalue()

    def refused(self, **settings: Any) -> str:
        """Run `stage`, which must exit with 1, and return its sentence."""
        code, _, err = self.run(**settings)
        assert code == 1
        assert len(err.strip().splitlines()) == 1, err
        return err

    def killed(self, when: Callable[[Request], bool]) -> Counter[str]:
        """Run the command and kill it at the first request for which `when` is true; that request never reaches S3.

        Returns how often each operation reached S3.
        """
        self.s3.cut = when
        process = self.start()
        wait_for_event(self.s3.is_cut, "the request to be cut", process)
        process.kill()
        process.communicate()
        assert self.s3.idle.wait(PATIENCE_IN_SECONDS)
        self.s3.cut = lambda request: False
        return Counter(request.operation for request in self.s3.passed)

    def visible(self) -> dict[str, bytes]:
        """Return the objects that SageMaker would load, by their path below the prefix."""
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
        """Return the parts of large files that reached S3 since the last call."""
        parts = [(request.key.rpartition("/")[2], request.part) for request in self.s3.take() if request.part]
        return [(path, part) for path, part in parts if "safetensors" in path and not path.endswith(".json")]

    def open_uploads(self) -> list[dict[str, Any]]:
        client = self.cloud.client("s3", region=REGION)
        uploads: list[dict[str, Any]] = client.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{self.name}/").get(
            "Uploads", []
        )
        return uploads


def operation(name: str, ending: str = "") -> Callable[[Request], bool]:
    return lambda request: request.operation == name and request.key.endswith(ending)


def after(count: int, name: str) -> Callable[[Request], bool]:
    """Return a predicate that is true for every request after the first `count` of an operation."""
    seen: list[Request] = []

    def is_further(request: Request) -> bool:
        if request.operation == name:
            seen.append(request)
        return len(seen) > count

    return is_further
