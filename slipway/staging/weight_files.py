"""Which files of a repository on the Hub are a model's weights, and which an engine reads beside them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

_BESIDE_WEIGHTS = ("*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "*.py")
_INDEX = re.compile(r".*\.(\w+)\.index\.json")  # says which tensor is in which file of one format
_LEFT_BY_TRAINING = ("training_args.bin", "optimizer*", "scheduler*", "rng_state*", "random_states*", "trainer_state*")
_FORMATS = {
    "safetensors": ("*.safetensors",),
    "bin": ("*.bin",),
    "pt": ("*.pt", "*.pth"),
    "gguf": ("*.gguf",),
}
_NEWER_ENGINES = ("safetensors", "bin", "pt", "gguf")
# Their images are of a time when transformers read safetensors only with a package that not all of them have.
_OLDER_ENGINES = ("bin", "pt", "safetensors")
_PREFERENCE = {
    "lmi-deepspeed": _OLDER_ENGINES,
    "lmi-fastertransformer": _OLDER_ENGINES,
    "lmi-neuronx": _OLDER_ENGINES,
    "llama-cpp": ("gguf",),
}
_SPLIT = re.compile(r"-\d{5}-of-\d{5}(?=\.gguf$)")
_LONGEST_KEY_IN_BYTES = 700  # of the 1,024 of S3; the prefix has the others


class SelectionError(Exception):
    """The files can't be chosen; the message is one sentence about `model.files`."""


@dataclass(frozen=True)
class HubFile:
    """`checksum` is `sha256:...` of what Git LFS or Xet keep, `git:...` (the id of the blob) of other files."""

    path: str
    size: int
    checksum: str


def select(files: Sequence[HubFile], patterns: Sequence[str] | None, engine: str) -> list[HubFile]:
    """The files that the patterns name, or without patterns those that the engine reads, in the order of their paths.

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
    """As huggingface_hub matches: `*` spans folders, and a folder's name ends in a slash."""
    return fnmatchcase(path, f"{pattern}*" if pattern.endswith("/") else pattern)


def _default(files: Sequence[HubFile], engine: str) -> list[HubFile]:
    """Weights in the best of their formats, and what is read beside them; never a subfolder, nor what training left."""
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
    return weights + [file for file in beside if indexes.get(file, form) == form]


def _without_originals(weights: list[HubFile]) -> list[HubFile]:
    """Without a second copy under the name that the model's maker uses, unless it is the only one."""
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
