"""Fetches the artifact of a LoRA adapter: an archive or the objects below a prefix, checked before it is used."""

import json
import shutil
from pathlib import Path

from local_cloud.emulator.sagemaker.containers.instance import ContainerStartError
from local_cloud.emulator.sagemaker.containers.model_data import fetch_model_data

_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_MOST_BYTES = 4 * 1024**3
# LMI's and vLLM's default.
_MOST_RANK = 16
_PREFIXES = ("OPTION_", "SM_VLLM_", "SM_SGLANG_")


def fetch_adapter(role_arn: str, url: str, environment: dict[str, str]) -> Path:
    """A new folder with the adapter, for a container with this environment; raises ContainerStartError."""
    is_prefix = url.endswith("/")
    if not is_prefix and not url.endswith((".tar.gz", ".tgz")):
        raise ContainerStartError(
            f'The adapter artifact "{url}" is neither a tar.gz archive nor a prefix with a slash.'
        )
    source = {"S3Uri": url, "CompressionType": "None" if is_prefix else "Gzip"}
    folder = fetch_model_data(role_arn, {"ModelDataSource": {"S3DataSource": source}}, most_bytes=_MOST_BYTES)
    assert folder is not None
    try:
        _check(folder, url, environment)
    except ContainerStartError:
        shutil.rmtree(folder)
        raise
    return folder


def _check(folder: Path, url: str, environment: dict[str, str]) -> None:
    """Refuse what the container would refuse to load."""
    if _setting(environment, "ENABLE_LORA").lower() != "true":
        raise ContainerStartError(
            "The base inference component serves no LoRA adapters: OPTION_ENABLE_LORA is not set."
        )
    config = folder / "adapter_config.json"
    if not config.is_file() or not any((folder / name).is_file() for name in _WEIGHTS):
        raise ContainerStartError(
            f'The adapter artifact "{url}" must hold adapter_config.json and {_WEIGHTS[0]} at its root.'
        )
    try:
        rank = int(json.loads(config.read_text())["r"])
    except (ValueError, KeyError, TypeError) as error:
        raise ContainerStartError(f'adapter_config.json of "{url}" is not valid: {error!r}.') from error
    most = int(_setting(environment, "MAX_LORA_RANK") or _MOST_RANK)
    if rank > most:
        raise ContainerStartError(f"LoRA rank {rank} is greater than max_lora_rank {most}.")


def _setting(environment: dict[str, str], name: str) -> str:
    """A setting of the engine, by the name that its server gives it."""
    return next((environment[f"{each}{name}"] for each in _PREFIXES if f"{each}{name}" in environment), "")
