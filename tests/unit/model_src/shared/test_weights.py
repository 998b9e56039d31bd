"""Weights of the Hub: the first of several processes fetches them by the Hub's client, the others find them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.repository import ROOT
from support.stand_ins.hub_server import HubServer

MODEL = "facebook/opt-tiny"
FILES = {
    "config.json": b"{}",
    "pytorch_model-00001-of-00002.bin": b"1" * 200_000,
    "pytorch_model-00002-of-00002.bin": b"2" * 200_000,
    "vocab.txt": b"words",
    "model.safetensors": b"the same weights again",
    "flax_model.msgpack": b"and again",
}
WANTED = {name: content for name, content in FILES.items() if name.endswith((".json", ".bin", ".txt"))}
FETCH = "import weights, sys; print(weights.fetch({'model_id': sys.argv[1], 'revision': sys.argv[2]}))"


def fetch(hub: HubServer, disk: Path, revision: str, ranks: int) -> list[tuple[int, str, str]]:
    """Start the ranks; returns the exit status, output and errors of each."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "model_src" / "shared"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_ENDPOINT": hub.url,
        "NO_PROXY": "127.0.0.1",
        "TMPDIR": str(disk),
        "MASTER_PORT": "29500",
    }
    command = [sys.executable, "-c", FETCH, MODEL, revision]
    processes = [
        subprocess.Popen(
            command,
            env=environment | {"LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in reversed(range(ranks))  # the first one last
    ]
    return [(process.wait(300), *process.communicate()) for process in processes]


def test_one_rank_fetches_the_engine_s_files_for_all(tmp_path: Path) -> None:
    with HubServer(MODEL, FILES) as hub:
        ended = fetch(hub, tmp_path, hub.main, ranks=3)
        assert [(status, output.strip()) for status, output, _ in ended] == [(0, str(tmp_path / "model"))] * 3
        assert {name: hub.downloads(name) for name in FILES} == {name: int(name in WANTED) for name in FILES}
    folder = tmp_path / "model"
    assert {name: (folder / name).read_bytes() for name in WANTED} == WANTED
    assert (folder / "DONE").read_text() == f"{MODEL} at {hub.main}"


def test_a_second_start_needs_no_hub(tmp_path: Path) -> None:
    with HubServer(MODEL, FILES) as hub:
        fetch(hub, tmp_path, hub.main, ranks=1)
    assert [status for status, *_ in fetch(hub, tmp_path, hub.main, ranks=2)] == [0, 0]


@pytest.mark.parametrize("ranks", [1, 3])
def test_an_unknown_revision_fails_in_every_rank(ranks: int, tmp_path: Path) -> None:
    with HubServer(MODEL, FILES) as hub:
        ended = fetch(hub, tmp_path, "no-such-branch", ranks)
    assert [status for status, *_ in ended] == [1] * ranks
    assert all(f"{MODEL} at no-such-branch cannot be downloaded: " in errors for *_, errors in ended)
    assert not (tmp_path / "model" / "DONE").exists()
