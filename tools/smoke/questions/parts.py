"""What S3 says about objects in parts: results of batches, which carry no checksum, and weights, which do."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.exceptions import ClientError

from inference_api.batches.service import PLAIN_PARTS
from inference_api.batches.storage import PART_BYTES, Storage
from slipway.staging.weights_prefix import PrefixError, WeightsPrefix, checksum_of_parts
from tools.smoke.asking.question import Answer, Line, Question
from tools.smoke.asking.removal import make_bucket, remove_bucket
from tools.smoke.asking.trial import Trial

_TAIL = b"the end\n"
_FILE, _PART_OF_WEIGHTS_BYTES = "model.safetensors", 16 * 1024 * 1024


def results(trial: Trial) -> Answer:
    """Write an object of two parts as the functions join results, then in botocore's own way."""
    with _bucket(trial) as bucket:
        ours = _joined(trial, bucket, boto3.client("s3", region_name=trial.region, config=PLAIN_PARTS))
        other = _joined(trial, bucket, boto3.client("s3", region_name=trial.region))
    seen = f"without checksums: {ours}; with those that botocore adds to each part: {other}"
    return Answer(seen, ours.startswith("joined"))


def _joined(trial: Trial, bucket: str, client: Any) -> str:
    storage, key = Storage(client, bucket), "results"
    parts = {1: b"x" * PART_BYTES, 2: _TAIL}
    try:
        upload = storage.begin_upload(key)
        for number, body in parts.items():
            storage.put_part(key, upload, number, body)
        storage.complete_upload(key, upload, storage.parts(key, upload) or {})
        head = client.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        read = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError as error:
        return str(error)
    kinds = sorted(name for name in head if name.startswith("Checksum"))
    trial.saw(f"ETag {head['ETag']}, {', '.join(f'{name} {head[name]}' for name in kinds) or 'no checksum'}")
    return (
        f"joined, with {', '.join(kinds) or 'no checksum'}" if read == b"".join(parts.values()) else "another content"
    )


def weights(trial: Trial) -> Answer:
    """Stage a file of two parts, whose checksum S3 must give back as the SHA-256 over those of the parts."""
    with _bucket(trial) as bucket:
        prefix = WeightsPrefix(trial.clients("s3"), f"s3://{bucket}/weights/", None)
        body = b"x" * _PART_OF_WEIGHTS_BYTES + _TAIL
        file = prefix.start(_FILE, len(body), f"sha256:{hashlib.sha256(body).hexdigest()}")
        for number in range(1, file.part_count + 1):
            offset, size = file.part(number)
            prefix.send(file, number, body[offset : offset + size])
        parts = prefix.parts(file) or {}
        file = file.model_copy(update={"s3_checksum": checksum_of_parts([parts[each] for each in sorted(parts)])})
        try:
            prefix.complete(file, parts)
        except PrefixError as error:
            head = trial.clients("s3").head_object(Bucket=bucket, Key=prefix.key(_FILE), ChecksumMode="ENABLED")
            return Answer(f"{error} Ours: {file.s3_checksum}, S3's: {head.get('ChecksumSHA256')}", good=False)
    return Answer(f"{file.s3_checksum} of {file.part_count} parts")


@contextmanager
def _bucket(trial: Trial) -> Iterator[str]:
    """A bucket that goes with the block."""
    name, s3 = trial.made("parts"), trial.clients("s3")
    make_bucket(name, s3)
    try:
        yield name
    finally:
        remove_bucket(name, s3)


QUESTIONS = (
    Question(
        "results-in-parts",
        "Does S3 join parts that carry no checksum, as the functions write results of batches?",
        "it does, and the object reads as it was written",
        results,
        Line("docs/batches.md", "How it runs", "Parts of a result carry no checksum"),
        minutes=1,
        usd=0.01,
    ),
    Question(
        "weights-in-parts",
        "Does S3 give the SHA-256 over the checksums of the parts for an object of several parts?",
        "it does, as `slipway stage` computes it",
        weights,
        Line("docs/weights.md", "2. Stage", "each complete object is checked"),
        minutes=1,
        usd=0.01,
    ),
)
