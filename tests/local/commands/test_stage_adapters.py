"""`slipway stage` and `slipway lock` of LoRA adapters, from a Hub on loopback and in the local cloud's S3."""

import gzip
import io
import tarfile
from typing import Any

import pytest

from support.stacks.small_stacks import REGION
from support.stacks.staging_runs import BUCKET, MODEL, Staging
from support.stand_ins.adapters import adapter_files, packed

FILES = adapter_files()
pytestmark = pytest.mark.parametrize("staging", [FILES | {"README.md": b"How it was trained."}], indirect=True)


def put(staging: Staging, key: str, body: bytes) -> None:
    staging.cloud.client("s3", region=REGION).put_object(Bucket=BUCKET, Key=f"{staging.name}/{key}", Body=body)


def archive(staging: Staging, key: str) -> bytes:
    found = staging.cloud.client("s3", region=REGION).get_object(Bucket=BUCKET, Key=f"{staging.name}/{key}")
    body: bytes = found["Body"].read()
    return body


def copied(staging: Staging, files: dict[str, bytes] = FILES) -> str:
    """Put the files of an adapter into S3, and name its prefix in the deployment. Returns the prefix."""
    prefix = f"s3://{BUCKET}/{staging.name}/legal/"
    for path, body in files.items():
        put(staging, f"legal/{path}", body)
    staging.write(weights=None, adapters={"legal": prefix})
    return prefix


def test_an_adapter_of_the_hub_is_copied_and_packed(staging: Staging) -> None:
    staging.write(weights=None, adapters={"legal": MODEL})
    to = f"s3://{BUCKET}/{staging.name}/legal/"
    code, out, err = staging.run(adapter="legal", to=to)
    assert (code, err) == (0, "")
    assert f"model.adapters.legal: {to}" in out
    assert {path for path in staging.visible() if path.startswith("legal/")} == {f"legal/{path}" for path in FILES}
    with tarfile.open(fileobj=io.BytesIO(archive(staging, "legal.tar.gz"))) as unpacked:
        found = {entry.name: unpacked.extractfile(entry).read() for entry in unpacked}  # type: ignore[union-attr]
    assert found == FILES

    before = archive(staging, "legal.tar.gz")
    staging.write(weights=None, adapters={"legal": to})
    code, out, err = staging.run()
    assert (code, err) == (0, "")
    assert "is there, and holds the same files" in out
    assert archive(staging, "legal.tar.gz") == before

    locked = staging.adapters_in_lock()["legal"]
    assert (locked["source"], locked["commit"], locked["rank"]) == (to, staging.hub.main, 16)


def test_the_same_files_give_the_same_archive(staging: Staging) -> None:
    copied(staging)
    assert staging.run()[0] == 0
    first = archive(staging, "legal.tar.gz")
    staging.cloud.client("s3", region=REGION).delete_object(Bucket=BUCKET, Key=f"{staging.name}/legal.tar.gz")
    assert staging.run()[0] == 0
    assert archive(staging, "legal.tar.gz") == first


def test_an_archive_of_another_tool_is_taken_if_it_holds_the_same_files(staging: Staging) -> None:
    copied(staging)
    put(staging, "legal.tar.gz", packed({f"./{name}": body for name, body in FILES.items()}))
    code, out, err = staging.run()
    assert (code, err) == (0, "")
    assert "holds the same files" in out


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (packed(adapter_files({"lora_alpha": 64})), "holds another adapter_config.json than the prefix beside it"),
        (packed({"adapter_config.json": FILES["adapter_config.json"]}), "lacks adapter_model.safetensors at its root"),
        (packed({f"legal/{name}": body for name, body in FILES.items()}), "holds 'legal/adapter_"),
        (packed(FILES | {"run.sh": b"echo"}), "holds 'run.sh' beside an adapter's two files"),
        (packed(FILES)[:-40], "is no tar.gz"),
        (b"not packed", "is no tar.gz"),
        (gzip.compress(bytes(40_000_000)), "lacks adapter_config.json, adapter_model.safetensors at its root"),
        (packed({"adapter_config.json": bytes(40_000_000)}), "unpacks to more than the"),
    ],
)
def test_an_archive_of_anything_else_is_refused(staging: Staging, body: bytes, says: str) -> None:
    copied(staging)
    put(staging, "legal.tar.gz", body)
    assert says in staging.refused()


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"adapter_config.json": FILES["adapter_config.json"]}, "lacks adapter_model.safetensors of a LoRA adapter"),
        (FILES | {"adapter_model.safetensors": FILES["adapter_model.safetensors"][:-1]}, "is broken"),
        ({"other.txt": b"x"}, "lacks adapter_config.json of a LoRA adapter, and holds other.txt"),
    ],
)
def test_files_in_s3_that_are_no_whole_adapter_are_refused(
    staging: Staging, files: dict[str, bytes], says: str
) -> None:
    copied(staging, files)
    assert says in staging.refused()
    assert "legal.tar.gz" not in staging.visible()


def test_a_broken_adapter_of_the_hub_is_refused_before_anything_is_sent(staging: Staging) -> None:
    staging.hub.push({"adapter_config.json": FILES["adapter_config.json"]})
    staging.write(weights=None, adapters={"legal": MODEL})
    assert "lacks adapter_model.safetensors" in staging.refused(adapter="legal", to=f"s3://{BUCKET}/{staging.name}/a/")
    assert staging.visible() == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"adapter": "sales"}, "names no adapter 'sales'; it has legal."),
        ({"adapter": "legal"}, "model.adapters.legal: example/tiny is on the Hub; name its prefix, such as --to s3://"),
        ({"adapter": "legal", "to": "legal"}, "--to: legal is not a prefix; use this form: s3://my-bucket/legal/."),
        ({"to": "s3://bucket/legal/"}, "--to is the prefix of one adapter: name that with --adapter."),
    ],
)
def test_wrong_arguments_are_refused(staging: Staging, options: dict[str, Any], says: str) -> None:
    staging.write(weights=None, adapters={"legal": MODEL})
    assert says in staging.refused(**options)


def test_a_prefix_for_another_adapter_is_refused(staging: Staging) -> None:
    copied(staging)
    staging.write(weights=None, adapters={"legal": MODEL})
    said = staging.refused(adapter="legal", to=f"s3://{BUCKET}/{staging.name}/legal/")
    assert said.startswith(f"model.adapters.legal: s3://{BUCKET}/{staging.name}/legal/ holds 2 objects that were not")
