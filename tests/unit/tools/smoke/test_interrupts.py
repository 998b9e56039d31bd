"""Ctrl-C and kill -9 during `make smoke`, with real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from support.patience import wait_for
from support.repository import ROOT

WAITS = """
from tools.smoke.asking.place import Place
from tools.smoke.asking.stop import Stop
from tools.smoke.run import Interrupts
import time
stop = Stop()
with Interrupts(stop, Place("us-east-1", "111122223333", is_local=False)):
    print("ready", flush=True)
    while not stop.is_set:
        time.sleep(0.01)
    print(stop.reason, flush=True)
    time.sleep(60)
"""
DEPLOYS = """
import os
from pathlib import Path
from tools.smoke.asking.cdk import run_on_leash
from tools.smoke.asking.stop import Stop
run_on_leash([str(Path.cwd() / "cdk")], dict(os.environ), Path("log"), Stop())
"""
NOWHERE = "http://127.0.0.1:9"  # a port at which nobody answers


def python(code: str, folder: Path) -> "subprocess.Popen[str]":
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_MAX_ATTEMPTS": "1"}
    environment = os.environ | keys | {"AWS_ENDPOINT_URL": NOWHERE, "PYTHONPATH": str(ROOT)}
    out = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=environment, stdout=out, stderr=out, text=True
    )


def test_the_second_ctrl_c_ends_at_once_and_says_how_to_remove_the_rest(tmp_path: Path) -> None:
    with python(WAITS, tmp_path) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert "stopped by SIGTERM" in (
            process.stdout.readline() + process.stdout.readline() + process.stdout.readline()
        )
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "To remove it: AWS_REGION=us-east-1 make smoke CLEAN=1"
    assert "left: not known, as AWS was asked in vain for stacks" in said


def test_a_run_whose_reader_has_gone_hears_ctrl_c(tmp_path: Path) -> None:
    told = WAITS.replace("print(stop.reason, flush=True)", "open('heard', 'w').write(stop.reason); raise SystemExit")
    with python(told, tmp_path) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.stdout.close()  # as `| tee` does, which Ctrl-C ends, too
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    assert (tmp_path / "heard").read_text() == "stopped by SIGINT"
    assert process.returncode == 0


def test_nohup_is_respected(tmp_path: Path) -> None:
    told = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{WAITS}"
    with python(told, tmp_path) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() + process.stdout.readline() == (
            "\nSIGTERM: removing everything. The same again leaves it where it is.\n"
        )
        process.kill()


def test_the_cdk_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    cdk, started = tmp_path / "cdk", tmp_path / "pid"
    cdk.write_text(f"#!/bin/sh\ntrap '' TERM\nsleep 60 &\necho $! > {started}.new; mv {started}.new {started}\nwait\n")
    cdk.chmod(0o755)
    with python(DEPLOYS, tmp_path) as process:
        wait_for(lambda: started.exists() or None, "the CDK")
        process.kill()
    pid = int(started.read_text())
    wait_for(lambda: not _runs(pid) or None, "the end of what the CDK has started")


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
