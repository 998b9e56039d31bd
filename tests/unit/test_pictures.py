"""Pictures of docs/pictures/ agree with the code, and any browser shows them without a second request."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import SHOWN, Job, Output
from inference_api.shared.job_times import JobTimes
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.recommendation import alternatives
from llm_hosting.resolution import resolve
from llm_hosting.resolution.estimates import start_in_seconds, wake_in_seconds
from llm_hosting.resolution.idle import COPY_STAYS_IN_MINUTES, EMPTY_INSTANCE_STAYS_IN_MINUTES
from support.repository import ROOT

PICTURES = ROOT / "docs" / "pictures"
FILES = sorted(PICTURES.glob("*.svg"))
TIMES = JobTimes(deadline=3600, retention=3600, invocation_timeout=60)
OPEN, ENDS = {"queued", "running"}, {"succeeded", "failed", "expired", "cancelled"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_picture_is_small_stands_alone_and_does_not_name_the_machine_it_was_made_on(file: Path) -> None:
    text = file.read_text()
    assert len(text) < 40_000
    for element in ElementTree.fromstring(text).iter():
        assert element.tag.rpartition("}")[2] not in ("script", "image", "foreignObject", "use")
    for foreign in ("url(http", "@import", "href", str(ROOT), str(Path.home()), "/home/", "/Users/", "/root/"):
        assert foreign not in text
    assert not re.search("AKIA[0-9A-Z]", text)


def test_the_life_of_a_job_is_as_drawn() -> None:
    drawn = {("queued", "running"), ("running", "queued"), *((state, end) for state in OPEN for end in ENDS)}
    assert changes_of_status() == drawn, "redraw docs/pictures/job-life.svg"
    words = texts("job-life.svg")
    assert words >= {*OPEN, *ENDS, f"{transitions.MAX_ATTEMPTS} at most"}


def test_the_memory_of_accelerators_is_as_drawn() -> None:
    deployment = Deployment.model_validate(
        {"model": {"id": "Qwen/Qwen3-8B"}, "hosting": {"instance_type": "ml.g6.xlarge"}}
    )
    words = texts("memory.svg")
    shown = [each for each in alternatives(deployment, context=8192, requests=1) if each.instance.type in words]
    assert len(shown) == 5
    for each in shown:
        needed = (each.figures.weights_in_gb or 0) + each.figures.overhead_in_gb
        missing, fitting = needed - each.figures.memory_in_gb, each.requests or 0
        result = f"{missing:.1f} GB are missing" if each.problems else f"{fitting:,.0f} requests at once"
        assert f"{each.figures.memory_in_gb:g} GB: {result}" in words, each.instance.type


def test_a_wake_is_as_drawn() -> None:
    settings = {"model": {"id": "Qwen/Qwen3-4B"}, "hosting": {"instance_type": "ml.g6.2xlarge", "idle": "zero"}}
    placement = resolve(Deployment.model_validate(settings)).placements[0]
    wake, start = wake_in_seconds(placement).likely, start_in_seconds(placement).likely
    assert wake
    assert start
    words = texts("wake.svg")
    assert words >= {
        f"after ~ {wake / 60:.0f} min",
        f"~ {(wake - start) / 60:.0f} min",
        f"~ {start / 60:.0f} min",
        f"{COPY_STAYS_IN_MINUTES} min later",
        f"{EMPTY_INSTANCE_STAYS_IN_MINUTES} min later",
        ": the model is starting",
    }, "redraw docs/pictures/wake.svg"


def texts(name: str) -> set[str]:
    """Return the texts of a picture."""
    root = ElementTree.parse(PICTURES / name).getroot()
    return {each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")}


def changes_of_status() -> set[tuple[str, str]]:
    """Try every transition on every reachable row, and return each change of the status that callers see."""
    found: set[tuple[str, str]] = set()
    first = transitions.accept("id", "owner", 0, TIMES)
    known, waiting = {first}, [first]
    while waiting:
        job = waiting.pop()
        for following in next_rows(job):
            found.add((SHOWN[job.state], SHOWN[following.state]))
            if following not in known:
                known.add(following)
                waiting.append(following)
    return {(before, after) for before, after in found if before != after}


def next_rows(job: Job) -> Iterator[Job]:
    """Yield every row that one transition makes of this row, at each moment that matters."""
    latest = TIMES.latest_start(job.deadline)
    for now in (0, latest, latest + 1, job.deadline):
        changed = [
            transitions.claim(job, now, TIMES),
            transitions.cancel(job, now, TIMES),
            transitions.expire(job, now, TIMES),
        ]
        for attempt in range(1, job.attempts + 1):
            output = Output("key", "version", "etag", 1, "text/plain", attempt, in_table=True)
            changed += [
                transitions.succeed(job, output, now, TIMES),
                transitions.give_back(job, attempt, now, TIMES),
                transitions.fail_attempt(job, attempt, "code", now, TIMES),
                transitions.fail_attempt(job, attempt, "code", now, TIMES, refused=True),
            ]
        # No transition depends on these attributes, and without them there are few rows.
        for each in filter(None, changed):
            yield replace(each, due_at=0, expires_at=0, ended_at=0, output=None, error_attempt=0)
