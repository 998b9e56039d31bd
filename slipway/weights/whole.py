"""Demands that weights are whole: no file is missing, and each is as long as its own header says.

An index's `total_size` refuses nothing: copies with another precision keep the index of their original, and MLX writes
the size of files where transformers writes that of tensors.
"""

import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from slipway.shared.sizes import size as size_text
from slipway.weights.gguf_header import read_gguf
from slipway.weights.safetensors_header import header_of
from slipway.weights.source import BrokenWeightsError, Source, broken, demand_no_disguise

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_INDEXES = {"model.safetensors.index.json": ".safetensors", "pytorch_model.bin.index.json": ".bin"}  # transformers'
_SHARD = re.compile(r"(?P<stem>.*?)(?P<number>\d+)-of-(?P<count>\d+)(?P<end>\.\w+)")
_MOST_SHARDS = 100_000  # a larger number counts something else
_LONGEST_INDEX_IN_BYTES = 64 * 1024 * 1024
# Zip files begin with the one and end with the other, which a comment of at most 65,535 bytes may follow.
_ZIP, _END_OF_ZIP, _LONGEST_END_IN_BYTES = b"PK\x03\x04", b"PK\x05\x06", 65_557
_AT_ONCE = 8
_SHOWN, _LONGEST_NAME = 3, 200


def demand_whole(source: Source, files: Mapping[str, int], left_out: Collection[str] = ()) -> None:
    """Raise BrokenWeightsError unless the files are a whole model. Also raises the errors of `read`.

    files: sizes in bytes by path, of the weights that an engine loads and the files beside them. left_out: other
    files there.
    """
    weights = demand_all_files(source, files, left_out)
    if "config.json" in files and not any(path.endswith(".gguf") for path in weights):
        json_object(source, "config.json", files["config.json"])
    side_by_side = ThreadPoolExecutor(_AT_ONCE)
    try:
        for _ in side_by_side.map(lambda path: demand_whole_file(source, path, files[path]), weights):
            pass
    finally:  # Ctrl-C does not wait for answers
        side_by_side.shutdown(wait=False, cancel_futures=True)


def demand_all_files(source: Source, files: Mapping[str, int], left_out: Collection[str] = ()) -> list[str]:
    """Raise BrokenWeightsError if a file is missing that an index lists, or else one of `n of m` in the names.

    Return the weights that engines load. transformers opens all files of its index, and vLLM no others. TGI opens what
    is there, so an index that lists none of it tells nothing: it is left from an earlier export.
    """
    loaded = _weights(files)
    by_name = set(loaded)  # those of which no index tells
    for index in sorted(path for path in files if posixpath.basename(path) in _INDEXES):
        folder, name = posixpath.split(index)
        beside = {path for path in by_name if posixpath.dirname(path) == folder}
        of_index = {path for path in beside if path.endswith(_INDEXES[name])}
        is_alone = index.removesuffix(".index.json") in beside  # whether the index counts then depends on the engine
        if is_alone or (beside and not of_index):
            continue
        listed, total = _listed(source, index, files[index])
        if of_index and not listed & of_index:
            continue
        by_name -= of_index
        if missing := sorted(listed - files.keys()):
            there = size_text(sum(files[path] for path in listed & files.keys()))
            sizes = f"; it says {size_text(total)}, and {there} are there" if total else ""
            raise _missing(source, missing, f", which {index} lists{sizes}", left_out)
        loaded = [path for path in loaded if path in listed or path not in of_index]
    if missing := sorted(_missing_numbers(by_name)):
        raise _missing(source, missing, "", left_out)
    return loaded


def demand_whole_file(source: Source, path: str, size: int) -> None:
    """Raise BrokenWeightsError if the file is cut or is another thing. Also raises the errors of `read`.

    PyTorch writes zip files, and does not open one without its end ("failed finding central directory"). Its older
    format does not tell its length.
    """
    if path.endswith(".safetensors"):
        header_of(source, path, size)
    elif path.endswith(".gguf"):
        read_gguf(source, path, size)
    elif not size:
        raise broken(source, path, "it is empty")
    else:
        begin = source.read(path, 0, min(size, 100))
        demand_no_disguise(source, path, begin)
        start = max(0, size - _LONGEST_END_IN_BYTES)
        if begin.startswith(_ZIP) and _END_OF_ZIP not in source.read(path, start, size - start):
            raise broken(source, path, f"it is cut after {size:,} bytes")


def _weights(files: Mapping[str, int]) -> list[str]:
    return [path for path in files if path.endswith(WEIGHTS) and not path.startswith("adapter_")]


def _listed(source: Source, index: str, size: int) -> tuple[set[str], float]:
    """The paths of the files that an index lists, and its sum of the sizes in bytes; 0 = it does not say."""
    content = json_object(source, index, size)
    names, metadata = content.get("weight_map"), content.get("metadata")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        raise broken(source, index, "it names no files")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    folder = posixpath.dirname(index)
    listed = {posixpath.join(folder, name) for name in names.values()}
    return listed, total if isinstance(total, int | float) and total > 0 else 0


def json_object(source: Source, path: str, size: int) -> dict[str, Any]:
    """Read a file that holds a JSON object. Raises BrokenWeightsError, and the errors of `read`."""
    if size > _LONGEST_INDEX_IN_BYTES:
        raise broken(source, path, f"it has {size:,} bytes, too many for a file of settings")
    text = source.read(path, 0, size) if size else b""
    demand_no_disguise(source, path, text)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise broken(source, path, "it is not JSON, or is cut") from None
    if not isinstance(content, dict):
        raise broken(source, path, "it does not hold a JSON object")
    return content


def _missing_numbers(weights: Collection[str]) -> Iterator[str]:
    """Yield the missing names of series such as model-00001-of-00004.safetensors. Some begin at 0."""
    series: dict[tuple[str, str, str], dict[int, int]] = {}
    for path in weights:
        if (shard := _SHARD.fullmatch(path)) and int(shard["count"]) <= _MOST_SHARDS:
            widths = series.setdefault((shard["stem"], shard["count"], shard["end"]), {})
            widths[int(shard["number"])] = len(shard["number"])
    for (stem, count, end), widths in series.items():
        first, width = 0 if 0 in widths else 1, min(widths.values())
        for number in range(first, first + int(count)):
            if number not in widths:
                yield f"{stem}{number:0{width}}-of-{count}{end}"


def _missing(source: Source, names: list[str], why: str, left_out: Collection[str]) -> BrokenWeightsError:
    shown = ", ".join(name[:_LONGEST_NAME] for name in names[:_SHOWN]) + (
        f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    )
    fix = "let model.files name them, too" if set(names) <= set(left_out) else source.fix
    return BrokenWeightsError(f"{source.place} lacks {shown}{why}", fix)
