"""Writes what the installed transformers knows of each model_type: python -m tools.model_types.

The defaults of its classes go into slipway/locking/config_defaults.json. A model_type that is new to
catalog/model_types.json is added there with the installed version as its first: run this for each version in turn.
"""

import ast
import inspect
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES, AutoConfig

_ROOT = Path(__file__).resolve().parents[1]
_TYPES = _ROOT / "constructs" / "llm_hosting" / "catalog" / "model_types.json"
_LOCKING = _ROOT / "slipway" / "locking"
_DEFAULTS = _LOCKING / "config_defaults.json"
_PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
_NOT_OF_THE_NETWORK = ("model_type", "architectures", "dtype", "torch_dtype", "layer_types", *_PARTS)
_LONGEST_CYCLE = 12


def _read_settings() -> set[str]:
    """Every word in the modules that read a configuration."""
    nodes = (
        node
        for name in ("model_config.py", "config_values.py")
        for node in ast.walk(ast.parse((_LOCKING / name).read_text()))
    )
    words = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {word for word in words if isinstance(word, str) and word.isidentifier()} - {*_NOT_OF_THE_NETWORK}


def _made(cls: Any) -> Any:
    try:
        return cls()
    except Exception:  # some classes have no complete defaults
        return None


def _classes() -> Iterator[tuple[str, Any]]:
    for name in CONFIG_MAPPING_NAMES:
        try:
            yield name, CONFIG_MAPPING[name]
        except (ImportError, AttributeError):  # needs another package
            continue


def _cycle(kinds: list[str]) -> list[str]:
    """The shortest list whose repetition gives the kinds of all layers; empty = there is none."""
    for length in range(1, min(_LONGEST_CYCLE, len(kinds) // 2) + 1):
        if kinds == [kinds[layer % length] for layer in range(len(kinds))]:
            return kinds[:length]
    return []


def _defaults_of(cls: Any, read: set[str]) -> dict[str, Any]:
    parameters = inspect.signature(cls.__init__).parameters
    if "vocab_size" not in parameters:
        return {}
    given = {name: each.default for name, each in parameters.items() if name in read}
    found = {name: value for name, value in given.items() if isinstance(value, int) or str(value).startswith("relu")}
    kinds = getattr(_made(cls), "layer_types", None)
    # The kinds of these depend on other settings.
    if kinds and not {"use_sliding_window", "max_window_layers"} & parameters.keys():
        found["layer_types"] = _cycle(kinds)
    return found


def main() -> None:
    """Write both files."""
    read, types, parts, by_name = _read_settings(), {}, {}, []
    for name, cls in _classes():
        made, classes = _made(cls), getattr(cls, "sub_configs", None) or {}
        part = next((part for part in _PARTS if getattr(getattr(made, part, None), "model_type", None)), None)
        if part:
            parts[name] = getattr(made, part).model_type
            if classes.get(part) is AutoConfig:
                by_name.append(name)
        elif found := _defaults_of(cls, read):
            types[name] = found
    version = transformers.__version__
    source = f"transformers {version}, its configuration classes"
    _write(_DEFAULTS, {"source": source, "as_of": str(date.today()), "text_parts": parts, "types": types})
    known = json.loads(_TYPES.read_text())
    since = dict.fromkeys([*types, *parts], version) | known["since"]
    _write(_TYPES, known | {"as_of": str(date.today()), "since": since, "names_its_part": by_name})


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a line for each row."""
    lines = []
    for name, value in content.items():
        text = json.dumps(value, sort_keys=True)
        if isinstance(value, dict):
            rows = (f"    {json.dumps(row)}: {json.dumps(value[row])}" for row in sorted(value))
            text = "{\n" + ",\n".join(rows) + "\n  }"
        lines.append(f"  {json.dumps(name)}: {text}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
