"""The preflight against configurations that others published: a regression net over failures and successes.

Fields of a line:
outcome: whether the published configuration worked.
reason: the cause of a failure, as the id of a rule if a rule states it.
also: other causes that the source shows.
named: whether an error states the cause.
lock: facts of a model that the catalog does not have, as far as they are known, in the form of a lock file.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from llm_hosting.deployment.finding import SCHEMA
from llm_hosting.deployment.lock import read_lock
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.validation import validate
from llm_hosting.resolution import resolve

CASES_FILE = Path(__file__).parents[3] / "published_cases.jsonl"

Case = dict[str, Any]
Finding = tuple[str, str]  # the rule's id and its level


def findings(case: Case) -> list[Finding]:
    try:
        deployment = Deployment.model_validate(case["deployment"])
    except ValidationError:
        return [(SCHEMA, "error")]
    if "lock" in case:
        deployment = deployment.with_lock(read_lock(json.dumps(case["lock"]), "the case"))
    return [(finding.rule, finding.level) for finding in validate(resolve(deployment))]


def is_named(case: Case, found: list[Finding], level: str) -> bool:
    return any((reason, level) in found for reason in (case["reason"], *case.get("also", ())))


@pytest.mark.slow
def test_failures_keep_their_errors_and_successes_are_not_refused(capsys: pytest.CaptureFixture[str]) -> None:
    found = [(case, findings(case)) for case in map(json.loads, CASES_FILE.read_text().splitlines())]
    failures = [each for each in found if each[0]["outcome"] == "fails"]
    successes = [each for each in found if each[0]["outcome"] == "works"]
    certain = {case["id"] for case, each in failures if is_named(case, each, "error")}
    warned = {case["id"] for case, each in failures if is_named(case, each, "warning")} - certain
    refused = {case["id"] for case, each in successes if "error" in {level for _, level in each}}
    warnings = sum(level == "warning" for _, each in successes for _, level in each)

    with capsys.disabled():
        print(
            f"\n{len(failures)} published failures: {len(certain)} named by an error, {len(warned)} by a warning, "
            f"{len(failures) - len(certain | warned)} missed"
        )
        print(
            f"{len(successes)} published successes: {len(refused)} refused, "
            f"{warnings / len(successes):.2f} warnings each"
        )
    assert {case["id"] for case, _ in failures if case.get("named")} - certain == set()
    assert refused == set()
