"""Recommends the instance types that hold a model, and tells what a million tokens cost on each."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from llm_hosting.catalog.model_names import quantized_siblings
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError
from llm_hosting.deployment.settings.model import Model
from llm_hosting.preflight.recommendation import Alternative, alternatives, left_out
from llm_hosting.preflight.report import facts_of
from llm_hosting.preflight.rules.suitable_type import by_price
from llm_hosting.preflight.validation import validate_file
from llm_hosting.resolution import Resolution
from llm_hosting.resolution.estimates import Rate
from llm_hosting.sources import handler_names
from slipway.checking.recommendation import Recommendation, Sibling
from slipway.checking.subject import UnaskedError, subject
from slipway.measuring.figures.measured import Measured, MeasuredError, measured

_ANY_TYPE = "ml.g5.xlarge"  # stands in for a model without a file until a type is chosen


@dataclass(frozen=True)
class Question:
    """What to recommend.

    types: instance types to choose from; empty = all. context: tokens of one request; None = the deployment's setting,
    else the model's limit. The other fields are as in CheckOptions.
    """

    types: Sequence[str]
    engine: str | None
    hub: bool
    region: str | None
    context: int | None
    requests: int
    as_json: bool


def run(names: Sequence[str], root: Path, question: Question) -> int:
    """Print the recommendation for each name.

    Returns the exit status: 0 if a type holds each model, 1 if none does, 2 for a name or a model that can't be judged.
    """
    try:
        with TemporaryDirectory() as folder:
            found = [_recommendation(name, root, Path(folder), question) for name in names]
    except (UnknownDeploymentError, DeploymentError, UnaskedError, MeasuredError) as error:
        print(error, file=sys.stderr)
        return 2
    if question.as_json:
        said = [_as_json(each) for each in found]
        print(json.dumps(said if len(said) > 1 else said[0], indent=2))
    else:
        from slipway.checking import recommendation_page  # importing rich is slow

        print(recommendation_page.page(found))
    return 0 if all(any(not each.problems for each in one.alternatives) for one in found) else 1


def _recommendation(name: str, root: Path, folder: Path, question: Question) -> Recommendation:
    """Judge all types for one model. Raises DeploymentError for problems that no instance type can solve."""
    engine, hub = question.engine, question.hub
    about = subject(name, root, folder, types=question.types, otherwise=_ANY_TYPE, engine=engine, hub=hub)
    validation = validate_file(about.path, handler_names(root), question.region, about.lock)
    if validation.resolution is None:
        raise DeploymentError(about.path, [f"{each.place}: {each.message}" for each in validation.errors])
    deployment = validation.resolution.deployment
    judged = alternatives(deployment, context=question.context, requests=question.requests, types=question.types)
    if len(judged) < len(set(question.types)):
        known = {each.instance.type for each in judged}
        others = ", ".join(name for name in question.types if name not in known)
        raise UnaskedError(f"--on {others}: no type for hosting.mode {deployment.hosting.mode}.")
    if all(each.figures.weights_in_gb is None for each in judged):
        problem = (
            f"No type can be recommended: how much memory {deployment.model.id} takes is not known; ask it by --hub."
        )
        raise UnaskedError(problem)
    judged = _with_measured(judged, validation.resolution, measured(about.path), question.requests)
    facts = f"{facts_of(validation.resolution)}{about.note}"
    context = next((each.figures.context for each in judged), None)
    siblings = tuple(sorted(_siblings(validation.resolution, question), key=lambda each: by_price(each.best.instance)))
    return Recommendation(
        about.path.stem, validation.resolution, facts, question.requests, context, tuple(judged), siblings
    )


def _siblings(resolution: Resolution, question: Question) -> Iterator[Sibling]:
    deployment = resolution.deployment
    if resolution.container.model_id != deployment.model.id:
        return  # serving.environment names the model, and would go on to do so
    for hub_id in quantized_siblings(deployment.model.id):
        packed = deployment.model_copy(update={"model": Model(id=hub_id)})
        judged = alternatives(packed, context=question.context, requests=question.requests, types=question.types)
        held = [each for each in judged if not each.problems]
        if held:
            yield Sibling(hub_id, held[0])


def _with_measured(
    judged: Sequence[Alternative], resolution: Resolution, kept: Sequence[Measured], requests: int
) -> list[Alternative]:
    """Use the rates that `bench --keep` measured for this model at this commit, this engine and the same degree, with
    one instance.
    """
    container = resolution.container
    commit = container.deployment.lock.commit if container.deployment.lock else None
    prices = {each.instance.type: each.instance.likely_usd_per_hour for each in judged}
    rates = {
        (each.instance_type, each.degree): Rate(rate, is_measured=True)
        for each in kept
        if (each.model, each.engine) == (container.model_id, container.engine)
        and (each.commit is None or commit is None or each.commit == commit)
        and (each.usd_per_hour or 0) < 1.5 * (prices.get(each.instance_type) or inf)
        and (rate := each.tokens_per_second(requests))
    }
    return [replace(each, rate=rates.get((each.instance.type, each.figures.degree), each.rate)) for each in judged]


def _as_json(found: Recommendation) -> dict[str, Any]:
    return {
        "name": found.name,
        "model": found.resolution.deployment.model.id,
        "engine": found.resolution.deployment.serving.engine,
        "facts": found.facts,
        "requests": found.requests,
        "context": found.context,
        "left_out": left_out(found.resolution.deployment),
        "instance_types": [_type_as_json(each) for each in found.alternatives],
        "quantized": [{"model": each.model_id, **_type_as_json(each.best)} for each in found.siblings],
    }


def _type_as_json(each: Alternative) -> dict[str, Any]:
    return {
        **asdict(each.figures),
        "ec2_usd_per_hour": each.instance.ec2_usd_per_hour,
        "likely_usd_per_hour": each.instance.likely_usd_per_hour and round(each.instance.likely_usd_per_hour, 4),
        "requests": each.requests,
        "tokens_per_second": each.rate and round(each.rate.tokens_per_second, 1),
        "is_measured": each.rate.is_measured if each.rate else None,
        "usd_per_million_tokens": each.usd_per_million_tokens and round(each.usd_per_million_tokens, 2),
        "usd_per_million_tokens_when_full": each.usd_per_million_tokens_when_full
        and round(each.usd_per_million_tokens_when_full, 2),
        "problems": [{"rule": problem.rule, "message": problem.message} for problem in each.problems],
    }
