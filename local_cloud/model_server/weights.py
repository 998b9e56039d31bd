"""Where the container's model comes from: the Hub, by name, or the weights copied to /opt/ml/model."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

# Families whose decoder starts anew behind an encoder, by the words of their ids on the Hub.
_ENCODER_DECODERS = re.compile(
    r"(^|[^a-z])(flan-)?(m?t5|ul2|bart|mbart|pegasus|mt0|t0pp?|marian|m2m100|nllb)([^a-z]|$)"
)


def model_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder that stands for /opt/ml/model; None where the model has no data."""
    folder = environment.get("SLIPWAY_LOCAL_MODEL_DIR")
    return Path(folder) if folder is not None and Path(folder).is_dir() else None


def has_weights(environment: Mapping[str, str]) -> bool:
    """Whether the deployment's own weights lie where /opt/ml/model would be."""
    folder = model_folder(environment)
    return folder is not None and any(folder.iterdir())


def architecture(environment: Mapping[str, str]) -> str:
    """The architecture that the weights' own config.json names; empty where they have none."""
    folder = model_folder(environment)
    try:
        config = json.loads((folder / "config.json").read_text()) if folder else {}
        return str(config["architectures"][0])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def is_encoder_decoder(model_id: str, environment: Mapping[str, str]) -> bool:
    """Whether the model is of T5's kind, which answers without its prompt; judged by config.json, else by the id."""
    named = architecture(environment)
    return named.endswith("ForConditionalGeneration") if named else bool(_ENCODER_DECODERS.search(model_id.lower()))
