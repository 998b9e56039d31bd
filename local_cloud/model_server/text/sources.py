"""Chooses the program that writes a container's texts."""

import os
from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.text.generator import TextGenerator
from local_cloud.model_server.text.real_model import RealModel
from local_cloud.model_server.text.source import Prompt, TextSource

REAL_MODEL = "SLIPWAY_LOCAL_MODEL"  # the URL of the process with the real model


def source_of(settings: Mapping[str, str]) -> TextSource:
    """The real model of the local cloud, if it has one, otherwise the text generator."""
    return RealModel(settings[REAL_MODEL]) if REAL_MODEL in settings else TextGenerator()


def write(text: str, most_tokens: int, seed: int | None, parameters: Mapping[str, Any]) -> str:
    """The answer to one prompt, for the stand-ins of libraries. Raises RefusedError and EngineFailedError."""
    prompt = Prompt(text, most_tokens=most_tokens, seed=seed, parameters=parameters)
    return source_of(os.environ).begin([prompt])[0].text
