"""What a bench measured, as it lies in `results.json`: the only source of its report and of comparisons."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from llm_hosting.file_errors import why

FILE_NAME = "results.json"


class ResultsError(Exception):
    """One sentence on a file that can't be read as results."""


@dataclass(frozen=True)
class MeasuredAnswer:
    """One request and its outcome. Times in seconds from the request's start, but `started_in_s`: from the load's.

    The start of a request of an open loop is the moment when it was due: a late client is waiting, too.
    first_token_in_s: None where the answer came as a whole. last_token_in_s: end of the answer; None after an error.
    prompt_tokens, answer_tokens: of all sequences of the request; None = the server did not count them.
    error: None = answered; else a short code: an HTTP status, `timeout`, `connection`, `credentials`,
    AWS's code, or a job's state.
    queued_in_s, attempts: of a job: until its run began; runs that it took. delivered_in_s: when its caller had the
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
    """Requests of one level; a level that was measured in several rounds is several loads.

    clients: closed loop, each client sends its next request after an answer. rate: open loop, requests per second
    whatever the answers do. One of the two is None. seconds: from the first request's start to the last answer's end.
    unfinished: requests that were still open when the load was ended by hand or by its budget; they are no answers.
    client_cores: processor cores that the measuring process took; it can take little more than one.
    """

    clients: int | None
    rate: float | None
    seconds: float
    answers: tuple[MeasuredAnswer, ...]
    unfinished: int = 0
    client_cores: float | None = None


@dataclass(frozen=True)
class Start:
    """A start that was measured; `zero`: of an endpoint or machine that was asleep, by its first request.

    parts: seconds of `capacity`, `image`, `weights`, `load` and `first_answer`, as far as they are known.
    """

    kind: Literal["zero", "deploy"]
    parts: dict[str, float]


@dataclass(frozen=True)
class Results:
    """One run of the bench.

    version: of the engine. batch: sequences of one request. stand_in: measured on the local cloud, whose model server
    computes nothing. started_at: ISO 8601 with offset. prompt_tokens, answer_tokens: asked for, of one sequence; None =
    prompts of a file. prompts: their origin; runs with different origins are not of the same work. usd_per_hour: of all
    instances together. versions: of Slipway and of the tools that measured, by name. interrupted: why the run ended
    early. region: None on the local cloud. context: tokens that a sequence may have. commit: of the model's lock.
    slo: as given, `ttft_p90<1s,tpot_p90<60ms`. instances: that ran before and after, where these differ.
    """

    deployment: str
    model: str
    engine: str
    version: str
    instance_type: str
    degree: int
    batch: int
    route: Literal["generate", "chat", "jobs"]
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
        """Replaces the folder's results in one step, so that no reader and no interruption sees half of them."""
        path = folder / FILE_NAME
        folder.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".json.part")
        new.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")
        new.replace(path)
        return path


def read(path: Path) -> Results:
    """path: the file, or the folder of its report. Raises ResultsError."""
    from pydantic import TypeAdapter, ValidationError  # the environment that measures may lack it

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
