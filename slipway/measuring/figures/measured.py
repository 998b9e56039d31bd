"""Figures kept beside a deployment in `deployments/<name>.measured.json`. `bench --keep` writes, `--recommend`
reads.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from llm_hosting.file_errors import why
from slipway.measuring.figures.level import Level, levels, open_levels
from slipway.measuring.figures.results import Results
from slipway.measuring.figures.slo import bracket, parse

STAND_IN_NOT_KEPT = "--keep: the figures are the stand-in's and are not kept; leave it out, or measure on AWS."


class MeasuredError(Exception):
    """Figures can't be kept or read; the message is one sentence."""


@dataclass(frozen=True)
class KeptLevel:
    """One level. clients, rate: as in Level. tokens_per_second: output tokens of all requests together."""

    clients: int | None
    rate: float | None
    tokens_per_second: float | None
    p50_in_seconds: float
    p90_in_seconds: float
    failed_share: float


@dataclass(frozen=True)
class Measured:
    """The figures of one instance type at one degree. Fields without a note are as in Results.

    highest_rate: requests per second that hold the objective `slo`; None = no rate held it, or there is no
    objective.
    """

    instance_type: str
    degree: int
    model: str
    commit: str | None
    engine: str
    version: str
    context: int | None
    route: str
    batch: int
    prompts: str
    prompt_tokens: int | None
    answer_tokens: int | None
    measured_at: str
    region: str | None
    usd_per_hour: float | None
    load_in_seconds: float | None
    slo: str | None
    highest_rate: float | None
    levels: tuple[KeptLevel, ...]

    def tokens_per_second(self, requests: int) -> float | None:
        """Tokens per second at this number of requests: as measured with the largest number of clients up to it.

        None = not measured.
        """
        near = [
            level for level in self.levels if level.clients and level.clients <= requests and level.tokens_per_second
        ]
        return max(near, key=lambda level: level.clients or 0).tokens_per_second if near else None


def measured_path(deployment: Path) -> Path:
    """`<name>.measured.json` beside `<name>.yaml`."""
    return deployment.with_suffix(".measured.json")


def measured(deployment: Path) -> tuple[Measured, ...]:
    """The figures beside the deployment's file; empty if there are none. Raises MeasuredError."""
    path = measured_path(deployment)
    try:
        return TypeAdapter(tuple[Measured, ...]).validate_json(path.read_bytes(), strict=True)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise MeasuredError(f"{path} can't be read: {why(error)}; mend or remove it.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise MeasuredError(f"{path}: {place}: {first['msg']}; keep a new measurement, or remove the file.") from error


def keep(results: Results, deployment: Path) -> Path:
    """Write the figures beside the deployment's file. They replace those of the same instance type and degree.

    Raises MeasuredError for figures of the stand-in model, and if no request was answered.
    """
    if results.stand_in:
        raise MeasuredError(STAND_IN_NOT_KEPT)
    new = _summary(results)
    if not new.levels:
        raise MeasuredError("No request was answered, so there is nothing to keep.")
    others = [
        each for each in measured(deployment) if (each.instance_type, each.degree) != (new.instance_type, new.degree)
    ]
    path = measured_path(deployment)
    written = path.with_suffix(".json.part")
    content = [asdict(each) for each in sorted([*others, new], key=lambda each: (each.instance_type, each.degree))]
    try:
        written.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return written.replace(path)
    except OSError as error:
        raise MeasuredError(f"{path} can't be written: {why(error)}.") from error


def _summary(results: Results) -> Measured:
    held = bracket(parse(results.slo), open_levels(results))[0] if results.slo else None
    return Measured(
        instance_type=results.instance_type,
        degree=results.degree,
        model=results.model,
        commit=results.commit,
        engine=results.engine,
        version=results.version,
        context=results.context,
        route=results.route,
        batch=results.batch,
        prompts=results.prompts,
        prompt_tokens=results.prompt_tokens,
        answer_tokens=results.answer_tokens,
        measured_at=results.started_at,
        region=results.region,
        usd_per_hour=results.usd_per_hour,
        load_in_seconds=results.start.parts.get("load") if results.start else None,
        slo=results.slo,
        highest_rate=held.rate if held else None,
        levels=tuple(_kept(level) for level in levels(results) if level.answered),
    )


def _kept(level: Level) -> KeptLevel:
    p50, p90 = (level.percentile("total", share) or 0.0 for share in (50, 90))
    return KeptLevel(level.clients, level.rate, level.token_rate, p50, p90, level.failed_share)
