"""What of a bucket is not as its lock says."""

from slipway.locking.file_summary import differences, summary
from slipway.staging.weight_files import HubFile

SHARDS = [HubFile(f"model-0000{number}-of-00002.safetensors", 4500, f"sha256:{number}") for number in (1, 2)]
LOCKED = summary([*SHARDS, HubFile("config.json", 40, "git:a"), HubFile("empty.txt", 0, "git:b")])
THERE = {each.path: each.size for each in SHARDS} | {"config.json": 40}


def test_the_same_sizes_are_no_difference_and_empty_files_are_not_expected() -> None:
    assert not list(differences(LOCKED, THERE))


def test_a_missing_shard_is_told_by_the_others() -> None:
    del (there := dict(THERE))[SHARDS[1].path]
    (found,) = differences(LOCKED, there)
    assert found == "model-*-of-00002.safetensors has 4500 bytes in 1 files, not 9000 bytes in 2 files"


def test_other_sizes_missing_files_and_weights_that_are_too_many_are_named() -> None:
    there = {each.path: 4500 for each in SHARDS} | {"config.json": 41, "other.safetensors": 1, "README.md": 1}
    assert list(differences(LOCKED, there)) == [
        "config.json has 41 bytes, not 40 bytes",
        "other.safetensors is not in the lock",
    ]
    assert "config.json is missing" in differences(LOCKED, {})
