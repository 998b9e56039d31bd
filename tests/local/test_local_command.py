"""`python -m slipway local` as its user meets it: what it prints, Ctrl-C, kill -9, a taken port, wrong names."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from local_cloud.assembly import ROOT
from local_cloud.cloud import free_port

PATIENCE_IN_SECONDS = 90


def start(deployment: str, port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "slipway", "local", deployment, "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return "".join(lines)
    raise AssertionError(f"ended without saying {words!r}:\n{''.join(lines)}")


def family_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Every process that it started, directly or not."""
    return psutil.Process(process.pid).children(recursive=True)


def assert_gone(family: list[psutil.Process]) -> None:
    _, left = psutil.wait_procs(family, timeout=15)
    assert left == []


@pytest.fixture
def running() -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = start("gpt2", free_port())
    try:
        yield process, read_until(process, "Ctrl-C stops it")
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def test_it_prints_an_answer_and_curl_lines_that_work_and_ctrl_c_leaves_nothing_behind(
    running: tuple[subprocess.Popen[str], str],
) -> None:
    process, printed = running
    assert "question" in printed
    assert "answer    200" in printed
    curls = [line for line in printed.splitlines() if line.startswith("curl ")]
    answers = [
        json.loads(subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout)
        for line in curls
    ]
    assert answers[0][0]["generated_text"]
    assert answers[1]["status"] == "InService"
    family = family_of(process)
    assert len(family) >= 3, "the emulator, a model and a function"
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_IN_SECONDS) == 0
    assert_gone(family)


def test_kill_9_leaves_nothing_behind(running: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = running
    family = family_of(process)
    assert family
    process.kill()
    assert_gone(family)


def test_a_crash_of_the_emulator_is_told_in_one_sentence(running: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = running
    family = family_of(process)
    (emulator,) = (each for each in family if "local_cloud.emulator" in each.cmdline())
    emulator.kill()
    assert process.wait(PATIENCE_IN_SECONDS) == 1
    assert process.stdout
    assert "The emulator ended unexpectedly" in process.stdout.read()
    assert_gone(family)


def test_a_taken_port_is_told_in_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = subprocess.run(
            [sys.executable, "-m", "slipway", "local", "gpt2", "--port", str(port)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    assert result.returncode == 1
    assert f"Port {port} on 127.0.0.1 is taken" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_deployment_lists_the_known_ones() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "slipway", "local", "gpt9", "--port", str(free_port())],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert "with gpt2, qwen3-4b" in result.stderr
    assert "Traceback" not in result.stderr
