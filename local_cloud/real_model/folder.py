"""Finds the folder of a real model: one that the user names, or a model of the Hub in the Hub's own cache."""

import os
import re
import subprocess
from pathlib import Path

from local_cloud.interpreters.environments import MODELS
from local_cloud.real_model.error import RealModelError

_DOWNLOAD = Path(__file__).with_name("download.py")
_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_MEMORY = Path("/proc/meminfo")


def folder_of(model: str) -> Path:
    """The folder of a model that can be loaded, as far as its files show. Raises RealModelError.

    model: a folder, or an id on the Hub, which is downloaded unless the Hub's cache has it.
    """
    named = Path(model).expanduser()
    if named.is_dir():
        folder = named.resolve()
    elif _HUB_ID.fullmatch(model):
        folder = _downloaded(model)
    else:
        raise RealModelError(f"--real: {model} is neither a folder nor a model's id on the Hub, such as owner/name.")
    if not (folder / "config.json").is_file():
        raise RealModelError(f"--real: {model} holds no Hugging Face model (config.json is missing); name its folder.")
    weights = [*folder.glob("*.safetensors")] or [*folder.glob("*.bin")]
    if not weights:
        raise RealModelError(f"--real: {model} holds no weights as *.safetensors or *.bin; name a model that does.")
    needed, free = sum(each.stat().st_size for each in weights), _free_bytes()
    if needed > free:
        problem = f"the weights of {model} ({needed / 1e9:.1f} GB) exceed this machine's free memory"
        raise RealModelError(f"--real: {problem} ({free / 1e9:.1f} GB); name a smaller model.")
    return folder


def _downloaded(model: str) -> Path:
    done = subprocess.run(
        [MODELS.python(), "-P", _DOWNLOAD, model],
        env=os.environ | {"HF_HUB_DISABLE_PROGRESS_BARS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        fix = "name a folder with a model (--real PATH), or connect once"
        if "answers 40" in reason:
            fix = "mend the name, or set HF_TOKEN if the model is gated"
        raise RealModelError(f"--real: {model} can't be downloaded, as {reason}; {fix}.")
    return Path(done.stdout.strip())


def _free_bytes() -> float:
    for line in _MEMORY.read_text().splitlines() if _MEMORY.exists() else ():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    return float("inf")
