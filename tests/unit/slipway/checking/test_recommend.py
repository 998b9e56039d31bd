"""`check --recommend`: which instance types hold a model."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.instances import ec2_prices_as_of, instances, prices_as_of
from llm_hosting.catalog.models import model_shape
from llm_hosting.deployment.file import parse
from llm_hosting.deployment.lock import VERSION, read_lock
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.recommendation import alternatives
from llm_hosting.preflight.validation import errors_of_type, validate
from llm_hosting.resolution import resolve
from slipway.__main__ import main
from slipway.checking import recommend
from slipway.checking.check import CheckOptions
from slipway.checking.check import run as check
from support.repository import ROOT

pytestmark = pytest.mark.slow

AWAY = "http://127.0.0.1:9"


def question(**given: Any) -> recommend.Question:
    settings = {"types": (), "engine": None, "hub": False, "region": None, "context": None, "requests": 4}
    return recommend.Question(**settings | {"as_json": False} | given)


def reported(name: str, capsys: pytest.CaptureFixture[str], **given: Any) -> dict[str, Any]:
    status = recommend.run([name], ROOT, question(as_json=True, **given))
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status == (0 if any(not each["problems"] for each in found["instance_types"]) else 1)
    return found


def fitting(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in found["instance_types"] if not each["problems"]]


@pytest.mark.parametrize(
    ("model", "serving"),
    [
        ("Qwen/Qwen3-4B", {"max_model_len": 8192}),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", {}),
        ("bigscience/bloom", {"engine": "tgi", "version": "2.4.0"}),
    ],
)
def test_a_type_is_recommended_just_where_every_rule_accepts_it(model: str, serving: dict[str, Any]) -> None:
    def deployment(instance_type: str) -> Deployment:
        hosting = {"instance_type": instance_type}
        return Deployment.model_validate({"model": {"id": model}, "serving": serving, "hosting": hosting})

    found = alternatives(deployment("ml.g5.xlarge"), context=None, requests=1)
    assert {each.instance.type for each in found} == instances().keys()
    for each in found:
        errors = set(errors_of_type(resolve(deployment(each.instance.type))))
        assert errors == {problem for problem in each.problems if problem.rule != "requests-at-once"}
        assert each.problems or each.requests is None or each.requests >= 1


def test_types_are_listed_from_the_cheapest_on_and_hold_the_requests(capsys: pytest.CaptureFixture[str]) -> None:
    found = reported("qwen3-4b", capsys, requests=12)
    held = fitting(found)
    prices = [each["likely_usd_per_hour"] for each in held]
    known = [price for price in prices if price]
    assert known == sorted(known)
    assert None not in prices[: len(known)], "unknown prices come last"
    assert all(each["requests"] >= 12 for each in held)
    smaller = next(each for each in found["instance_types"] if each["instance_type"] == "ml.g6.xlarge")
    assert smaller["problems"][0]["message"].startswith("ml.g6.xlarge holds 10.7 requests of 8,192 tokens at once")


def test_more_context_needs_more_memory(capsys: pytest.CaptureFixture[str]) -> None:
    short, long = (fitting(reported("qwen3-32b", capsys, context=tokens)) for tokens in (4096, 40960))
    assert {each["instance_type"] for each in long} < {each["instance_type"] for each in short}


def test_published_times_are_measured_and_others_estimated(capsys: pytest.CaptureFixture[str]) -> None:
    types = ["ml.p4d.24xlarge", "ml.p4de.24xlarge"]
    found = {each["instance_type"]: each for each in reported("bloom-176b", capsys, types=types)["instance_types"]}
    p4d, other = found["ml.p4d.24xlarge"], found["ml.p4de.24xlarge"]
    assert (p4d["is_measured"], p4d["tokens_per_second"]) == (True, 37.1), "4 x 256 tokens in 27.564 s"
    assert p4d["usd_per_million_tokens"] == pytest.approx(
        p4d["likely_usd_per_hour"] / 3600 / (1024 / 27.564) * 1e6, abs=0.01
    )
    assert other["is_measured"] is False
    (more,) = reported("bloom-176b", capsys, types=["ml.p4d.24xlarge"], requests=8)["instance_types"]
    assert more["is_measured"] is False, "4 requests were measured, not 8"


def test_a_lock_decides_not_the_name() -> None:
    shape = model_shape("Qwen/Qwen3-32B")
    assert shape
    settings = {"model": {"id": "my-org/tiny-1b"}, "serving": {"max_model_len": 4096}}
    deployment = Deployment.model_validate(settings | {"hosting": {"instance_type": "ml.g5.xlarge"}})
    facts = {name: value for name, value in asdict(shape).items() if name not in ("ids", "source")}
    content = {"version": VERSION, "model": "my-org/tiny-1b", "commit": "0" * 40, "facts": facts}
    locked = deployment.with_lock(read_lock(json.dumps(content), "lock"))
    found = {each.instance.type: each for each in alternatives(locked, context=None, requests=1)}
    assert [problem.rule for problem in found["ml.g5.xlarge"].problems] == ["weights-fit-memory"]
    assert not found["ml.g5.24xlarge"].problems


def test_only_the_named_types_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    found = reported("qwen3-4b", capsys, types=["ml.g6.xlarge", "ml.g5.xlarge"])
    assert [each["instance_type"] for each in found["instance_types"]] == ["ml.g6.xlarge", "ml.g5.xlarge"]


def test_types_of_another_mode_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend.run(["qwen3-4b"], ROOT, question(types=["ml.g6.xlarge", "g5.xlarge"])) == 2
    assert capsys.readouterr().err == "--on g5.xlarge: no type for hosting.mode realtime.\n"


def test_a_file_whose_type_does_not_exist_is_judged_on_those_that_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("model: {id: Qwen/Qwen3-4B}\nhosting: {instance_type: ml.g5.3xlarge}\n")
    assert fitting(reported(str(path), capsys))


@pytest.mark.parametrize("name", ["bloom-176b", "gpt-oss-120b", "gpt4all-j"])
def test_a_type_holds_the_deployment_without_the_settings_to_leave_out(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    deployment, problems, _ = parse(ROOT / "deployments" / f"{name}.yaml")
    assert deployment
    assert not problems
    found = reported(name, capsys)
    settings = deployment.model_dump(mode="json", exclude_unset=True)
    assert found["left_out"]
    for field in found["left_out"]:
        section, _, setting = field.partition(".")
        del settings[section][setting]
    for each in fitting(found):
        settings["hosting"]["instance_type"] = each["instance_type"]
        findings = validate(resolve(Deployment.model_validate(settings)))
        assert not [finding for finding in findings if finding.level == "error"]
    assert recommend.run([name], ROOT, question()) == 0
    leave_out = f"Leave out {' and '.join(found['left_out'])}: here each type has its own."
    assert leave_out in " ".join(capsys.readouterr().out.split())


def test_what_every_type_refuses_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend.run(["qwen3-4b"], ROOT, question(context=999_999)) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith(
        "whatever the type serving.max_model_len: 999,999 is more than the 40,960 tokens of Qwen/Qwen3-4B; use 40960 "
        "or less."
    )


def test_a_machine_of_one_kind_is_named_once_among_those_that_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", AWAY)
    assert recommend.run(["Qwen/Qwen3-8B"], ROOT, question(context=8192)) == 0
    failing = capsys.readouterr().out.partition("cheaper, but")[2]
    assert failing.count("ml.g5.") == 2, "a row with its sentence"


def test_of_a_file_the_version_belongs_to_its_own_engine(capsys: pytest.CaptureFixture[str]) -> None:
    found = reported("qwen3-4b", capsys, engine="vllm", types=["ml.g5.xlarge"])
    assert (found["engine"], bool(fitting(found))) == ("vllm", True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--context", "8192"], "belong to --recommend"),
        (["--requests", "2"], "belong to --recommend"),
        (["--recommend", "--strict"], "without --account, --strict and --verbose"),
        (["--recommend", "--account"], "without --account, --strict and --verbose"),
        (["--recommend", "--context", "abc"], "argument --context: 'abc' must be a positive whole number"),
        (["--recommend", "--requests", "0"], "argument --requests: '0' must be a positive whole number"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_use(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["slipway", "check", "qwen3-4b", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_packed_weights_of_the_same_model_are_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    found = reported("qwen3-32b", capsys)
    assert {each["model"] for each in found["quantized"]} == {"Qwen/Qwen3-32B-AWQ", "Qwen/Qwen3-32B-FP8"}
    plain = fitting(found)[0]
    for each in found["quantized"]:
        assert not each["problems"]
        assert each["likely_usd_per_hour"] < plain["likely_usd_per_hour"]
    assert recommend.run(["qwen3-32b"], ROOT, question()) == 0
    said = capsys.readouterr().out
    assert "what they cost in quality is not known" in said
    assert "Qwen/Qwen3-32B-AWQ  ml." in said


def test_a_full_batch_makes_a_token_cheaper(capsys: pytest.CaptureFixture[str]) -> None:
    for each in fitting(reported("qwen3-4b", capsys)):
        few, full = each["usd_per_million_tokens"], each["usd_per_million_tokens_when_full"]
        assert (few is None and full is None) or full <= few
        if few and each["requests"] >= 2 * 4 * each["copies"]:
            assert full < few


def test_all_types_that_hold_the_model_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    held = fitting(reported("qwen3-32b", capsys))
    assert recommend.run(["qwen3-32b"], ROOT, question()) == 0
    said = " ".join(capsys.readouterr().out.partition("cheaper, but")[0].split())
    for each in held:
        family, _, size = each["instance_type"].rpartition(".")
        assert each["instance_type"] in said or re.search(rf"{re.escape(family)}\.[^;]*, \.{size}", said)


def test_the_page_fits_eighty_columns_and_says_why_the_cheapest_types_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert recommend.run(["qwen3-32b"], ROOT, question()) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "…" not in said
    dates = f"SageMaker's prices of {prices_as_of()}, ~ estimated from EC2's prices of {ec2_prices_as_of()};"
    assert dates in " ".join(said.split())
    assert said.index("ml.g6e.12xlarge") < said.index("cheaper, but") < said.index("ml.g4dn.xlarge 0.74")


def test_a_machine_has_ec2s_price_and_its_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend.run(["gpt2-ec2"], ROOT, question()) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"USD/h: us-east-1, EC2's prices of {ec2_prices_as_of()};" in said
    assert "SageMaker's" not in said


def test_where_no_type_fits_the_largest_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend.run(["bloom-176b"], ROOT, question(requests=10_000)) == 1
    said = capsys.readouterr().out
    assert "No instance type holds that." in said
    assert "ml.p6-b300.48xlarge" in said
    assert "What helps: fewer requests at once (--requests), or a shorter context" in said


def test_nothing_is_recommended_for_a_model_of_unknown_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", AWAY)
    path = tmp_path / "mine.yaml"
    path.write_text("model: {id: my-org/mine}\nhosting: {instance_type: ml.g5.xlarge}\n")
    assert recommend.run([str(path)], ROOT, question()) == 2
    assert "my-org/mine takes is not known; ask it by --hub" in capsys.readouterr().err
    assert recommend.run(["my-org/mine"], ROOT, question()) == 2
    assert f"{AWAY} could not be asked" in capsys.readouterr().err


def test_a_model_of_the_catalog_needs_no_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", AWAY)
    found = reported("Qwen/Qwen3-8B", capsys, context=8192)
    first = fitting(found)[0]["instance_type"]
    assert (found["model"], found["context"]) == ("Qwen/Qwen3-8B", 8192)
    assert check(["Qwen/Qwen3-8B"], ROOT, CheckOptions(on=[first])) in (0, 1)
    assert first in capsys.readouterr().out
