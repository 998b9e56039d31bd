"""machine/setup.sh as a real process; the machine's commands are stand-ins that record their calls."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from local_cloud.machine.unit_file import UnitFile
from support.repository import ROOT

COMMANDS = ("dnf", "amazon-cloudwatch-agent-ctl", "systemctl", "python3.11", "id", "useradd", "curl", "sleep")
# `-m venv FOLDER` makes a Python that records its own calls and one of its variables.
RECORD = """#!/bin/bash
echo "$(basename "$0") $*" >>"$CALLS"
case "$*" in
  "$FAILING"*) exit 3 ;;
  "-u slipway"*) exit 1 ;;
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  "restart slipway-worker.service") printf '%s\n' "$WORKER_LOG" >>"$SLIPWAY_HOME/log/worker.log" ;;
  *generation.prepare) printf '%s' "$RULES" >"$CALLS.rules"; printf '%s' "$PYTHONPATH" >"$CALLS.path" ;;
esac
"""
READY = '{"machine": 0, "state": "idle"}'
RULES = '{"bodies": ["inputs"], "at most": "$5 & `x`"}'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make $SLIPWAY_HOME as the user data leaves it."""
    home = tmp_path / "opt" / "slipway"  # not the default, which is also part of it
    shutil.copytree(ROOT / "model_src" / "machine", home / "machine")
    (home / "environment").write_text(
        f"MODEL_ID=openai-community/gpt2\nLOG_GROUP=/slipway/gpt2\nRULES={RULES}\n# no=variable\n"
    )
    (home / "log").mkdir()
    (home / "log" / "model.log").write_text("no module named torch\n")
    (home / "log" / "worker.log").write_text(f"{READY}\n")  # from an earlier worker
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in COMMANDS:
        (commands / name).write_text(RECORD)
        (commands / name).chmod(0o755)
    return home


def set_up(home: Path, failing: str = "nothing", worker: str = READY) -> tuple[int, list[str]]:
    """Run the set-up; returns the exit status and all calls. `worker`: text that the worker logs."""
    status, _, calls = run(home, failing, worker)
    return status, calls


def run(home: Path, failing: str, worker: str) -> tuple[int, str, list[str]]:
    """Run the set-up; returns the exit status, the output and all calls."""
    calls = home.parent / "calls"
    calls.write_text("")
    path = f"{home.parent.parent / 'commands'}:/usr/bin:/bin"
    values = {"CALLS": str(calls), "FAILING": failing, "WORKER_LOG": worker}
    environment = {"SLIPWAY_HOME": str(home), "PATH": path} | values
    done = subprocess.run(["bash", home / "machine" / "setup.sh"], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, calls.read_text().splitlines()


def test_the_model_starts_after_it_has_answered_and_the_worker_after_its_server_has(home: Path) -> None:
    status, calls = set_up(home)
    assert status == 0
    units = "slipway-model.service slipway-worker.service"
    expected = [
        "dnf install",
        "python -m pip",
        "python -P -m generation.prepare",
        "useradd",
        f"systemctl enable {units}",
    ]
    expected += ["systemctl restart slipway-model.service", "curl ", "systemctl restart slipway-worker.service"]
    places = [next(place for place, call in enumerate(calls) if call.startswith(start)) for start in expected]
    assert places == sorted(places)
    assert "--require-hashes" in calls[places[1]]
    for unit in units.split():
        assert f"systemctl link {home}/{unit}" in calls
        assert f"={home}/venv/bin/python -P -m " in (home / unit).read_text()


def test_the_set_up_can_run_twice(home: Path) -> None:
    first, units = set_up(home), (home / "slipway-worker.service").read_text()
    assert (set_up(home), (home / "slipway-worker.service").read_text()) == (first, units)


def test_variables_reach_the_services_unchanged(home: Path) -> None:
    set_up(home)
    assert (home.parent / "calls.rules").read_text() == RULES
    assert (home.parent / "calls.path").read_text() == str(home)


def test_the_agent_sends_each_log_to_the_log_group(home: Path) -> None:
    set_up(home)
    config = json.loads((home / "cloudwatch-agent.json").read_text())
    logs = config["logs"]["logs_collected"]["files"]["collect_list"]
    assert {each["log_group_name"] for each in logs} == {"/slipway/gpt2"}
    assert {each["file_path"] for each in logs} == {
        str(home / "log" / f"{name}.log") for name in ("setup", "model", "worker")
    }
    written = "".join((home / f"slipway-{name}.service").read_text() for name in ("model", "worker"))
    assert all(f"append:{home}/log/{name}.log" in written for name in ("model", "worker"))


@pytest.mark.parametrize("failing", ["install", "-m venv", "-m pip", "-P -m generation.prepare", "restart", "-fsS"])
def test_a_step_that_fails_ends_the_set_up(home: Path, failing: str) -> None:
    status, calls = set_up(home, failing)
    assert status != 0
    assert failing in calls[-1]


@pytest.mark.slow
def test_the_set_up_fails_with_the_log_of_a_model_or_worker_that_does_not_start(home: Path) -> None:
    status, output, _ = run(home, "-fsS", READY)
    assert status != 0
    assert output.endswith("slipway-model.service did not become ready. The end of its log:\nno module named torch\n")
    denied = '{"machine": 0, "cause": "AccessDeniedException"}'
    status, output, _ = run(home, "nothing", denied)
    assert status != 0
    assert output.endswith(f"{denied}\n")


def test_the_model_can_not_reach_into_the_worker(home: Path) -> None:
    _, calls = set_up(home)
    users = [
        next(line for line in (home / f"slipway-{name}.service").read_text().splitlines() if line.startswith("User="))
        for name in ("model", "worker")
    ]
    made = [call.split()[-1] for call in calls if call.startswith("useradd ")]
    assert sorted(users) == [f"User={name}" for name in sorted(made)]
    assert len(set(users)) == 2


def test_a_service_that_fails_at_each_start_fills_no_disk(home: Path) -> None:
    set_up(home)
    for name in ("model", "worker"):
        unit, log = UnitFile.read(home / f"slipway-{name}.service"), home / "log" / f"{name}.log"
        for mebibytes, left in ((99, 99), (101, 0)):
            os.truncate(log, mebibytes * 2**20)
            for command in unit.commands("ExecStartPre", {}):
                subprocess.run(command, check=True)
            assert log.stat().st_size == left * 2**20


def test_the_lock_holds_all_that_torch_needs() -> None:
    """torch.txt is edited by hand, without dependencies; the lock must have them, with the hashes that pip demands."""
    locked = (ROOT / "model_src" / "machine" / "requirements.txt").read_text().splitlines()
    names = {line.partition("==")[0] for line in locked if "==" in line}
    assert names >= {"filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions"}
    assert names >= {"botocore", "huggingface-hub", "safetensors", "transformers"}
    assert not {name for name in names if name.startswith(("torch", "triton", "nvidia", "cuda"))}
