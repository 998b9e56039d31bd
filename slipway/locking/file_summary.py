"""Summarizes the files of a lock: a line for each, and one line for all shards of a model, of which there may be a
thousand.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from slipway.staging.weight_files import HubFile

_SHARD = re.compile(r"\d{5}(?=-of-\d{5}\.)")
_LOADED = (".safetensors", ".bin", ".pt", ".pth", ".gguf")


def summary(files: Sequence[HubFile]) -> dict[str, str]:
    """Size and checksum by path.

    For shards: the sum of sizes, their count, and the checksum of the lines that they would have. A single file that
    is named as one of several shards counts as a shard: the others are missing.
    """
    found = {}
    for name, group in groupby(sorted(files, key=lambda file: file.path), lambda file: _SHARD.sub("*", file.path)):
        shards = list(group)
        if len(shards) == 1 and (name == shards[0].path or "-of-00001." in name):
            found[shards[0].path] = f"{shards[0].size} {shards[0].checksum}"
            continue
        lines = "".join(f"{file.path} {file.size} {file.checksum}\n" for file in shards)
        size, digest = sum(file.size for file in shards), hashlib.sha256(lines.encode()).hexdigest()
        found[name] = f"{size} in {len(shards)} files, sha256:{digest}"
    return found


def differences(locked: Mapping[str, str], objects: Mapping[str, int]) -> Iterator[str]:
    """Yield the bucket's differences from the lock: missing files, other sizes, and weights that the lock lacks.

    objects: sizes by path. Empty files are not staged, so they are ignored.
    """
    there = summary([HubFile(path, size, "") for path, size in objects.items()])
    for name, line in locked.items():
        size = line.split()[0]
        if name not in there and size != "0":
            yield f"{name} is missing"
        elif name in there and _measures(there[name]) != _measures(line):
            yield f"{name} has {_measures(there[name])}, not {_measures(line)}"
    yield from (f"{name} is not in the lock" for name in there if name.endswith(_LOADED) and name not in locked)


def _measures(line: str) -> str:
    """Size and count, such as `4096 bytes` or `9000 bytes in 2 files`."""
    size, _, rest = line.partition(" ")
    return f"{size} bytes {rest.partition(', ')[0]}" if rest.startswith("in ") else f"{size} bytes"
