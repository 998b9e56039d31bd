"""Figures kept beside a deployment: `bench --keep` writes them, `check --recommend` goes by them."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.models import model_shape
from slipway.checking import recommend
from slipway.measuring.figures.measured import MeasuredError, keep, measured, measured_path
from slipway.measuring.figures.results import Load, MeasuredAnswer, Results, Start
from support.measured import load, results, streamed

FILE = """
model: {id: Qwen/Qwen3-4B}
serving: {engine: vllm}
hosting: {instance_type: ml.g5.xlarge}
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Path:
    path = tmp_path / "deployments" / "chat.yaml"
    path.parent.mkdir()
    path.write_text(FILE)
    (tmp_path / "model_src").mkdir()
    return path


def of_rate(tokens_per_second: int, clients: int) -> Load:
    """One answer of a second."""
    return Load(clients, None, 1.0, (MeasuredAnswer(0.0, 0.1, 1.0, prompt_tokens=9, answer_tokens=tokens_per_second),))


def recommended(
    deployment: Path, capsys: pytest.CaptureFixture[str], requests: int, *, types: tuple[str, ...] = ("ml.g5.xlarge",)
) -> dict[str, Any]:
    """Recommendations by instance type; all types if `types` is empty."""
    question = recommend.Question(
        types=types, engine=None, hub=False, region=None, context=2048, requests=requests, as_json=True
    )
    assert recommend.run([deployment.stem], deployment.parent.parent, question) == 0
    found = json.loads(capsys.readouterr().out)
    return {each["instance_type"]: each for each in found["instance_types"]}


def test_a_recommendation_goes_by_what_was_measured(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    estimated = recommended(deployment, capsys, 4, types=())
    keep(results(of_rate(50, 1), of_rate(160, 4), of_rate(400, 16)), deployment)
    kept = recommended(deployment, capsys, 4, types=())
    assert (kept["ml.g5.xlarge"]["tokens_per_second"], kept["ml.g5.xlarge"]["is_measured"]) == (160, True)
    assert kept["ml.g5.xlarge"]["usd_per_million_tokens"] == pytest.approx(1.408 / 3600 / 160 * 1e6, abs=0.01)
    assert kept["ml.g6.xlarge"] == estimated["ml.g6.xlarge"]
    assert recommended(deployment, capsys, 5)["ml.g5.xlarge"]["tokens_per_second"] == 160, "at least"
    assert recommended(deployment, capsys, 4)["ml.g5.xlarge"]["is_measured"]


@pytest.mark.parametrize(
    "changed", [{"model": "Qwen/Qwen3-8B"}, {"engine": "lmi-vllm"}, {"degree": 2}, {"instance_type": "ml.g5.2xlarge"}]
)
def test_figures_of_something_else_are_left_alone(
    deployment: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any]
) -> None:
    keep(results(of_rate(160, 4), **changed), deployment)
    assert not recommended(deployment, capsys, 4)["ml.g5.xlarge"]["is_measured"]
    keep(results(of_rate(160, 8)), deployment)
    assert not recommended(deployment, capsys, 4)["ml.g5.xlarge"]["is_measured"], "with fewer requests than measured"


def test_figures_of_several_instances_are_left_alone(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(results(of_rate(160, 4), usd_per_hour=2 * 1.408), deployment)
    assert not recommended(deployment, capsys, 4)["ml.g5.xlarge"]["is_measured"]


def test_the_page_shows_a_measured_type_in_place_of_an_estimate_with_the_same_accelerators(
    deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(results(of_rate(160, 4), instance_type="ml.g6.2xlarge", usd_per_hour=1.222), deployment)
    question = recommend.Question((), None, hub=False, region=None, context=2048, requests=4, as_json=False)
    assert recommend.run(["chat"], deployment.parent.parent, question) == 0
    printed = capsys.readouterr().out
    assert "\nml.g6.2xlarge " in printed
    assert "\nml.g6.xlarge " not in printed


def test_figures_of_another_commit_than_the_locks_are_left_alone(
    deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = model_shape("Qwen/Qwen3-4B")
    assert shape
    facts = {name: value for name, value in asdict(shape).items() if name not in ("ids", "source")}
    lock = {"version": 1, "model": "Qwen/Qwen3-4B", "revision": None, "commit": "a" * 40, "facts": facts, "files": {}}
    deployment.with_suffix(".lock.json").write_text(json.dumps(lock))
    for commit, is_measured in (("b" * 40, False), ("a" * 40, True), (None, True)):
        keep(results(of_rate(160, 4), commit=commit), deployment)
        assert recommended(deployment, capsys, 4)["ml.g5.xlarge"]["is_measured"] is is_measured


def test_a_type_has_one_measurement_and_others_stay(deployment: Path) -> None:
    start = Start("deploy", {"load": 41.7})
    keep(results(streamed(1, 20, clients=1), instance_type="ml.g6.xlarge", start=start, commit="abc"), deployment)
    keep(results(load([1.0]), usd_per_hour=9.0), deployment)
    slo = results(*(streamed(rate, 60, rate=float(rate)) for rate in (1, 2, 4)), slo="ttft_p90<200ms")
    path = keep(slo, deployment)
    assert path == measured_path(deployment) == deployment.with_name("chat.measured.json")
    g5, g6 = measured(deployment)
    assert (g5.instance_type, g5.highest_rate, g5.slo, len(g5.levels)) == ("ml.g5.xlarge", 2.0, "ttft_p90<200ms", 3)
    assert (g6.load_in_seconds, g6.commit, g6.levels[0].clients) == (41.7, "abc", 1)
    assert [each.name for each in deployment.parent.iterdir() if each != deployment] == [path.name]


@pytest.mark.parametrize(
    ("unfit", "said"),
    [
        (replace(results(load([1.0])), stand_in=True), "stand-in"),
        (results(Load(1, None, 1.0, (MeasuredAnswer(0.0, error="503"),))), "No request was answered"),
        (results(), "No request was answered"),
    ],
)
def test_what_says_nothing_of_aws_is_not_kept(deployment: Path, unfit: Results, said: str) -> None:
    with pytest.raises(MeasuredError, match=said):
        keep(unfit, deployment)
    assert measured(deployment) == ()


def test_a_file_that_holds_something_else_is_refused(deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured_path(deployment).write_text('[{"degree": 1}]')
    question = recommend.Question((), None, hub=False, region=None, context=None, requests=4, as_json=True)
    assert recommend.run(["chat"], deployment.parent.parent, question) == 2
    assert "0.instance_type: Field required; keep a new measurement" in capsys.readouterr().err
