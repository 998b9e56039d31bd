"""A new user's first hour with nothing but the wheel: a project, its checks, an answer on this machine, a template."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from local_cloud.cloud import free_port
from package.conftest import Shell


@pytest.fixture(scope="module")
def project(shell: Shell) -> Shell:
    shell.run("slipway", "init", "p")
    project = replace(shell, folder=shell.folder / "p")
    project.run("git", "init", "--quiet")
    project.run("git", "add", "--all")
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    project.run("git", *author, "commit", "--quiet", "--message", "A project")
    return project


def test_nothing_of_this_checkout_is_imported(shell: Shell) -> None:
    names = ("slipway", "llm_hosting", "inference_api", "local_cloud", "slipway_stacks")
    program = f"import {', '.join(names)}; print(*(each.__file__ for each in ({', '.join(names)})), sep='\\n')"
    for file in shell.run("python", "-c", program).splitlines():
        assert Path(file).is_relative_to(shell.folder / "env")


def test_a_verb_for_the_checkout_says_so(shell: Shell) -> None:
    said = "`slipway reference` writes files of Slipway's own checkout; run it there.\n"
    assert shell.run("slipway", "reference", status=2) == said


def test_an_installed_slipway_has_the_runbook(shell: Shell) -> None:
    assert shell.run("slipway", "runbook", "dead-letters").startswith("### Dead letters\n")


def test_a_new_project_fits(project: Shell) -> None:
    assert project.run("slipway", "check", "chat").startswith(" READY  chat: ")


def served(project: Shell, *commands: str) -> str:
    """Run `slipway local chat` and, while it answers, commands in a shell with its variables; return all output."""
    port = free_port()
    with project.popen("slipway", "local", "chat", "--port", str(port)) as process:
        assert process.stdout
        printed = ""
        for line in process.stdout:
            printed += line
            if line.startswith("Ctrl-C stops it"):
                break
        else:
            pytest.fail(printed)
        try:
            variables = project.run("slipway", "env", "--port", str(port))
            printed += project.run("bash", "-ec", "\n".join((variables, *commands)))
        finally:
            process.send_signal(signal.SIGINT)
            printed += process.stdout.read()
    assert process.returncode == 0, printed
    return printed


def test_it_answers_on_this_machine(project: Shell) -> None:
    printed = served(project, "slipway verify chat 2>&1")
    assert "  answer    200: " in printed
    assert f"The local cloud's packages go into {project.variables['XDG_CACHE_HOME']}/slipway/cloud-" in printed
    assert "POST /jobs" in printed
    assert "FAILED" not in printed


def test_it_answers_beside_the_oldest_packages_that_we_allow(shell_of_the_oldest: Shell) -> None:
    shell_of_the_oldest.run("slipway", "init")
    printed = served(shell_of_the_oldest, "slipway verify chat 2>&1", "slipway diff chat --against stack 2>&1")
    assert "  answer    200: " in printed
    assert "FAILED" not in printed
    assert ": nothing changes" in printed


def test_a_change_is_told_and_a_changed_template_fails_the_projects_own_test(project: Shell) -> None:
    project.run("uv", "pip", "install", "--quiet", "--python", "../env", "-r", "requirements.txt")
    project.run("slipway", "snapshot")
    project.run("pytest", "-q")
    file = project.folder / "deployments/chat.yaml"
    file.write_text(file.read_text().replace("max_model_len: 8192", "max_model_len: 4096"))
    assert "OPTION_MAX_MODEL_LEN 8192 -> 4096" in project.run("slipway", "diff", "chat")
    assert "OPTION_MAX_MODEL_LEN" in project.run("pytest", "-q", status=1)
    project.run("git", "checkout", "--quiet", "deployments")


def test_the_cdks_command_synthesizes_it(project: Shell) -> None:
    project.run("npm", "ci", "--no-audit", "--no-fund", "--silent")
    project.run("npx", "cdk", "synth", "--quiet", "-c", "deployment=chat")
    template = json.loads((project.folder / "cdk.out/chat.template.json").read_text())
    assert "AWS::SageMaker::Endpoint" in {each["Type"] for each in template["Resources"].values()}


def test_render_writes_a_template_for_any_account(project: Shell) -> None:
    project.run("slipway", "render", "chat")
    assert (project.folder / "rendered/chat.template.yaml").is_file()
