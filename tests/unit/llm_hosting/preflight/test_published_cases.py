"""The preflight against configurations that others published, with what became of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from llm_hosting.deployment import Deployment
from llm_hosting.preflight.validation import validate
from llm_hosting.resolution import resolve

CASES: list[dict[str, Any]] = [
    case
    for path in sorted((Path(__file__).parents[3] / "published_cases").glob("*.json"))
    for case in json.loads(path.read_text())
]
# Ranges of single settings, which need no rule.
REFUSED_BY_SCHEMA = {
    "schema-of-100-features-in-one-variable",
    "start-up-of-two-hours",
    "start-up-of-30-seconds",
    "weights-without-slash",
}
LEAST_NAMED, MOST_REFUSED = 0.95, 0.02


def findings(case: dict[str, Any]) -> dict[str, str]:
    """Rule ids and their levels; what the schema refuses has the reason that the case names."""
    try:
        deployment = Deployment.model_validate(case["deployment"])
    except ValidationError:
        return {str(case["reason"]): "error"} if case["id"] in REFUSED_BY_SCHEMA else {"schema": "error"}
    return {each.rule: each.level for each in validate(resolve(deployment))}


def is_refused(case: dict[str, Any]) -> bool:
    return "error" in findings(case).values()


def is_named(case: dict[str, Any]) -> bool:
    """Whether a rule says what really went wrong; `also` has other causes that the same source shows."""
    found = findings(case)
    reasons = {case["reason"], *case.get("also", ())}
    if "weights-fit-memory" in reasons:
        reasons.add("weights-barely-fit")  # the same, said of an estimate that is near the limit
    return any(found.get(reason) in ("error", "warning") for reason in reasons)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_has_a_source_and_an_outcome(case: dict[str, Any]) -> None:
    assert case["outcome"] in ("works", "fails")
    assert (case["reason"] is None) == (case["outcome"] == "works")
    assert len(case["source"]) > 20
    assert case["why"]


def test_there_are_enough_cases_and_each_has_a_name_of_its_own() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert sum(case["outcome"] == "works" for case in CASES) >= 30
    assert sum(case["outcome"] == "fails" for case in CASES) >= 30


def test_what_failed_is_named() -> None:
    failed = [case for case in CASES if case["outcome"] == "fails"]
    missed = [f"{case['id']}: {case['reason']}, found {findings(case)}" for case in failed if not is_named(case)]
    assert len(missed) <= (1 - LEAST_NAMED) * len(failed), "\n".join(missed)


def test_what_worked_is_not_refused() -> None:
    worked = [case for case in CASES if case["outcome"] == "works"]
    refused = [f"{case['id']}: {findings(case)}" for case in worked if is_refused(case)]
    assert len(refused) <= MOST_REFUSED * len(worked), "\n".join(refused)
