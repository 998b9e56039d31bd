"""Compares `stage`, from a Hub on loopback to the local cloud's S3, with a download and a sequential upload."""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from boto3.s3.transfer import TransferConfig

from local_cloud.cloud import LocalCloud, free_port
from tools.benchmarks.shared.pairs import ROOT, Figure, alternate, environment, ratio, spread, work

MODEL, BUCKET, REGION = "example/benchmark", "benchmark-weights", "us-east-1"
FILES, FILE_IN_BYTES = 8, work(32 * 1024 * 1024)
IN_SEQUENCE = TransferConfig(use_threads=False)
DOWNLOAD = (
    "import sys; from huggingface_hub import snapshot_download; snapshot_download(sys.argv[1], local_dir=sys.argv[2])"
)


def figures(rounds: int) -> Iterator[Figure]:
    """Speed of both ways. Raises SystemExit if a command fails."""
    with TemporaryDirectory() as name, LocalCloud(port=free_port()) as cloud:
        folder = Path(name)
        _write_model(folder / "model")
        cloud.wait_until_ready()
        cloud.client("s3", region=REGION).create_bucket(Bucket=BUCKET)
        with _hub(folder / "model") as url:
            compared = _Compared(cloud, url, folder)
            taken = alternate(compared.sequential, compared.staged, rounds)
    megabytes = FILES * FILE_IN_BYTES / 1e6

    def speed(seconds: Sequence[float]) -> str:
        return f"{megabytes / statistics.median(seconds):.0f} MB/s"

    yield Figure(f"plain sequential upload of {megabytes:.0f} MB", "shown", speed(compared.uploads))
    sequential = speed([each.reference for each in taken])
    yield Figure("download from the Hub, then that upload", "shown", sequential, f"1 +- {spread(taken):.3f}")
    yield Figure("stage: the same, checked and resumable", "shown", speed([each.other for each in taken]))
    yield Figure("stage / download and upload, time", "shown", f"{ratio(taken):.2f}")


def _write_model(folder: Path) -> None:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    source = random.Random(1)
    for number in range(1, FILES + 1):
        tensor = {"dtype": "U8", "shape": [FILE_IN_BYTES], "data_offsets": [0, FILE_IN_BYTES]}
        header = json.dumps({f"weights.{number}": tensor}).encode()
        content = len(header).to_bytes(8, "little") + header + source.randbytes(FILE_IN_BYTES)
        (folder / f"model-{number:05}-of-{FILES:05}.safetensors").write_bytes(content)


@contextmanager
def _hub(folder: Path) -> Iterator[str]:
    """Run a Hub in a process of its own; yields its URL."""
    command = [sys.executable, "-m", "support.stand_ins.hub_server", MODEL, str(folder)]
    with subprocess.Popen(
        command, cwd=ROOT / "tests", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


class _Compared:
    """Both ways from one Hub to one bucket. uploads: seconds of each sequential upload."""

    def __init__(self, cloud: LocalCloud, hub: str, folder: Path) -> None:
        self._cloud, self._folder = cloud, folder
        self.uploads: list[float] = []
        self._variables = {
            "AWS_ENDPOINT_URL": cloud.url,
            "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
            "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
            "HF_ENDPOINT": hub,
            "HF_HOME": str(folder / "hub"),
            "NO_PROXY": os.environ["NO_PROXY"],
        }

    def sequential(self) -> float:
        """Seconds of a download and a sequential upload."""
        folder, client = self._folder / "by-hand", self._cloud.client("s3", region=REGION)
        started = perf_counter()
        self._run([sys.executable, "-c", DOWNLOAD, MODEL, str(folder)])
        downloaded = perf_counter()
        for path in sorted(path for path in folder.iterdir() if path.is_file()):
            client.upload_file(str(path), BUCKET, f"by-hand/{path.name}", Config=IN_SEQUENCE)
        ended = perf_counter()
        self.uploads.append(ended - downloaded)
        shutil.rmtree(folder)
        self._clear()
        return ended - started

    def staged(self) -> float:
        """Seconds of the whole `stage` command."""
        model = {"id": MODEL, "weights": f"s3://{BUCKET}/staged/"}
        path = self._folder / "benchmark.yaml"
        path.write_text(json.dumps({"region": REGION, "model": model, "hosting": {"instance_type": "ml.g5.xlarge"}}))
        started = perf_counter()
        self._run([sys.executable, "-m", "slipway", "stage", str(path), "--folder", str(self._folder / "way")])
        ended = perf_counter()
        self._clear()
        return ended - started

    def _run(self, command: list[str]) -> None:
        result = subprocess.run(command, cwd=ROOT, env=environment(**self._variables), capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")

    def _clear(self) -> None:
        """Empty the bucket, because the emulator keeps objects in memory."""
        client = self._cloud.client("s3", region=REGION)
        listed = client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        client.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": each["Key"]} for each in listed]})
