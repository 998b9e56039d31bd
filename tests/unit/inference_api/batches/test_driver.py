"""Lines of a batch that no job takes."""

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from inference_api.batches.batch import Batch
from inference_api.batches.driver import Driver, _OpenBlock
from inference_api.batches.input_lines import InputLine
from inference_api.batches.lines import Lines
from inference_api.batches.service import _read
from inference_api.jobs.submission import Submission
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime
from inference_api.shared.settings import Limits, settings, traces
from unit.inference_api.openai.conftest import Deploy

TRACE = "1-5759e988-bd862e3fe1be46a994272793"
BATCH = Batch("batch_0", "o", "/v1/responses", "file-0", "k", "v", 0, 500, 60)


def test_a_line_without_a_length_is_refused_by_the_name_of_its_own_field(deploy: Deploy) -> None:
    deploy("lmi-vllm")
    nothing: Any = None
    submission = Submission(
        *(nothing, nothing, nothing),
        rules=settings().request_rules,
        times=JobTimes(3600, 3600, 60),
        limits=Limits(10, answer_tokens_per_day=100),
        runtime=Runtime(),
        deployment="d",
        engine_serves=lambda: True,
    )
    jobs: Any = SimpleNamespace(submission=submission)
    driver = Driver(nothing, nothing, jobs, Lines(jobs, _read), nothing, Runtime())
    block = _OpenBlock(0, [InputLine(1, "one", {"input": "Hi"})], {})
    driver._tend(BATCH, block, True, lambda: True)
    assert block.refusals[1].field == "max_output_tokens"
    assert block.refusals[1].message.startswith("max_output_tokens: set it to at least 1")


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TRACING", "on")
    traces.cache_clear()
    yield
    traces.cache_clear()


@pytest.mark.usefixtures("traced")
def test_a_line_that_cannot_begin_is_logged_with_the_batchs_trace(capsys: pytest.CaptureFixture[str]) -> None:
    nothing: Any = None
    jobs: Any = SimpleNamespace(submission=nothing)
    driver = Driver(nothing, nothing, jobs, Lines(jobs, _read), nothing, Runtime())
    batch = replace(BATCH, trace=f"Root={TRACE};Parent=;Sampled=0")
    driver._tend(batch, _OpenBlock(0, [InputLine(1, "one", {})], {}), True, lambda: True)
    (line,) = (json.loads(each) for each in capsys.readouterr().out.splitlines())
    assert (line["batch"], line["trace"]) == (batch.id, TRACE)
    assert line["cause"].endswith("at line 1")
