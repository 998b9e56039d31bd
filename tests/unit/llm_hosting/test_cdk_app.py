"""The command that runs a project's CDK app is that of its cdk.json, with an interpreter of our choice."""

import json
from pathlib import Path

import pytest

from llm_hosting.cdk_app import CdkAppError, cdk_app


def app_of(project: Path, cdk_json: object) -> list[str]:
    (project / "cdk.json").write_text(json.dumps(cdk_json))
    return cdk_app(project, {}, project / "out", "/env/bin/python").command


@pytest.mark.parametrize(
    ("app", "words"),
    [
        ("python3 app.py", "{}/app.py"),
        ("/usr/bin/python3.12 app.py --fast", "{}/app.py --fast"),
        ("./app.py", "{}/app.py"),
        ("uv run app.py", "{}/app.py"),
        ("uv run python -m infra.app", "-m infra.app"),
        (None, "{}/app.py"),
    ],
)
def test_a_python_script_is_run_by_the_chosen_interpreter(app: str | None, words: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").touch()
    assert app_of(tmp_path, {"app": app}) == ["/env/bin/python", *words.format(tmp_path).split()]


@pytest.mark.parametrize(
    "app", ["npx ts-node bin/app.ts", "cdk.out", "python3", "STAGE=dev python3 app.py", "make && python3 app.py", ["x"]]
)
def test_what_is_no_python_script_is_refused_in_one_sentence(app: object, tmp_path: Path) -> None:
    with pytest.raises(CdkAppError) as refused:
        app_of(tmp_path, {"app": app})
    assert str(refused.value) == (
        f'{tmp_path}/cdk.json: app: {app!r} can\'t be run by Slipway; write it as "python3 app.py".'
    )


def test_our_context_is_added_to_that_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "cdk.json").write_text('{"context": {"flag": true, "deployment": "one"}}')
    made = cdk_app(tmp_path, {"deployment": "two"}, tmp_path / "out")
    assert json.loads(made.environment["CDK_CONTEXT_JSON"]) == {"flag": True, "deployment": "two"}


def test_without_node_the_app_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CdkAppError, match=r"^The CDK needs Node\.js, which is not on the PATH: "):
        app_of(tmp_path, {})


@pytest.mark.parametrize("cdk_json", ["[]", "{"])
def test_a_cdk_json_that_can_not_be_read_is_named(cdk_json: str, tmp_path: Path) -> None:
    (tmp_path / "cdk.json").write_text(cdk_json)
    with pytest.raises(CdkAppError, match=rf"^{tmp_path}/cdk\.json (is not valid JSON|holds no JSON object)"):
        cdk_app(tmp_path, {}, tmp_path / "out")
