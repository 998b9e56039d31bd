"""Nothing that a kept release promised to callers, operators and deployment files is missing."""

from copy import deepcopy

import pytest

from support.releases.kept_releases import Release, kept_releases
from support.releases.promises import REQUIRED, broken, promises


@pytest.mark.parametrize("release", kept_releases(), ids=lambda release: release.version)
def test_every_name_of_a_kept_release_is_known(release: Release) -> None:
    assert broken(release.promises, promises()) == {}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("errors", "404 job_not_found"),
        ("routes", "GET /jobs/{id} (with jobs)"),
        ("fields of requests and answers", "Job.status"),
        ("settings", "jobs.limits.open_jobs"),
        ("settings", "hosting.mode: async"),
        ("commands", "slipway diff --against"),
        ("commands", "slipway keys <2>"),
        ("commands", "slipway check <1>..."),
        ("keys of --json", "status: usd_per_hour"),
        ("keys of --json", "verify: seen"),
        ("python", "LlmService(vpc=)"),
        ("python", "slipway.rules.error"),
        ("python", "Placement.memory"),
    ],
)
def test_a_name_that_goes_is_seen(kind: str, name: str) -> None:
    changed = deepcopy(promises())
    changed[kind].remove(name)
    assert broken(promises(), changed) == {kind: [name]}


def test_another_status_of_an_error_is_seen() -> None:
    changed = deepcopy(promises())
    changed["errors"] = ["410 job_not_found" if each == "404 job_not_found" else each for each in changed["errors"]]
    assert broken(promises(), changed) == {"errors": ["404 job_not_found"]}


@pytest.mark.parametrize(
    ("call", "word"),
    [("LlmService", "budget"), ("LlmService", "vpc"), ("LlmService.grant_call", "path"), ("slipway deploy", "<2>")],
)
def test_an_argument_that_becomes_required_is_seen(call: str, word: str) -> None:
    changed = deepcopy(promises())
    changed[REQUIRED] = [f"{each} {word}" if each.startswith(f"{call}:") else each for each in changed[REQUIRED]]
    assert broken(promises(), changed) == {REQUIRED: [f"{call}: {word}"]}
    assert broken(changed, promises()) == {}


def test_a_new_name_breaks_nothing() -> None:
    assert broken(promises(), promises() | {"routes": [*promises()["routes"], "GET /usage"]}) == {}
