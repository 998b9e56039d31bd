"""How kinds of servers take OpenAI's requests: what they stream, whether they count tokens, words for parameters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class OpenAIApi:
    """streams: forms of body that the server streams; asks_usage: those in which `stream_options` make it count tokens.

    inputs: its words for parameters beside `inputs`; None = the ones of LMI's vLLM, or none.
    """

    streams: tuple[str, ...]
    asks_usage: tuple[str, ...]
    inputs: str | None


@cache
def openai_api(kind: str) -> OpenAIApi:
    """kind: vllm, sglang, llama-cpp, tgi, rolling-batch, plain, transformers or own. Raises KeyError for another."""
    kinds: Mapping[str, Any] = json.loads((Path(__file__).parent / "openai_api.json").read_text())["kinds"]
    row = kinds[kind]
    return OpenAIApi(tuple(row["streams"]), tuple(row["asks_usage"]), row.get("inputs"))
