"""docs/own-facts.md: its examples are files of a project, which a check uses and shows as the user's own."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.instances import ec2_instances
from llm_hosting.catalog.laws import demand_own_rows
from llm_hosting.home import HOME
from llm_hosting.project import use_project
from slipway.__main__ import main
from slipway.checking import check
from support.own_project import own_project

PAGE = (HOME / "docs" / "own-facts.md").read_text()
FILES = ("engines/vllm.json", "models.json", "instances.json")
DEPLOYMENT, *_ = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
CATALOG = dict(zip(FILES, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL), strict=True))
(RULES,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def checked(project: Path, text: str, capsys: pytest.CaptureFixture[str], as_json: bool = False) -> str:
    (project / "deployments").mkdir(exist_ok=True)
    (project / "deployments" / "chat.yaml").write_text(text)
    check.run(["chat"], project, check.CheckOptions(as_json=as_json, verbose=True))
    return capsys.readouterr().out


def test_the_pages_newer_version_is_reported_as_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report: dict[str, Any] = json.loads(checked(tmp_path, DEPLOYMENT, capsys, as_json=True))
    (found,) = (each for each in report["findings"] if each["rule"] == "version-is-in-catalog")
    shown = " ".join(PAGE.split())
    assert f"serving.version: {found['problem']}." in shown
    assert (report["verdict"], report["yours"]) == ("ready", [])


def test_the_pages_files_are_used_and_shown_as_yours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with own_project(tmp_path, CATALOG, RULES):
        demand_own_rows()
        assert ec2_instances()["c9a.2xlarge"].computes_bf16
        report: dict[str, Any] = json.loads(checked(tmp_path, DEPLOYMENT, capsys, as_json=True))
        assert report["yours"] == [
            "Qwen/Qwen3-4B (catalog/models.json)",
            "vllm 0.99.0 (catalog/engines/vllm.json)",
            "ml.g6.2xlarge (catalog/instances.json)",
            "rule instances-stay-cheap (rules.py)",
            "rule callers-are-known (rules.py)",
        ]
        assert report["image"] == "vllm:0.99.0-gpu-py313-cu131-ubuntu24.04-sagemaker"
        assert report["figures"][0]["usd_per_hour"] == 0.98
        assert report["verdict"] == "ready"
        page = checked(tmp_path, DEPLOYMENT.replace("ml.g6.2xlarge", "ml.g99.2xlarge"), capsys)
        assert re.search(r"yours +Qwen/Qwen3-4B \(catalog/models.json\), vllm 0.99.0", page)
        assert "instances-stay-cheap: No instance costs more than 5 USD an hour." in page
        assert "1 x NVIDIA L99" in page


@pytest.mark.parametrize(("name", "refused"), [("qwen3-4b", []), ("bloom-176b", ["instances-stay-cheap"])])
def test_the_pages_rule_refuses_only_what_breaks_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, refused: list[str]
) -> None:
    with own_project(tmp_path, {}, RULES):
        text = (HOME / "deployments" / f"{name}.yaml").read_text()
        report: dict[str, Any] = json.loads(checked(tmp_path, text, capsys, as_json=True))
    assert [each["rule"] for each in report["findings"] if each["level"] == "error"] == refused


def test_rows_and_rules_are_those_around_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with own_project(tmp_path, CATALOG, RULES):
        (file := tmp_path / "deployments" / "chat.yaml").write_text(DEPLOYMENT)
    monkeypatch.chdir(HOME)
    monkeypatch.setattr(sys, "argv", ["slipway", "check", str(file), "--json"])
    try:
        with pytest.raises(SystemExit):
            main()
    finally:
        use_project(None)
    assert "vllm 0.99.0 (catalog/engines/vllm.json)" in json.loads(capsys.readouterr().out)["yours"]


def test_the_pages_error_is_the_one_that_a_wrong_row_gets(tmp_path: Path) -> None:
    wrong = CATALOG["engines/vllm.json"].replace("13.1", "12.9")
    with own_project(tmp_path, {"engines/vllm.json": wrong}), pytest.raises(Exception) as refusal:  # noqa: PT011
        demand_own_rows()
    assert f"`{refusal.value}`" in PAGE
