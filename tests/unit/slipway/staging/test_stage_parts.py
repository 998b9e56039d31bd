"""The arithmetic of a staging: parts, checksums, what fits on the disk; and the transfer when something fails."""

import base64
import errno
import hashlib
import io
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError

from slipway.staging.hub_errors import HubError
from slipway.staging.hub_repository import checksum
from slipway.staging.manifest import Manifest, StagedFile
from slipway.staging.progress import StagingProgress
from slipway.staging.transfer import Task, Transfer, TransferError
from slipway.staging.weight_files import HubFile
from slipway.staging.weights_prefix import PrefixError, UploadedPart, WeightsPrefix, bucket_region, checksum_of_parts

MEBIBYTE = 1024 * 1024


def staged(path: str = "model.safetensors", size: int = 40, part_size: int = 16) -> StagedFile:
    return StagedFile(path=path, size=size, hub_checksum="sha256:0", part_size=part_size, upload_id="1")


def test_parts_cover_a_file_without_gap_or_overlap() -> None:
    for size in (1, 15, 16, 17, 32, 40):
        file = staged(size=size)
        parts = [file.part(number) for number in range(1, file.part_count + 1)]
        assert sum(length for _, length in parts) == size
        assert [offset for offset, _ in parts] == [16 * index for index in range(len(parts))]
        assert all(length == 16 for _, length in parts[:-1])
        assert parts[-1][1] > 0


class Uploads:
    """S3 as far as opening an upload goes."""

    def create_multipart_upload(self, **_: Any) -> dict[str, str]:
        return {"UploadId": "1"}

    def get_bucket_location(self, Bucket: str) -> dict[str, str | None]:
        return {"LocationConstraint": {"oldest": None, "old": "EU"}.get(Bucket, "eu-west-3")}


@pytest.mark.parametrize("size", [1, 16 * MEBIBYTE, 160_000 * MEBIBYTE, 500_000_000_000, 5 * 2**40])
def test_the_largest_files_stay_within_the_10000_parts_of_s3(size: int) -> None:
    file = WeightsPrefix(Uploads(), "s3://bucket/prefix/", None).start("model.gguf", size, "sha256:0")
    assert file.part_count <= 10_000
    assert file.part_size >= 5 * MEBIBYTE, "S3 takes smaller ones only as the last part"
    assert sum(file.part(number)[1] for number in range(1, file.part_count + 1)) == size


def test_the_two_oldest_regions_have_their_usual_names() -> None:
    assert [bucket_region(Uploads(), name) for name in ("oldest", "old", "new")] == [
        "us-east-1",
        "eu-west-1",
        "eu-west-3",
    ]


def test_the_checksum_of_an_object_is_that_of_its_parts() -> None:
    digests = [hashlib.sha256(body).digest() for body in (b"one", b"two")]
    parts = [UploadedPart("etag", base64.b64encode(digest).decode()) for digest in digests]
    expected = base64.b64encode(hashlib.sha256(b"".join(digests)).digest()).decode()
    assert checksum_of_parts(parts) == f"{expected}-2"


def test_checksums_match_git_and_lfs(tmp_path: Path) -> None:
    (path := tmp_path / "file").write_bytes(b"hello\n")
    assert checksum(path, "git") == "git:ce013625030ba8dba906f756967f9e9ca394464a"  # `git hash-object`
    assert checksum(path, "sha256") == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_a_manifest_is_read_back_as_it_was_written() -> None:
    made = Manifest(
        state="uploading", model="a/b", revision="main", commit="0" * 40, weights="s3://b/p/", files=(staged(),)
    )
    assert Manifest.model_validate_json(made.to_json()) == made


def test_the_second_of_two_simultaneous_stagings_is_refused() -> None:
    class Taken:
        def put_object(self, IfNoneMatch: str, **_: Any) -> None:
            assert IfNoneMatch == "*"
            raise ClientError({"Error": {"Code": "PreconditionFailed"}}, "PutObject")

    made = Manifest(state="uploading", model="a/b", revision="main", commit="0", weights="s3://b/p/", files=())
    with pytest.raises(PrefixError, match="Somebody else has just begun to stage to s3://b/p/: wait for that"):
        WeightsPrefix(Taken(), "s3://b/p/", None).write(made, first=True)


class Hub:
    """A repository whose downloads a test decides."""

    def __init__(self, download: Callable[[HubFile, Path, Callable[[int], None]], None]) -> None:
        self._download = download

    def download(self, file: HubFile, commit: str, folder: Path, count: Callable[[int], None]) -> Path:
        self._download(file, folder / file.path, count)
        return folder / file.path


class Bucket:
    """A prefix that takes every part."""

    def __init__(self) -> None:
        self.sent: dict[tuple[str, int], bytes] = {}

    def send(self, file: StagedFile, number: int, body: bytes) -> None:
        self.sent[file.path, number] = body


def transfer(hub: Hub, bucket: Bucket, folder: Path, tasks: list[Task]) -> None:
    with StagingProgress(to_download=1, to_send=1, total=1) as progress:
        made: Any = Transfer(hub, "0" * 40, bucket, folder, progress)  # type: ignore[arg-type]
        made.run(tasks)


def test_only_missing_parts_are_sent_and_the_file_leaves_the_disk(tmp_path: Path) -> None:
    body, bucket = bytes(range(40)), Bucket()

    def download(file: HubFile, path: Path, count: Callable[[int], None]) -> None:
        path.write_bytes(body)

    transfer(Hub(download), bucket, tmp_path, [Task(staged(), (1, 3))])
    assert bucket.sent == {("model.safetensors", 1): body[:16], ("model.safetensors", 3): body[32:]}
    assert not list(tmp_path.iterdir())


def test_the_first_failure_stops_the_other_files_and_is_raised(tmp_path: Path) -> None:
    slow_began, failed = threading.Event(), threading.Event()

    def download(file: HubFile, path: Path, count: Callable[[int], None]) -> None:
        if file.path == "bad":
            assert slow_began.wait(60)
            failed.set()
            raise HubError("bad is corrupt")
        slow_began.set()
        assert failed.wait(60)
        for _ in range(10_000_000):  # until somebody stops it
            count(1)
        raise AssertionError("nobody stopped it")

    tasks = [Task(staged(path), (1,)) for path in ("slow", "bad")]
    with pytest.raises(HubError, match="bad is corrupt"):
        transfer(Hub(download), Bucket(), tmp_path, tasks)


def test_a_full_disk_is_reported_before_and_during_the_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: HubFile, path: Path, count: Callable[[int], None]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(TransferError, match=f"{tmp_path} has only .* free: name a folder on a larger disk"):
        transfer(Hub(full), Bucket(), tmp_path, [Task(staged(), (1,))])
    usage = shutil.disk_usage(tmp_path)._replace(free=5_000_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(TransferError, match=r"only 5.0 GB free: .* The largest file has 30.0 GB"):
        transfer(Hub(full), Bucket(), tmp_path, [Task(staged(size=30_000_000_000), (1,))])


def test_only_as_many_files_as_fit_are_on_the_disk_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000_000_000 + 40)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    lock, now, most = threading.Lock(), 0, 0

    def download(file: HubFile, path: Path, count: Callable[[int], None]) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        path.write_bytes(bytes(16))
        with lock:
            now -= 1

    transfer(Hub(download), Bucket(), tmp_path, [Task(staged(f"{n}", size=16), (1,)) for n in range(20)])
    assert most <= 2


class Nothing(io.BytesIO):
    """The body of an answer that a proxy gives for a service that is away."""

    def stream(self) -> Iterator[bytes]:
        yield b""


def test_a_bucket_whose_region_nobody_answers_is_one_sentence() -> None:
    once, keys = Config(retries={"total_max_attempts": 1}), {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    client = boto3.client("s3", region_name="us-east-1", config=once, **keys)
    client.meta.events.register("before-send.s3", lambda **_: AWSResponse("", 503, {}, Nothing()))
    with pytest.raises(PrefixError, match="S3 gave no answer on where weights is"):
        bucket_region(client, "weights")
