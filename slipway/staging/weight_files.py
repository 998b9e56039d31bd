"""Chooses the files of a Hub repository that an engine reads: weights in one format and the files beside them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

_BESIDE_WEIGHTS = ("*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "*.py")
_INDEX = re.compile(r".*\.(\w+)\.index\.json")  # maps tensors to the files of one format
_LEFT_BY_TRAINING = ("training_args.bin", "optimizer*", "scheduler*", "rng_state*", "random_states*", "trainer_state*")
_FORMATS = {
    "safetensors": ("*.safetensors",),
    "bin": ("*.bin",),
    "pt": ("*.pt", "*.pth"),
    "gguf": ("*.gguf",),
}
_NEWER_ENGINES = ("safetensors", "bin", "pt", "gguf")
# In these images transformers needs an extra package for safetensors, which some lack.
_OLDER_ENGINES = ("bin", "pt", "safetensors")
_PREFERENCE = {
    "lmi-deepspeed": _OLDER_ENGINES,
    "lmi-fastertransformer": _OLDER_ENGINES,
    "lmi-neuronx": _OLDER_ENGINES,
    "llama-cpp": ("gguf",),
}
# Folders of sentence-transformers, such as 1_Pooling: what turns tokens into a vector.
_MODULE = re.compile(r"\d+_\w+/[\w.-]+\.(json|safetensors|bin)")
_ONNX = ("model.onnx", "onnx/model.onnx", "onnx/model.onnx_data")  # which tei on a CPU computes first
_SPLIT = re.compile(r"-\d{5}-of-\d{5}(?=\.gguf$)")
_LONGEST_KEY_IN_BYTES = 700  # S3 allows 1,024 with the prefix


class SelectionError(Exception):
    """No valid choice of files; the message is one sentence about `model.files`."""


@dataclass(frozen=True)
class HubFile:
    """checksum: `sha256:...` of files in Git LFS or Xet, `git:...` (the blob id) of others."""

    path: str
    size: int
    checksum: str


def select(files: Sequence[HubFile], patterns: Sequence[str] | None, engine: str) -> list[HubFile]:
    """The files that match the patterns, or without patterns those that the engine reads; sorted by path.

    Raises SelectionError.
    """
    if patterns is None:
        chosen = _default(files, engine)
    else:
        chosen = [file for file in files if any(_matches(file.path, pattern) for pattern in patterns)]
        if not chosen:
            raise SelectionError(f"model.files: no file of the repository fits {', '.join(patterns)}.")
    for file in chosen:
        parts = file.path.split("/")
        if {"", ".", ".."} & set(parts) or not file.path.isprintable() or len(file.path) > _LONGEST_KEY_IN_BYTES:
            raise SelectionError(f"The repository holds a file whose name can't be a key in S3: {file.path!r}.")
    return sorted(chosen, key=lambda file: file.path)


def _matches(path: str, pattern: str) -> bool:
    """Match as huggingface_hub does: `*` spans folders, and a pattern that ends in a slash means a folder."""
    return fnmatchcase(path, f"{pattern}*" if pattern.endswith("/") else pattern)


def _default(files: Sequence[HubFile], engine: str) -> list[HubFile]:
    """The top folder's weights in the preferred format and the files beside them, without files of training."""
    plain = [file for file in files if "/" not in file.path and not _fits(file, _LEFT_BY_TRAINING)]
    for form in _PREFERENCE.get(engine, _NEWER_ENGINES):
        if weights := _without_originals([file for file in plain if _fits(file, _FORMATS[form])]):
            break
    else:
        found = ", ".join(sorted({file.path.rpartition(".")[2] for file in plain})) or "nothing"
        message = f"model.files: the repository holds no weights that {engine} is known to read, but {found}"
        raise SelectionError(f"{message}; name patterns of the files to copy.")
    if form == "gguf":
        _demand_one_quantization(weights)
    beside = [file for file in plain if _fits(file, _BESIDE_WEIGHTS)]
    indexes = {file: match[1] for file in beside if (match := _INDEX.fullmatch(file.path))}
    modules = [file for file in files if is_module(file.path) or (engine == "tei" and file.path in _ONNX)]
    return weights + [file for file in beside if indexes.get(file, form) == form] + modules


def is_module(path: str) -> bool:
    """Whether the file is of a module of sentence-transformers, beside the model itself."""
    return _MODULE.fullmatch(path) is not None


def _without_originals(weights: list[HubFile]) -> list[HubFile]:
    """Leave out `consolidated*`, a second copy of the weights, unless it is the only copy."""
    return [file for file in weights if not file.path.startswith("consolidated")] or weights


def _demand_one_quantization(weights: list[HubFile]) -> None:
    models = sorted({_SPLIT.sub("", file.path) for file in weights})
    if len(models) > 1:
        raise SelectionError(
            f"model.files: the repository holds {len(models)} models in one, such as {models[0]} and {models[1]}; "
            "name the one to copy."
        )


def _fits(file: HubFile, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(file.path, pattern) for pattern in patterns)
