"""What an engine answers to one invocation, and how it reads the parameters of a request."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["float", "int", "unsigned", "bool", "string", "strings"]


@dataclass(frozen=True)
class Answer:
    """A response; `steps` are decoding steps, in which the prompts of a batch advance together."""

    status: int
    body: bytes
    content_type: str = "application/json"
    steps: int = 0


class WrongTypeError(ValueError):
    """A field of the request has a type that the engine does not take."""

    def __init__(self, field: str, value: object, kind: Kind) -> None:
        super().__init__(f"{field}: {value!r} is not of kind {kind}")
        self.field, self.value, self.kind = field, value, kind


def json_answer(status: int, body: object, steps: int = 0) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, json.dumps(body).encode(), steps=steps)


def parse_json(raw: bytes) -> Any:
    """The decoded body; raises ValueError for anything but strict JSON."""
    try:
        return json.loads(raw, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("recursion limit exceeded") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def read_fields(given: Mapping[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The fields named in `kinds` that are given and not null; raises WrongTypeError."""
    return {name: _read(name, given[name], kind) for name, kind in kinds.items() if given.get(name) is not None}


def _read(name: str, value: Any, kind: Kind) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "float" if number and abs(value) <= 1e308:
            return float(value)
        case "int" if number and isinstance(value, int):
            return value
        case "unsigned" if number and isinstance(value, int) and value >= 0:
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "string" if isinstance(value, str):
            return value
        case "strings" if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
    raise WrongTypeError(name, value, kind)


class RefusedError(Exception):
    """The engine understood the request and refuses it with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class StartError(Exception):
    """The container cannot start with this environment; its message is the container's last log line."""
