"""How each kind of server takes OpenAI's requests: what it streams, whether it counts tokens, names of parameters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class OpenAIApi:
    """What one kind of server does with OpenAI's requests.

    streams: forms of body that the server streams.
    asks_usage: forms of body for which `stream_options` make the server count tokens.
    inputs: the server's set of names for parameters beside `inputs`; None = the names of LMI's vLLM, or none.
    grammar: whether the server has TGI's form of a schema for the answer.
    """

    streams: tuple[str, ...]
    asks_usage: tuple[str, ...]
    inputs: str | None
    grammar: bool


@cache
def openai_api(kind: str) -> OpenAIApi:
    """Return the row of a kind of server. Raises KeyError for an unknown kind.

    kind: vllm, sglang, llama-cpp, tei, tgi, rolling-batch, plain, transformers or own.
    """
    kinds: Mapping[str, Any] = json.loads((Path(__file__).parent / "openai_api.json").read_text())["kinds"]
    row = kinds[kind]
    return OpenAIApi(tuple(row["streams"]), tuple(row["asks_usage"]), row.get("inputs"), row.get("grammar", False))
