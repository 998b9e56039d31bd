"""Makes the content of a lock file from the model's own files."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.deployment.lock import HUB, VERSION, LockError, lock_of
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.model import Model
from llm_hosting.file_errors import why
from llm_hosting.resolution.formats import BYTES_PER_PARAMETER
from slipway.locking.adapters import adapter_facts
from slipway.locking.config_values import ConfigError
from slipway.locking.file_summary import summary
from slipway.locking.gguf import facts_of_gguf, is_model, short_metadata
from slipway.locking.mistral_params import config_of
from slipway.locking.model_config import (
    active_share,
    facts_of,
    model_types,
    quantization_of,
    settings_of,
    short,
)
from slipway.locking.model_files import (
    BucketFiles,
    FolderFiles,
    HubFiles,
    ModelFiles,
    UnreadableModelError,
    read_json,
)
from slipway.locking.text_files import broken_vocabulary, has_chat_template, has_tokenizer
from slipway.locking.vector_facts import vector_facts
from slipway.locking.vision import vision_of
from slipway.locking.weights import Weights, weights_in
from slipway.shared.aws_errors import sentence
from slipway.staging.hub_errors import HubError
from slipway.staging.hub_repository import HubRepository
from slipway.staging.manifest import Manifest
from slipway.staging.stage import hub_token
from slipway.staging.staging import StagingError
from slipway.staging.weight_files import HubFile, SelectionError, is_module, select
from slipway.staging.weights_prefix import PrefixError, WeightsPrefix, bucket_region
from slipway.weights.gguf_header import read_gguf
from slipway.weights.safetensors_header import header_of
from slipway.weights.source import BrokenWeightsError
from slipway.weights.whole import WEIGHTS, demand_all_files, demand_whole_file

_HEADERS_AT_ONCE = 8
_TOKENIZER, _GENERATION = "tokenizer_config.json", "generation_config.json"
_PROCESSOR = "preprocessor_config.json"
_PARAMETERS = ("eos_token_id", "do_sample", "temperature", "top_p", "top_k", "repetition_penalty", "max_new_tokens")
_ADAPTER = ("base_model_name_or_path", "peft_type", "r", "target_modules")
_ROPE = ("rope_scaling", "rope_parameters")
_LEFT_PLAIN = (  # each library has its own word
    "modules_to_not_convert",
    "ignore",
    "ignored_layers",
    "exclude_modules",
    "exclude",
    "llm_int8_skip_modules",
    "skip_modules",
    "linear_weights_not_to_quantize",
)


def lock_content(deployment: Deployment, folder: Path | None = None) -> dict[str, Any]:
    """Read the folder, else the prefix that holds the weights, else the repository on the Hub.

    Raises UnreadableModelError, also for facts that can't be true of a model.
    """
    try:
        content = _content(deployment, folder)
        lock_of(content, content["source"])
        return content
    except (BrokenWeightsError, HubError, PrefixError, SelectionError, StagingError) as error:
        raise UnreadableModelError(str(error)) from None
    except (BotoCoreError, ClientError) as error:
        raise UnreadableModelError(sentence(error)) from None
    except OSError as error:
        raise UnreadableModelError(f"{error.filename or folder} can't be read: {why(error)}.") from None
    except LockError as error:
        raise UnreadableModelError(f"{deployment.model.id} {error}.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # of its settings
        problem = f"holds settings that no model has ({type(error).__name__}: {error})"
        raise UnreadableModelError(f"{deployment.model.id} {problem}.") from None


def source_of(content: Mapping[str, Any]) -> str:
    """Name the source of the content, and the model's present name there if it has changed."""
    name = content["renamed_to"]
    return f"{content['source']}, where it is named {name} now" if name else str(content["source"])


def _content(deployment: Deployment, folder: Path | None) -> dict[str, Any]:
    model = _model_files(deployment, folder)
    listed = {file.path: file for file in model.files}
    adapter = read_json(model, "adapter_config.json")
    if "model_index.json" in listed and "config.json" not in listed:
        raise UnreadableModelError(f"{model.place} is a pipeline of diffusers, not one model that generates text.")
    if not any(file.path.endswith(WEIGHTS) for file in model.files):
        raise UnreadableModelError(f"{model.place} holds no weights ({', '.join(f'*{end}' for end in WEIGHTS)}).")
    files = select(model.files, deployment.model.files or _named_file(deployment), deployment.serving.engine)
    weights_of_all = [file for file in files if file.path.endswith(WEIGHTS) and not is_module(file.path)]
    loaded = [file for file in weights_of_all if not file.path.startswith("adapter_")]
    if adapter and not loaded:
        raise UnreadableModelError(_only_an_adapter(deployment, adapter))
    of_index = set(demand_all_files(model, {file.path: file.size for file in files}, listed))
    loaded = [file for file in loaded if file.path in of_index]
    config, metadata = _config(model), dict[str, Any]()
    will_be_staged = model.source == HUB and deployment.model.weights is not None
    beside = [file.path for file in (files if will_be_staged else model.files)]
    tokenizer, generation = _beside(model, _TOKENIZER, beside), _beside(model, _GENERATION, beside) or {}
    sizes_beside = {name: listed[name].size for name in beside}
    vocabulary = broken_vocabulary(model, sizes_beside)
    if vocabulary:
        print(vocabulary[1], file=sys.stderr)
    unreadable = [_TOKENIZER] if tokenizer is None else [vocabulary[0]] if vocabulary else []
    if any(file.path.endswith(".gguf") for file in loaded):
        metadata, parameters = _of_gguf(model, [file for file in loaded if file.path.endswith(".gguf")])
        facts, packing, weights = facts_of_gguf(metadata), None, None
        facts |= {"quantization": "gguf", "quantization_block": None}
        if config:
            facts |= {name: value for name, value in facts_of(config).items() if value is not None}
        facts |= {"parameters_in_billions": round(parameters / 1e9, 4)}
    elif config:
        facts, packing, weights = _facts(model, config, loaded)
    else:
        lacks = "says nothing in its config.json" if "config.json" in listed else "has no config.json or params.json"
        raise UnreadableModelError(f"{model.place} {lacks}, so nothing can be read from it.")
    kind, wrapper = model_types(config)
    facts |= vector_facts(model, config)
    facts |= {
        "weights_in_gb": round(sum(file.size for file in loaded) / 1e9, 3),
        "gated": model.about["gated"],
    }
    if vision := vision_of(config, _beside(model, _PROCESSOR, beside) or {}):
        facts["vision"] = vision
    quantized = settings_of(config, "quantization_config")
    return {
        "version": VERSION,
        "model": deployment.model.id,
        "revision": deployment.model.revision,
        "source": model.source,
        "commit": model.commit,
        **model.about,
        "tokenizer": has_tokenizer(beside, metadata),
        "chat_template": None if tokenizer is None else has_chat_template(beside, tokenizer, metadata),
        "unreadable": unreadable,
        "custom_code": "auto_map" in config or "auto_map" in (tokenizer or {}),
        "model_type": kind,
        "wrapper": wrapper,
        "adapter": short({name: adapter[name] for name in _ADAPTER if name in adapter}) or None,
        "generation": short({name: generation[name] for name in _PARAMETERS if generation.get(name) is not None}),
        "facts": dict(sorted(facts.items())),
        "packing": packing,
        "quantization_config": short({key: quantized[key] for key in quantized if key not in _LEFT_PLAIN}) or None,
        "unquantized": next((short(quantized[key]) for key in _LEFT_PLAIN if quantized.get(key)), []),
        "rope": short(settings_of(config, *_ROPE)) or None,
        "gguf": short_metadata(metadata) or None,
        "bytes_by_dtype": weights.bytes_by_dtype if weights else None,
        "modules": weights.modules if weights else [],
        "adapters": adapter_facts(deployment),
        "files": summary(model.with_checksums(files)),
    }


def _model_files(deployment: Deployment, folder: Path | None) -> ModelFiles:
    model = deployment.model
    if folder:
        return FolderFiles(folder)
    if model.weights:
        region = deployment.region or os.environ.get("AWS_REGION")
        there = bucket_region(boto3.client("s3", region_name=region), model.weights[5:].partition("/")[0])
        prefix = WeightsPrefix(boto3.client("s3", region_name=there), model.weights, None)
        manifest = prefix.manifest()
        if manifest:
            _demand_same_model(manifest, model)
        if manifest.state == "complete" if manifest else prefix.objects():
            return BucketFiles(prefix, manifest)
    return HubFiles(HubRepository(model.id, hub_token(model)), model.revision or "main")


def _demand_same_model(manifest: Manifest, model: Model) -> None:
    """Raise UnreadableModelError if the prefix holds another model or revision than the lock names."""
    # A staging by a lock names its commit only, which may be that of any branch.
    may_be_it = manifest.revision == manifest.commit and not re.fullmatch("[0-9a-f]{40}", model.revision or "")
    is_it = may_be_it or model.revision in (None, manifest.revision, manifest.commit)
    if manifest.model != model.id or not is_it:
        held, wanted = (f"{id} at {at}" for id, at in ((manifest.model, manifest.revision), (model.id, model.revision)))
        raise UnreadableModelError(f"model.weights: {manifest.weights} is staged from {held}, not from {wanted}.")


def _named_file(deployment: Deployment) -> list[str] | None:
    """Return patterns of the GGUF file that the settings name, and of the files beside it; None = no file is named."""
    given = deployment.serving.environment
    named = next((given[name] for name in given if re.fullmatch(r"SM_LLAMA_?CPP_HF_FILE", name)), None)
    return [re.sub(r"-\d{5}(?=-of-\d{5}\.gguf$)", "-*", named), "*.json", "*.jinja"] if named else None


def _only_an_adapter(deployment: Deployment, adapter: Mapping[str, Any]) -> str:
    base = adapter.get("base_model_name_or_path") or "a base model that it does not name"
    return (
        f"model.id: {deployment.model.id} is an adapter of {base}, and has no weights of its own; name the base model, "
        "and the adapter in model.adapters, or merge the two."
    )


def _of_gguf(model: ModelFiles, files: Sequence[HubFile]) -> tuple[dict[str, Any], int]:
    """Metadata and parameters of the model, which may be split, and may have a part for images beside it."""
    read = [read_gguf(model, file.path, file.size) for file in files]
    models = [(metadata, count) for metadata, count in read if is_model(metadata)]
    if not models:
        raise UnreadableModelError(f"{files[0].path} of {model.place} is a part or an adapter of a model, not a model.")
    return models[0][0], sum(count for _, count in models)


def _beside(model: ModelFiles, name: str, beside: Sequence[str]) -> dict[str, Any] | None:
    """Read a file that says nothing of the model's size; None = it is broken, which is printed."""
    try:
        return read_json(model, name) if name in beside else {}
    except (BrokenWeightsError, UnreadableModelError) as error:
        print(f"{error} The engine may end at its start.", file=sys.stderr)
        return None


def _config(model: ModelFiles) -> dict[str, Any]:
    """Return the settings of config.json, else those of Mistral's own file."""
    config, name = read_json(model, "config.json"), "config.json"
    try:
        if not config:
            name = "params.json"
            config = config_of(read_json(model, name))
        facts_of(config)
    except ConfigError as error:
        raise UnreadableModelError(f"{name} of {model.place} {error}.") from None
    if "quantization_config" in config:
        return config
    older = settings_of(read_json(model, "hf_quant_config.json"), "quantization")
    # ModelOpt's file, which newer exports repeat in config.json.
    return config | {"quantization_config": {"quant_method": "modelopt", **older}} if older else config


def _facts(
    model: ModelFiles, config: Mapping[str, Any], loaded: Sequence[HubFile]
) -> tuple[dict[str, Any], str | None, Weights | None]:
    """Return the facts, the name of a quantization whose size is not known, and the weights."""
    quantization, block, packing = quantization_of(config)
    facts = facts_of(config) | {"quantization": quantization, "quantization_block": block}
    weights = _weights(model, loaded, quantization)
    parameters = weights.parameters if weights else _by_size(loaded, facts)
    known = parameters if parameters and not packing else None
    facts["parameters_in_billions"] = round(known / 1e9, 4) if known else None
    if known and (active := _active(known, weights.in_experts if weights else 0, config, facts)):
        facts["active_parameters_in_billions"] = round(active / 1e9, 4)
    return facts, packing, weights


def _weights(model: ModelFiles, loaded: Sequence[HubFile], quantization: str | None) -> Weights | None:
    """The weights; None = the files have no header that describes them."""
    files = [file for file in loaded if file.path.endswith(".safetensors")]
    if not files:
        for file in loaded:
            demand_whole_file(model, file.path, file.size)
        return None
    side_by_side = ThreadPoolExecutor(_HEADERS_AT_ONCE)
    try:
        return weights_in(side_by_side.map(lambda file: header_of(model, file.path, file.size), files), quantization)
    except Exception:  # Ctrl-C does not wait for downloads
        side_by_side.shutdown(cancel_futures=True)
        raise


def _active(known: int, in_experts: int, config: Mapping[str, Any], facts: Mapping[str, Any]) -> int | None:
    """Return the parameters that a token uses; None = the model is no mixture of experts, or they are not known.

    The names of tensors tell the experts, those of layers that predict further tokens included; else config.json does.
    """
    experts, used = facts["experts"], facts["experts_per_token"]
    if isinstance(experts, int) and isinstance(used, int) and in_experts:
        return known - in_experts + in_experts * used // experts
    share = active_share(config)
    return known - share[0] + share[1] if share and share[0] < known else None


def _by_size(loaded: Sequence[HubFile], facts: Mapping[str, Any]) -> int | None:
    """Compute the parameters from the size of pickle files, which hold almost only weights in config.json's type."""
    if facts["quantization"] or not facts["dtype"]:
        return None
    return round(sum(file.size for file in loaded) / BYTES_PER_PARAMETER[facts["dtype"]])
