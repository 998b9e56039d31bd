"""Weights that are whole, and all ways in which they are not."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

from slipway.weights.source import BrokenWeightsError
from slipway.weights.whole import demand_whole
from support.stand_ins.hub_models import gguf, safetensors

SHARD = safetensors({"a": ("BF16", [100], 200)})
GGUF = gguf({"general.architecture": "llama"}, {"a": [320], "b": [64]})
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 4900000000\n"
PAGE = b"\n<!DOCTYPE html><html><title>Sign in</title></html>"
INDEX = "model.safetensors.index.json"

Files = Mapping[str, bytes]


class Bucket:
    """Files in memory."""

    place, fix = "s3://bucket/model/", "copy all files of the model again"

    def __init__(self, files: Files) -> None:
        self.files = files

    def read(self, path: str, start: int, size: int, /) -> bytes:
        return self.files[path][start : start + size]


def numbered(numbers: range, name: str = "model-{:05}-of-00003.safetensors", body: bytes = SHARD) -> dict[str, bytes]:
    return {name.format(number): body for number in numbers}


def index(files: Files, **metadata: Any) -> bytes:
    weight_map = {f"layer.{number}": path for number, path in enumerate(files)}
    return json.dumps({"metadata": metadata, "weight_map": weight_map}).encode()


def torch_file() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(1000))
    return written.getvalue()


def placed(*offsets: tuple[int, int]) -> bytes:
    """A safetensors file whose tensors lie at these offsets."""
    table = {f"t{at}": {"dtype": "BF16", "shape": [100], "data_offsets": at} for at in offsets}
    text = json.dumps(table).encode()
    return len(text).to_bytes(8, "little") + text + bytes(max(end for _, end in offsets))


THREE = numbered(range(1, 4))
BIN = numbered(range(1, 4), "pytorch_model-{:05}-of-00003.bin", torch_file())


@pytest.mark.parametrize(
    "files",
    [
        {"config.json": b"{}", "model.safetensors": SHARD},
        THREE,
        {INDEX: index(THREE), **THREE},
        {INDEX: index(THREE, total_size=141_107_412_992), **THREE},  # of the original, before it was quantized
        {INDEX: index(BIN), "model.safetensors": SHARD},  # engines differ on an index beside this name
        {INDEX: index(THREE), **BIN},
        {INDEX: index(THREE), **THREE, "left-over.safetensors": SHARD[:20]},
        {
            "model.safetensors": safetensors(
                {"a": ("F32", [2, 3], 24), "empty": ("F8_E4M3", [0], 0), "b": ("F4", [3], 2)}
            )
        },
        {INDEX: index(THREE), **numbered(range(1, 3), "model-{:05}-of-00002.safetensors")},  # from an earlier export
        {"pytorch_model.bin.index.json": index(BIN), **BIN},
        {INDEX: index(numbered(range(1, 2))), **numbered(range(1, 2))},
        numbered(range(3)),
        numbered(range(1, 13), "model-{}-of-12.safetensors"),
        numbered(range(1, 4), "model-{:05}-of-000003.safetensors"),
        numbered(range(1, 4), "a/model-{:05}-of-00003.gguf", GGUF),
        {"a-00001-of-00002.gguf": gguf({"split.count": 2}, {}), "a-00002-of-00002.gguf": GGUF, "config.json": PAGE},
        {"pytorch_model.bin": b"\x80\x02\x8a\nl\xfc"},  # PyTorch's format before 1.6
        {"model.safetensors": SHARD, "adapter_model.safetensors": b""},
        {"config.json": b"{}", "tokenizer.json": PAGE},
    ],
    ids=lambda files: next(iter(files)),
)
def test_whole_weights_pass(files: Files) -> None:
    demand_whole(Bucket(files), {path: len(body) for path, body in files.items()})


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (numbered(range(1, 3)), "s3://bucket/model/ lacks model-00003-of-00003.safetensors"),
        (numbered(range(1)), "lacks model-00001-of-00003.safetensors, model-00002-of-00003.safetensors"),
        (
            numbered(range(2, 3), "model-{:05}-of-00030.safetensors"),
            "lacks model-00001-of-00030.safetensors, model-00003-of-00030.safetensors, "
            "model-00004-of-00030.safetensors and 26 more",
        ),
        (numbered(range(2, 3), "model-{}-of-3.gguf", GGUF), "lacks model-1-of-3.gguf, model-3-of-3.gguf"),
        (
            {INDEX: index(THREE, total_size=141_107_412_992), **numbered(range(1, 2))},
            f"lacks model-00002-of-00003.safetensors, model-00003-of-00003.safetensors, which {INDEX} lists; it says "
            "141.1 GB, and 0.3 kB are there",
        ),
        ({INDEX: index({"x.safetensors": b""}), "adapter_a.safetensors": SHARD}, f"lacks x.safetensors, which {INDEX}"),
        ({f"a/{INDEX}": index({"x.safetensors": b""})}, f"lacks a/x.safetensors, which a/{INDEX} lists"),
        ({INDEX: index({"\x1b[2J\ud800" + 999 * "y": b""})}, f"lacks  [2J {195 * 'y'}, which {INDEX} lists"),
        ({INDEX: b"{}", **THREE}, f"{INDEX} of s3://bucket/model/ is broken: it names no files"),
        ({INDEX: index(THREE)[:-9], **THREE}, "is broken: it is not JSON, or is cut"),
        ({INDEX: POINTER, **THREE}, f"{INDEX} of s3://bucket/model/ is a git-lfs pointer"),
    ],
)
def test_missing_files_are_named(files: Files, problem: str) -> None:
    with pytest.raises(BrokenWeightsError) as error:
        demand_whole(Bucket(files), {path: len(body) for path, body in files.items()})
    assert problem in error.value.problem
    assert str(error.value).endswith("copy all files of the model again.")


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("a.safetensors", SHARD[:-1], f"it has {len(SHARD) - 1:,} bytes, and its header describes {len(SHARD):,}"),
        ("a.safetensors", SHARD + b"\0", f"it has {len(SHARD) + 1:,} bytes, and its header describes {len(SHARD):,}"),
        ("a.safetensors", SHARD[:20], "it has no safetensors header, or is cut"),
        ("a.safetensors", b"", "it has no safetensors header, or is cut"),
        ("a.safetensors", safetensors({}), "it holds no tensors"),
        ("a.safetensors", safetensors({"a": ("BF16", [100], 100)}), "a has 100 bytes, and its shape needs 200"),
        ("a.safetensors", placed((0, 200), (100, 300)), "two of its tensors overlap"),
        ("a.safetensors", placed((0, 200), (202, 402)), "there is a gap between its tensors"),
        ("a.safetensors", placed((2, 202)), "there is a gap between its tensors"),
        ("a.gguf", GGUF[:-1], f"it has {len(GGUF) - 1:,} bytes, and its header describes {len(GGUF):,}"),
        ("a.gguf", GGUF[:60], "its header is cut, or longer than any"),
        ("a.gguf", gguf({"general.alignment": "wide"}, {}), "its general.alignment is 'wide'"),
        ("a.bin", torch_file()[:-30], f"it is cut after {len(torch_file()) - 30:,} bytes"),
        ("a.pt", b"", "it is empty"),
        ("config.json", b'{"architectures": ["Llam', "it is not JSON, or is cut"),
        ("config.json", b"[]", "it does not hold a JSON object"),
    ],
)
def test_a_cut_file_is_named_with_its_length(path: str, body: bytes, why: str) -> None:
    with pytest.raises(BrokenWeightsError) as error:
        demand_whole(Bucket({path: body}), {path: len(body)})
    assert error.value.problem == f"{path} of s3://bucket/model/ is broken: {why}"


@pytest.mark.parametrize("path", ["a.safetensors", "a.gguf", "a.bin", "config.json"])
@pytest.mark.parametrize(
    ("body", "problem"), [(POINTER, "is a git-lfs pointer, not the file itself"), (PAGE, "is an HTML page, perhaps of")]
)
def test_a_pointer_or_a_page_is_no_file(path: str, body: bytes, problem: str) -> None:
    with pytest.raises(BrokenWeightsError, match=problem) as error:
        demand_whole(Bucket({path: body}), {path: len(body)})
    assert ("git lfs pull" in error.value.fix) == (body == POINTER)


def test_files_that_were_not_chosen_are_a_matter_of_the_patterns() -> None:
    files = numbered(range(1, 3))
    sizes = {path: len(body) for path, body in files.items()}
    with pytest.raises(BrokenWeightsError, match=r"00003\.safetensors; let model\.files name them, too"):
        demand_whole(Bucket(files), sizes, list(THREE))


def test_nothing_is_read_of_a_file_but_its_header() -> None:
    reads = list[tuple[str, int]]()

    class Counting(Bucket):
        def read(self, path: str, start: int, size: int, /) -> bytes:
            reads.append((path, size))
            return super().read(path, start, size)

    large = safetensors({"a": ("BF16", [500_000], 1_000_000)})
    demand_whole(Counting({"a.safetensors": large}), {"a.safetensors": len(large)})
    assert reads == [("a.safetensors", 100_000)]
