"""`slipway check`: what it prints, in which form, and with which exit status."""

import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.instances import instances
from llm_hosting.preflight.report import Figures, Report
from llm_hosting.preflight.rules.rule import RULES
from llm_hosting.preflight.rules.suitable_type import by_price
from slipway.account.account import Account
from slipway.account.endpoint_quota import service_quota
from slipway.checking.check import CheckOptions, run
from slipway.checking.check import check as check_file
from slipway.checking.memory_bar import legend, memory_bar
from support.deployments.counted_calls import ONCE, count_calls
from support.repository import ROOT

HEALTHY: dict[str, Any] = {
    "model": {"id": "Qwen/Qwen3-4B"},
    "serving": {"max_model_len": 8192, "max_new_tokens": 200},
    "hosting": {"instance_type": "ml.g6.2xlarge"},
}
REFUSED: dict[str, Any] = {
    "model": {"id": "Qwen/Qwen3-4B"},
    "hosting": {"instance_type": "ml.m5.xlarge", "update_wait_in_seconds": 9},
}
SCREEN = (80, 24)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def file(content: Any, name: str = "mine") -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return file


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def check(*names: str, **options: Any) -> int:
    return run(names, ROOT, CheckOptions(**options))


def words(text: str) -> str:
    """The text on one line, however it was wrapped."""
    return " ".join(text.split())


def test_a_healthy_deployment_is_ready_and_its_report_fits_a_screen(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(write(HEALTHY)) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0] == " READY  mine: Qwen/Qwen3-4B on lmi-vllm 0.36.0-lmi28"
    assert len(lines) < SCREEN[1]
    assert all(len(line) <= SCREEN[0] and line == line.rstrip() for line in lines)
    for label in ("image", "instance", "memory", "KV cache", "copies", "disk", "start", "answer", "price", "quota"):
        assert f"\n{label} " in said
    assert "2 of 'ml.g6.2xlarge for endpoint usage'" in said
    assert "service-quota" in said[said.index("not asked") :]
    assert "weights-in-bucket" not in said, "it has no weights in a bucket"


def test_a_refused_one_names_each_rule_its_sentence_and_the_way_out(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(write(REFUSED)) == 1
    said = capsys.readouterr().out
    assert said.startswith(" REFUSED  mine: ")
    refused, warning = said.index("refused     image-fits-platform"), said.index("warning     settings-are-read")
    assert refused < warning, "what stops the deploy comes first"
    assert "hosting.instance_type: 'ml.m5.xlarge' has no NVIDIA GPU" in words(said)
    assert "→ use a GPU type, such as ml.g4dn.xlarge (about 0.74 USD an hour), or an engine" in words(said)


@pytest.mark.parametrize(
    ("model", "serving", "types"),
    [
        ("Qwen/Qwen3-4B", {"max_model_len": 8192}, "ml.m5.xlarge"),  # no accelerator
        ("Qwen/Qwen3-8B", {"max_model_len": 8192}, "ml.p3.2xlarge"),  # too old, and too small
        ("bigscience/bloom", {"tensor_parallel_degree": 8}, "ml.g6.xlarge"),  # disk, memory and accelerators
        ("Qwen/Qwen3-4B", {"max_model_len": 8192}, "ml.g6.3xlarge"),  # does not exist
    ],
)
def test_a_refused_one_is_told_the_cheapest_type_that_no_rule_refuses(
    write: Any, capsys: pytest.CaptureFixture[str], model: str, serving: dict[str, Any], types: str
) -> None:
    def reported(instance_type: str) -> dict[str, Any]:
        hosting = {"instance_type": instance_type}
        check(write({"model": {"id": model}, "serving": serving, "hosting": hosting}), as_json=True)
        report: dict[str, Any] = json.loads(capsys.readouterr().out)
        return report

    name, _, price = reported(types)["suitable_type"].partition(" ")
    assert price == f"({instances()[name].price()})"
    assert (there := reported(name))["verdict"] == "ready"
    assert there["suitable_type"] == ""
    for each in instances().values():
        if each.kind == "gpu" and by_price(each) < by_price(instances()[name]):
            report = reported(each.type)
            is_close = any(finding["rule"] == "weights-barely-fit" for finding in report["findings"])
            assert report["verdict"] == "refused" or is_close


def test_the_type_to_take_instead_is_said_once(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def said(**changes: Any) -> str:
        check(write(HEALTHY | changes))
        return words(capsys.readouterr().out)

    for another in (
        said(hosting={"instance_type": "ml.m5.xlarge"}),
        said(hosting={"instance_type": "ml.g6.xlrge"}),
        said(model={"id": "Qwen/Qwen3-32B"}, hosting={"instance_type": "ml.g6.xlarge"}),
    ):
        assert "instead" not in another
    assert "use a type with more memory, such as ml.g7e.2xlarge (about 4.20 USD an hour)" in another
    pool = said(serving={"max_model_len": 8192}, hosting={"instance_type": ["ml.g5.12xlarge", "ml.g5.2xlarge"]})
    assert "instead ml.g4dn.xlarge (about 0.74 USD an hour): the cheapest type that no rule refuses" in pool


def test_a_check_resolves_once_and_runs_each_rule_once(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_calls(monkeypatch)
    check(write(HEALTHY))
    assert counts == ONCE


def test_warnings_change_the_exit_status_only_when_asked(write: Any) -> None:
    doubtful = HEALTHY | {"api": {"playground": True}}
    assert check(write(doubtful)) == 0
    assert check(write(doubtful), strict=True) == 1
    assert check(write(HEALTHY), strict=True) == 0, "a note is no doubt"


def test_a_model_that_nobody_knows_is_not_ready(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write({"model": {"id": "nobody/knows-this"}, "hosting": {"instance_type": "ml.g6.xlarge"}})
    assert check(path) == 2
    said = capsys.readouterr().out
    assert said.startswith(" NOT CHECKED  mine: ")
    assert "its weights, memory, context and whether lmi-vllm runs it are not checked" in words(said)
    assert check(path, "qwen3-4b") == 2
    assert capsys.readouterr().out.endswith("1 ready, 1 not checked (mine)\n")
    assert check(path, as_json=True) == 2
    report = json.loads(capsys.readouterr().out)
    (finding,) = (each for each in report["findings"] if each["rule"] == "model-is-known")
    assert report["verdict"] == "not checked"
    assert finding["fix"].startswith(f"run `slipway lock {path}`, ")
    assert check(path, strict=True) == 1


def test_who_accepts_that_nobody_knows_the_model_gets_no_failing_status(write: Any) -> None:
    silenced = {"silenced": {"model-is-known": "It is one of our own."}}
    model = {"model": {"id": "nobody/knows-this"}, "hosting": {"instance_type": "ml.g6.xlarge"}}
    assert check(write(model | {"preflight": silenced})) == 0


def test_a_misspelt_name_is_offered_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("qwen3-4B") == 2
    assert "There is no deployment 'qwen3-4B'. Did you mean qwen3-4b? Use " in capsys.readouterr().err


def test_a_region_is_judged_where_the_file_names_none(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(write(HEALTHY), region="nonsense") == 1
    said = words(capsys.readouterr().out)
    assert "'nonsense' has no AWS account with images in the catalog" in said
    assert "use one of the 44 that are known, such as af-south-1" in said
    assert check(write(HEALTHY), region="eu-west-1") == 0
    assert check(write(HEALTHY | {"region": "us-east-1"}), region="eu-west-1") == 2


@pytest.mark.parametrize("name", ["nobody", "", "x" * 5000, "a\0b"])
def test_a_name_that_does_not_exist_is_wrong_use_and_the_others_are_named(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("qwen3-4b", name) == 2
    said = capsys.readouterr()
    assert said.out == ""
    problem = f"There is no deployment {name!r}" if name else "No deployment is named"
    assert f"{problem}. " in said.err
    assert "qwen3-4b" in said.err


def test_a_folder_in_place_of_a_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(str(tmp_path)) == 2
    assert capsys.readouterr().err == f"{str(tmp_path)!r} is a folder; name a file in it.\n"


def test_a_path_that_does_not_exist_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("/nowhere/nofile.yaml") == 2
    assert capsys.readouterr().err == "There is no file '/nowhere/nofile.yaml'.\n"
    assert check("deployments/gtp2.yaml") == 2
    assert "Did you mean gpt2?" in capsys.readouterr().err


def test_several_are_reported_one_after_another_and_counted(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(write(HEALTHY, "good"), write(REFUSED, "bad"), "qwen3-4b") == 1
    said = capsys.readouterr().out
    assert [line.split()[1] for line in said.splitlines() if line.startswith((" READY", " REFUSED"))] == [
        "good:",
        "bad:",
        "qwen3-4b:",
    ]
    assert said.endswith("2 ready, 1 refused (bad)\n")


def test_every_rule_is_listed_on_demand_with_its_sentence(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    check(write(HEALTHY), verbose=True)
    said = capsys.readouterr().out
    assert {rule.id for rule in RULES if rule.id not in said} == set()
    assert "SageMaker pulls images from the endpoint's own region only." in words(said)


def test_a_silenced_rule_stays_visible_with_its_reason(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reason = "Callers are our own, and few."
    silencing = {"api": {"playground": True}, "preflight": {"silenced": {"playground-needs-a-key": reason}}}
    assert check(write(HEALTHY | silencing), strict=True) == 0
    assert f"playground-needs-a-key: {reason}" in words(capsys.readouterr().out)


def test_a_machine_of_ec2_is_shown_with_its_sleep(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("gpt2-ec2") == 0
    said = words(capsys.readouterr().out)
    assert "start about 124 s from asleep; the set-up at the deploy may take 900 s" in said
    assert "about 0.17 USD an hour for one while awake; asleep 1.36 USD a month for the disk" in said
    assert "8 vCPU of 'Running On-Demand Standard" in said
    assert "image-in-registry" not in said


def test_types_of_a_pool_stand_side_by_side(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    types = ["ml.g6.2xlarge", "ml.g5.2xlarge", "ml.g6e.2xlarge"]
    assert check(write(HEALTHY | {"hosting": {"instance_type": types}})) == 0
    said = capsys.readouterr().out
    assert next(line for line in said.splitlines() if line.split() == types)
    assert all(f"2 of '{name} for endpoint usage'" in words(said) for name in types)


def test_an_overlay_is_shown_over_its_base(tmp_path: Path, write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    write(HEALTHY)
    (tmp_path / "mine").mkdir()
    own = {"extends": "mine", "hosting": {"instance_count": {"max": 3}}, "logs": {"retention_in_days": 30}}
    path = write(own, "mine/prod")
    assert check(path) == 0
    said = words(capsys.readouterr().out)
    assert "READY mine-prod: " in said
    assert "overlay of mine hosting.instance_count.max: 1 → 3 logs.retention_in_days: 30, as the base " in said
    assert check(path, as_json=True) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["extends"] == "mine"
    assert report["sets"][0] == {"field": "hosting.instance_count.max", "base": 1, "value": 3}


def test_the_files_of_an_overlay_are_read_once(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    base = write(HEALTHY)
    (tmp_path / "mine").mkdir()
    path = write({"extends": "mine", "logs": {"retention_in_days": 3}}, "mine/prod")
    found: list[str] = []

    def read(file: Path, encoding: str | None = None, errors: str | None = None) -> str:
        found.append(str(file))
        return file.read_bytes().decode()

    monkeypatch.setattr(Path, "read_text", read)
    assert check(path) == 0
    assert sorted(each for each in found if each.startswith(str(tmp_path))) == [base, path]


def test_a_refused_value_of_an_overlay_is_not_shown(
    tmp_path: Path, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    write(HEALTHY)
    (tmp_path / "mine").mkdir()
    token = "hf_" + "a" * 34
    assert check(write({"extends": "mine", "serving": {"environment": {"HF_TOKEN": token}}}, "mine/prod")) == 1
    said = words(capsys.readouterr().out)
    assert "serving.environment.HF_TOKEN (mine/prod.yaml): " in said
    assert token not in said


def test_json_is_the_report_itself(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(write(REFUSED), as_json=True) == 1
    report = json.loads(capsys.readouterr().out)
    assert report.keys() == {field.name for field in fields(Report)}
    assert (report["name"], report["verdict"]) == ("mine", "refused")
    assert report["findings"][0].keys() == {"rule", "level", "field", "problem", "fix", "file", "message"}
    assert check(write(HEALTHY), "qwen3-4b", as_json=True) == 0
    assert [report["name"] for report in json.loads(capsys.readouterr().out)] == ["mine", "qwen3-4b"]


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("a: [", "file"),
        ("- list", "file"),
        ("", "file"),
        (
            {"model": {"id": "gpt2", "quantisation": "awq"}, "hosting": {"instance_type": "ml.g5.xlarge"}},
            "model.quantisation",
        ),
        ({"model": {}, "hosting": {"instance_type": "ml.g5.xlarge"}}, "model.id"),
        ({"model": {"id": "gpt2"}, "hosting": {"instance_type": ["[/red]"] * 9}}, "hosting.instance_type"),
        (HEALTHY | {"serving": {"handler": "nobodys"}}, "serving.handler"),
    ],
    ids=["broken", "list", "empty", "unknown-key", "missing", "like-markup", "no-such-handler"],
)
def test_a_file_that_is_wrong_itself_is_refused_in_both_forms(
    write: Any, content: Any, field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(write(content), as_json=True) == 1
    report = json.loads(capsys.readouterr().out)
    assert report.keys() == {each.name for each in fields(Report)}
    assert report["verdict"] == "refused"
    assert any(found["rule"] == "schema" and found["field"].startswith(field) for found in report["findings"])
    assert check(write(content)) == 1
    assert f"{field}" in capsys.readouterr().out


def test_rules_are_judged_beside_a_mistake_of_shape(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    content = {"model": {"id": "Qwen/Qwen3-4B", "typo": 1}, "hosting": {"instance_type": "ml.m5.xlarge"}}
    assert check(write(content), as_json=True) == 1
    rules = {finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert {"schema", "image-fits-platform"} <= rules


def test_a_missing_type_is_not_judged(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(write({"model": {"id": "gpt2"}, "hosting": {}}), as_json=True) == 1
    assert {finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]} == {"schema"}


def test_colour_is_for_terminals(
    write: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(write(REFUSED))
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("TERM", "xterm-256color")
    check(write(REFUSED))
    assert "\x1b[" in capsys.readouterr().out


@pytest.mark.parametrize("width", [50, 120])
def test_lines_are_as_long_as_the_terminal_is_wide(
    write: Any, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    check(write(REFUSED))
    longest = max(map(len, capsys.readouterr().out.splitlines()))
    assert width * 0.8 < longest <= width


def test_a_terminal_without_unicode_gets_ascii(write: Any) -> None:
    command = [sys.executable, "-m", "slipway", "check", write(HEALTHY)]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True)
    assert result.returncode == 0, result.stderr
    assert b"# 8." in result.stdout


def test_a_closed_pipe_is_no_problem(write: Any) -> None:
    command = [sys.executable, "-m", "slipway", "check", write(HEALTHY), "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_neither_the_cdk_nor_boto3_is_imported() -> None:
    program = (
        "import runpy, sys; sys.argv = ['slipway', 'check', 'qwen3-4b']\n"
        "try: runpy.run_module('slipway', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'aws_cdk', 'boto3', 'botocore', 'huggingface_hub', 'rich'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "['rich']", result.stderr


FIGURES = Figures(
    instance_type="ml.g6.2xlarge",
    accelerators="1 x NVIDIA L4",
    devices=1,
    degree=1,
    copies=1,
    memory_in_gb=20.0,
    weights_in_gb=10.0,
    overhead_in_gb=2.0,
    cache_in_kb_per_token=100.0,
    cached_tokens=80_000,
    context=8192,
    requests_at_full_length=9.8,
    download_in_gb=10.0,
    disk_in_gb=450,
    start_in_seconds=100.0,
    start_timeout_in_seconds=900,
    answer_in_seconds=None,
    host_image=None,
    usd_per_hour=None,
)


@pytest.mark.parametrize(
    ("weights", "bar", "said"),
    [
        (10.0, "#####+....", "# 10.0 weights  + 2.0 engine  . 8.0 KV cache  of 20.0 GB"),
        (28.0, "#########+", "# 28.0 weights  + 2.0 engine  but only 20.0 GB"),
        (None, "", "20.0 GB for weights of unknown size"),
    ],
)
def test_the_bar_shows_how_the_memory_is_shared(weights: float | None, bar: str, said: str) -> None:
    figures = replace(FIGURES, weights_in_gb=weights)
    assert memory_bar(figures, 10, ascii_only=True).plain == bar
    assert legend(figures, ascii_only=True).plain == said


class ManyEndpoints:
    """An account with a quota, and with endpoints over one and over several types."""

    def __init__(self, quota: int, endpoints: int) -> None:
        self.quota, self.endpoints, self.described = quota, endpoints, 0

    def __call__(self, service: str) -> "ManyEndpoints":
        return self

    @property
    def meta(self) -> Any:
        return type("Meta", (), {"region_name": "eu-west-1"})

    def get_caller_identity(self) -> Any:
        return {"Account": "111122223333"}

    def get_paginator(self, operation: str) -> Any:
        pages: dict[str, list[Any]] = {
            "list_service_quotas": [
                {"Quotas": [{"QuotaName": "ml.g6.2xlarge for endpoint usage", "Value": self.quota}]}
            ],
            "list_endpoints": [
                {"Endpoints": [{"EndpointName": f"other-{n}", "EndpointStatus": "InService"}]}
                for n in range(self.endpoints)
            ],
        }

        def paginate(PaginationConfig: Any = None, **request: Any) -> Any:
            return pages[operation][: (PaginationConfig or {}).get("MaxItems")]

        return type("Paginator", (), {"paginate": staticmethod(paginate)})

    def describe_endpoint(self, EndpointName: str) -> Any:
        self.described += 1
        pools = [{"InstanceType": "ml.g6.2xlarge", "CurrentInstanceCount": 1}, {"InstanceType": "ml.g5.2xlarge"}]
        return {"ProductionVariants": [{"VariantName": "v", "CurrentInstanceCount": 1, "InstancePools": pools}]}


def test_instances_of_pools_count_against_the_quota_of_their_type(write: Any) -> None:
    result = check_file(Path(write(HEALTHY)), ())
    assert result.deployment
    (finding,) = service_quota(result.deployment, result.report, Account(ManyEndpoints(4, 3)))
    assert (finding.level, finding.field) == ("warning", "hosting.instance_type")
    assert "may run 4 for endpoints in eu-west-1, of which other endpoints use 3; an update" in finding.message
    many = ManyEndpoints(400, 300)
    assert list(service_quota(result.deployment, result.report, Account(many))) == []
    assert many.described == 100, "that many calls would take minutes"


def test_an_update_in_batches_needs_room_for_one_batch_more(write: Any) -> None:
    hosting = {**HEALTHY["hosting"], "instance_count": {"min": 4, "max": 4}, "rollout": {"rolling": {"batch": 1}}}
    result = check_file(Path(write({**HEALTHY, "hosting": hosting})), ())
    assert result.deployment
    (finding,) = service_quota(result.deployment, result.report, Account(ManyEndpoints(4, 0)))
    assert "an update needs one more batch, 1, and would fail" in finding.message
    assert "ask Service Quotas for 5 of" in finding.message
    assert list(service_quota(result.deployment, result.report, Account(ManyEndpoints(5, 0)))) == []
