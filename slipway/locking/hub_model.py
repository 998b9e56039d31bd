"""A model of the Hub -> the content of its lock file."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from llm_hosting.deployment import Deployment
from llm_hosting.model_lock import VERSION
from llm_hosting.resolution.formats import BYTES_PER_PARAMETER
from slipway.locking.model_config import active_share, facts_of, quantization_of
from slipway.locking.weights import Weights, weights_in
from slipway.staging.hub_repository import HubError, HubRepository
from slipway.staging.weight_files import HubFile, select

_HEADERS_AT_ONCE = 8
_ROPE = ("rope_scaling", "rope_parameters")


def read_model(deployment: Deployment, repository: HubRepository) -> dict[str, Any]:
    """The content of the lock file, sorted. Raises HubError, or SelectionError where no weights are the engine's."""
    commit = repository.commit(deployment.model.revision or "main")
    repository.demand_access()
    listed = repository.files(commit)
    files = select(listed, deployment.model.files, deployment.serving.engine)
    with TemporaryDirectory() as folder:
        read = _Folder(repository, commit, listed, Path(folder))
        config = read.json("config.json")
        if not config:
            raise HubError(f"{deployment.model.id} has no config.json at {commit}, so nothing can be read from it.")
        older = (
            (read.json("hf_quant_config.json").get("quantization") or {}) if "quantization_config" not in config else {}
        )
        if older:  # ModelOpt's file, which newer exports repeat in config.json
            config = config | {"quantization_config": {"quant_method": "modelopt", **older}}
        tokenizer = read.json("tokenizer_config.json")
    return _content(
        deployment, repository, commit, files, config, "chat_template" in tokenizer or _has_template(listed)
    )


def _content(
    deployment: Deployment,
    repository: HubRepository,
    commit: str,
    files: Sequence[HubFile],
    config: dict[str, Any],
    has_template: bool,
) -> dict[str, Any]:
    loaded = [file for file in files if file.path.endswith((".safetensors", ".bin", ".pt", ".pth", ".gguf"))]
    quantization, block, packing = quantization_of(config)
    if any(file.path.endswith(".gguf") for file in loaded):
        quantization, packing = "gguf", None
    weights = _weights(repository, commit, loaded, quantization)
    facts = facts_of(config) | {
        "quantization": quantization,
        "quantization_block": block,
        "weights_in_gb": round(sum(file.size for file in loaded) / 1e9, 3),
        "gated": repository.about["gated"],
    }
    parameters = weights.parameters if weights else _by_size(loaded, facts)
    experts = active_share(config)
    facts["parameters_in_billions"] = round(parameters / 1e9, 4) if parameters and not packing else None
    if experts and parameters and not packing:
        facts["active_parameters_in_billions"] = round((parameters - experts[0] + experts[1]) / 1e9, 4)
    return {
        "version": VERSION,
        "model": deployment.model.id,
        "revision": deployment.model.revision,
        "commit": commit,
        **repository.about,
        "chat_template": has_template,
        "custom_code": "auto_map" in config,
        "facts": dict(sorted(facts.items())),
        "packing": packing,
        "quantization_config": config.get("quantization_config"),
        "rope": next((config[name] for name in _ROPE if config.get(name)), None),
        "bytes_by_dtype": weights.bytes_by_dtype if weights else None,
        "files": {file.path: f"{file.size} {file.checksum}" for file in files},
    }


def _weights(
    repository: HubRepository, commit: str, loaded: Sequence[HubFile], quantization: str | None
) -> Weights | None:
    """None = files without a header that says what is in them."""
    paths = [file.path for file in loaded if file.path.endswith(".safetensors")]
    if not paths:
        return None
    with ThreadPoolExecutor(_HEADERS_AT_ONCE) as side_by_side:
        headers = side_by_side.map(lambda path: repository.tensors(path, commit), paths)
        return weights_in(headers, quantization)


def _by_size(loaded: Sequence[HubFile], facts: dict[str, Any]) -> int | None:
    """Files of pickle hold the weights in the type of config.json and little else."""
    if facts["quantization"] or not facts["dtype"]:
        return None
    return round(sum(file.size for file in loaded) / BYTES_PER_PARAMETER[facts["dtype"]])


def _has_template(listed: Sequence[HubFile]) -> bool:
    return any(file.path in ("chat_template.jinja", "chat_template.json") for file in listed)


class _Folder:
    """Small files of a commit."""

    def __init__(self, repository: HubRepository, commit: str, listed: Sequence[HubFile], folder: Path) -> None:
        self._repository, self._commit, self._folder = repository, commit, folder
        self._listed = {file.path: file for file in listed}

    def json(self, path: str) -> dict[str, Any]:
        """Empty = there is none. Raises HubError."""
        if path not in self._listed:
            return {}
        local = self._repository.download(self._listed[path], self._commit, self._folder, lambda size: None)
        try:
            content = json.loads(local.read_bytes())
        except ValueError as error:
            raise HubError(f"{path} of {self._repository.model_id} at {self._commit} is no JSON: {error}.") from None
        return content if isinstance(content, dict) else {}
