"""The results of a bench in `results.json`: the only source of its report and of comparisons."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from llm_hosting.file_errors import why

FILE_NAME = "results.json"
STREAMED = ("chat", "responses")  # the routes whose answers come token by token


class ResultsError(Exception):
    """A file can't be read as results; the message is one sentence."""


@dataclass(frozen=True)
class MeasuredAnswer:
    """One request and its outcome.

    Times are in seconds from the request's start; `started_in_s` is from the load's start. In an open loop a request
    starts when it is due: a wait for a free client counts.

    first_token_in_s: None if the answer came as a whole. last_token_in_s: end of the answer; None after an error.
    prompt_tokens, answer_tokens: of all sequences of the request; None = the server did not count them. error: None
    = answered; else a short code: an HTTP status, `timeout`, `connection`, `credentials`, AWS's code, or a job's
    state.

    For jobs: queued_in_s: until the job's run began. attempts: its runs. delivered_in_s: when the caller had the
    result; the job itself ended at last_token_in_s.
    """

    started_in_s: float
    first_token_in_s: float | None = None
    last_token_in_s: float | None = None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    error: str | None = None
    queued_in_s: float | None = None
    attempts: int | None = None
    delivered_in_s: float | None = None


@dataclass(frozen=True)
class Load:
    """The requests of one round of a level.

    clients: closed loop, each client sends its next request after an answer. rate: open loop, requests per second
    whether answers arrive or not. One of the two is None. seconds: from the first request's start to the last
    answer's end. unfinished: requests that were open when the load was stopped by hand or by its budget; they do not
    count as answers. client_cores: processor cores that the measuring process used; Python can hardly use more than
    one.
    """

    clients: int | None
    rate: float | None
    seconds: float
    answers: tuple[MeasuredAnswer, ...]
    unfinished: int = 0
    client_cores: float | None = None


@dataclass(frozen=True)
class Start:
    """A measured start. `zero`: the start of a sleeping endpoint or machine, by its first request.

    parts: seconds of `capacity`, `image`, `weights`, `load`, `first_answer` or `first_token`, as far as they are
    known.
    """

    kind: Literal["zero", "deploy"]
    parts: dict[str, float]


@dataclass(frozen=True)
class Results:
    """One run of the bench.

    version: the engine's. batch: sequences of one request. stand_in: measured on the local cloud, whose model server
    computes nothing. started_at: ISO 8601 with offset. prompt_tokens, answer_tokens: requested for one sequence;
    None = the prompts come from a file. prompts: their origin; only runs with the same origin can be compared.
    usd_per_hour: of all instances together. versions: of Slipway and the measuring tools, by name. interrupted: why
    the run ended early. region: None on the local cloud. context: the longest sequence in tokens. commit: the commit
    in the model's lock. slo: as given, `ttft_p90<1s,tpot_p90<60ms`. instances: their count before and after, if it
    changed.
    """

    deployment: str
    model: str
    engine: str
    version: str
    instance_type: str
    degree: int
    batch: int
    route: Literal["generate", "chat", "responses", "embeddings", "jobs"]
    stand_in: bool
    started_at: str
    seed: int
    prompt_tokens: int | None
    answer_tokens: int | None
    loads: tuple[Load, ...]
    start: Start | None = None
    usd_per_hour: float | None = None
    versions: dict[str, str] = field(default_factory=dict)
    interrupted: str | None = None
    region: str | None = None
    prompts: str = "synthetic"
    context: int | None = None
    commit: str | None = None
    slo: str | None = None
    instances: tuple[int, int] | None = None

    def write(self, folder: Path) -> Path:
        """Replace the folder's results in one step, so that a reader or an interruption never finds half a file."""
        path = folder / FILE_NAME
        folder.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".json.part")
        new.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")
        new.replace(path)
        return path


def read(path: Path) -> Results:
    """Read the results. path: the file, or the folder of its report. Raises ResultsError."""
    from pydantic import TypeAdapter, ValidationError  # pydantic may be missing where only a load is measured

    file = path / FILE_NAME if path.is_dir() else path
    try:
        return TypeAdapter(Results).validate_json(file.read_bytes(), strict=True)
    except OSError as error:
        raise ResultsError(
            f"{file} can't be read: {why(error)}; give a folder below reports/, or its {FILE_NAME}."
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ResultsError(f"{file} holds no results of a bench: {place}: {first['msg']}.") from error
