"""Stands in for the part of the Hub's client that the handlers call: every name is a model."""

import json
from pathlib import Path

RANKS, PARTS = 8, 2


def snapshot_download(repo_id: str, *, revision: str, cache_dir: str, allow_patterns: list[str]) -> str:
    """A folder with the model's files; a repository of DeepSpeed shards has shards for 8 GPUs."""
    folder = Path(cache_dir) / f"models--{repo_id.replace('/', '--')}" / "snapshots" / revision
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if "deepspeed-inference" in repo_id:
        shards = [f"tp_{rank:02}_{part:02}.pt" for part in range(PARTS) for rank in range(RANKS)]
        checkpoints = {"non_tp": ["non-tp.pt"], "tp": shards}
        (folder / "ds_inference_config.json").write_text(json.dumps({"type": "BLOOM", "checkpoints": checkpoints}))
        for name in ["non-tp.pt", *shards]:
            (folder / name).write_text(name)
    return str(folder)
