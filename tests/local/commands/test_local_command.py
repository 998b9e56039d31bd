"""`slipway local`: output, the lines to paste, Ctrl-C, kill -9, region, taken port, unknown deployment."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import psutil
import pytest
import requests

from llm_hosting.preflight.validation import load
from llm_hosting.sources import handler_names
from local_cloud.cloud import ACCOUNT, LocalCloud, LocalCloudError, free_port
from local_cloud.deploy import BUCKET
from slipway.local.question import QUESTIONS, question_for
from support.repository import ROOT

GPT2 = ROOT / "deployments" / "gpt2.yaml"
PATIENCE_IN_SECONDS = 180


def start(deployment: str, port: int, *options: str, temporary: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "slipway", "local", deployment, "--port", str(port), *options],
        cwd=ROOT,
        env=os.environ | ({"TMPDIR": str(temporary)} if temporary else {}),
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
    """Return all descendants of a process."""
    return psutil.Process(process.pid).children(recursive=True)


def emulator_of(process: subprocess.Popen[str]) -> psutil.Process:
    (emulator,) = (each for each in psutil.Process(process.pid).children() if "local_cloud.emulator" in each.cmdline())
    return emulator


def assert_gone(family: list[psutil.Process]) -> None:
    _, left = psutil.wait_procs(family, timeout=60)
    assert left == []


@contextmanager
def started(deployment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; return it with its output once it has printed its answer."""
    process = start(deployment, free_port())
    try:
        yield process, read_until(process, "Ctrl-C stops it")
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.fixture
def running() -> Iterator[tuple[subprocess.Popen[str], str]]:
    with started("gpt2") as process_and_words:
        yield process_and_words


def test_it_prints_an_answer_and_curl_lines_that_work_and_ctrl_c_leaves_nothing_behind(
    running: tuple[subprocess.Popen[str], str],
) -> None:
    process, printed = running
    assert "question" in printed
    assert "answer    200" in printed
    assert "model     a small text generator stands in for openai-community/gpt2" in printed
    assert "  cost      nothing here; on AWS about 1.41 USD an hour" in printed
    curls = [line for line in printed.splitlines() if line.startswith("curl ")]
    answers = [
        json.loads(subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout)
        for line in curls
    ]
    assert answers[0][0]["generated_text"]
    assert answers[1]["output"][0]["generated_text"]
    assert answers[2]["status"] == "InService"
    exports = [line for line in printed.splitlines() if line.startswith("eval ")]
    assert called_as_documented(exports)[0]["generated_text"]
    (verify,) = (line for line in printed.splitlines() if line.startswith("slipway verify "))
    assert "FAILED" not in pasted(*exports, f"{verify} 2>&1")
    asked = pasted(*exports, "slipway doctor gpt2")
    assert asked.startswith(" READY  gpt2: ")
    assert "on the local cloud at http://127.0.0.1:" in " ".join(asked.split())
    assert pasted(*exports, 'slipway call gpt2 "A list is" --max-tokens 3').strip()
    (page,) = re.findall("^playground  (http://127.0.0.1:.*/)$", printed, re.MULTILINE)
    assert "<title>Slipway playground</title>" in requests.get(page, timeout=30).text
    config = requests.get(f"{page}playground/config.json", timeout=30).json()
    assert config["answered_by"] == "a text generator answers in place of the model"
    (document,) = re.findall("^openapi     (http://127.0.0.1:.*)$", printed, re.MULTILINE)
    assert "/jobs/{id}" in requests.get(document, timeout=30).json()["paths"]
    assert requests.post(f"{page}generate", json={"inputs": "A list is"}, timeout=60).json()[0]["generated_text"]
    family = family_of(process)
    assert len(family) >= 3, "the emulator, a model and a function"
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_IN_SECONDS) == 0
    assert_gone(family)


def called_as_documented(exports: list[str]) -> Any:
    """Run these lines and the curl line of docs/api.md, with a body for GPT-2, in a shell, and return the answer."""
    text = (ROOT / "docs" / "api.md").read_text()
    (line,) = re.findall(r'^curl -sS --aws-sigv4 "aws:amz:\$AWS_REGION.*?generate"$', text, re.MULTILINE | re.DOTALL)
    line = re.sub("-d '.*?'", """-d '{"inputs": "A list is"}'""", line)
    return json.loads(pasted(*exports, line))


def pasted(*lines: str) -> str:
    """Run lines in a shell with the activated environment and without credentials, and return the output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return subprocess.run(
        ["bash", "-ec", "\n".join(lines)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def test_an_update_says_what_it_waits_for_and_how_to_skip_it(running: tuple[subprocess.Popen[str], str]) -> None:
    process, printed = running
    (url,) = set(re.findall(r"(http://127\.0\.0\.1:\d+)/_aws/", printed))
    key = {"aws_access_key_id": ACCOUNT, "aws_secret_access_key": "any", "region_name": "us-east-1"}
    cloudformation, s3 = (boto3.client(name, endpoint_url=url, **key) for name in ("cloudformation", "s3"))
    template = cloudformation.get_template(StackName="gpt2")["TemplateBody"]
    models = (each for each in template["Resources"].values() if each["Type"] == "AWS::SageMaker::Model")
    next(models)["Properties"]["PrimaryContainer"]["Environment"]["MAX_CONCURRENT_REQUESTS"] = "64"
    bucket = BUCKET.format(region="us-east-1")
    s3.put_object(Bucket=bucket, Key="changed.json", Body=json.dumps(template))
    where = f"https://s3.us-east-1.amazonaws.com/{bucket}/changed.json"
    cloudformation.update_stack(StackName="gpt2", TemplateURL=where, Capabilities=["CAPABILITY_IAM"])
    said = read_until(process, "/_slipway/clock")
    assert "its alarms are watched for 300 s with old and new instances" in said
    pasted(said.splitlines()[-1])
    cloudformation.get_waiter("stack_update_complete").wait(StackName="gpt2", WaiterConfig={"Delay": 1})


def test_kill_9_leaves_nothing_behind(running: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = running
    family = family_of(process)
    assert family
    process.kill()
    assert_gone(family)


def test_a_machine_of_ec2_answers_as_published_and_dies_with_the_command() -> None:
    with started("gpt2-ec2") as (process, printed):
        assert "answer    200" in printed
        curls = [line for line in printed.splitlines() if line.startswith("curl ")]
        assert '"num_samples": 2' in curls[0]
        answers = [json.loads(pasted(line)) for line in curls]
        assert len(answers[0]) == 2
        assert answers[1]["status"] == "succeeded"
        assert (answers[2]["status"], answers[2]["mode"]) == ("InService", "ec2")
        family = family_of(process)
        assert any("local_cloud.machine" in each.cmdline() for each in family)
        process.kill()
        assert_gone(family)


@pytest.mark.parametrize(
    ("deployment", "kind"),
    [
        ("bge-small", "embeddings"),
        ("qwen3-4b", "messages"),  # its engine also takes text
        ("qwen3-0-6b-ec2", "messages"),
        ("gpt2", "inputs"),
        ("gpt2-ec2", "prompt"),  # its engine takes chats, but GPT-2 has no chat template
        ("flan-t5-xxl-tgi", "inputs"),
    ],
)
def test_the_first_request_is_a_chat_if_the_model_takes_chats(deployment: str, kind: str) -> None:
    resolution, _ = load(ROOT / "deployments" / f"{deployment}.yaml", handler_names(ROOT))
    takes_chats = bool(resolution.openai_facts.get("chat_template"))
    assert question_for(resolution, takes_chats=takes_chats) is QUESTIONS[kind]


def test_a_real_model_that_cannot_be_used_is_refused_in_one_sentence(tmp_path: Path) -> None:
    process = start("gpt2", free_port(), "--real", str(tmp_path))
    assert process.stdout
    *_, line = process.stdout.read().splitlines()
    process.stdout.close()
    assert line == f"--real: {tmp_path} holds no Hugging Face model (config.json is missing); name its folder."
    assert process.wait(PATIENCE_IN_SECONDS) == 1


def test_kill_9_while_the_emulator_starts_frees_its_port_and_leaves_no_log(tmp_path: Path) -> None:
    process = start("gpt2", port := free_port(), temporary=tmp_path)
    read_until(process, "synthesizing gpt2")
    emulator = emulator_of(process)
    process.kill()
    process.wait()
    assert process.stdout
    process.stdout.close()
    assert_gone([emulator])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))
    assert not list(tmp_path.glob("slipway-local-cloud-*.log"))


def test_a_crash_of_the_emulator_is_reported_in_one_sentence(running: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = running
    family = family_of(process)
    emulator_of(process).kill()
    assert process.wait(PATIENCE_IN_SECONDS) == 1
    assert process.stdout
    assert "The emulator ended unexpectedly" in process.stdout.read()
    assert_gone(family)


def test_a_crash_of_the_emulator_during_the_deploy_is_reported_in_one_sentence() -> None:
    process = start("gpt2", free_port())
    read_until(process, "deploying gpt2")
    emulator_of(process).kill()
    assert process.stdout
    said = process.stdout.read()
    process.stdout.close()
    assert process.wait(PATIENCE_IN_SECONDS) == 1
    assert "The emulator ended unexpectedly" in said
    assert "Traceback" not in said


def test_the_clock_runs_as_fast_as_it_is_told() -> None:
    process = start("gpt2", free_port(), "--clock-speed", "30")
    read_until(process, "starting the emulator")
    assert float(emulator_of(process).environ()["SLIPWAY_LOCAL_CLOCK_SPEED"]) == 30
    process.kill()
    process.wait()
    assert process.stdout
    process.stdout.close()


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "1001", "nan"])
def test_an_invalid_clock_speed_is_refused(speed: str) -> None:
    process = start("gpt2", free_port(), f"--clock-speed={speed}")
    assert process.stdout
    assert f"'{speed}' must be a number from 1 to 1000" in process.stdout.read()
    process.stdout.close()
    assert process.wait(PATIENCE_IN_SECONDS) == 2


def test_a_taken_port_is_reported_in_one_sentence() -> None:
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


class _Answering(BaseHTTPRequestHandler):
    """Answers and records every path, as another local cloud on that port would."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_POST = do_GET


def test_another_server_on_the_port_is_not_taken_for_the_emulator() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answering) as holder:
        threading.Thread(target=holder.serve_forever).start()
        try:
            with pytest.raises(LocalCloudError, match="is taken"), LocalCloud(port=holder.server_port) as cloud:
                cloud.wait_until_ready()
        finally:
            holder.shutdown()
    assert _Answering.asked == []


def test_a_deployment_that_names_its_region_is_deployed_there(tmp_path: Path) -> None:
    (path := tmp_path / "european.yaml").write_text(f"{GPT2.read_text()}region: eu-west-1\n")
    with started(str(path)) as (_, printed):
        assert "answer    200" in printed
        (line,) = (line for line in printed.splitlines() if line.startswith("eval "))
        assert pasted(line, "echo $AWS_REGION $AWS_DEFAULT_REGION") == "eu-west-1 eu-west-1\n"


def test_several_deployments_run_side_by_side_and_each_answers(tmp_path: Path) -> None:
    small = (ROOT / "tests" / "deployments" / "jobs-off.yaml").read_text()
    (path := tmp_path / "european.yaml").write_text(f"{small}region: eu-west-1\n")
    with started(f"tests/deployments/jobs-off.yaml,{path}") as (_, printed):
        assert printed.count("answer    200") == 2
        (variables,) = (line for line in printed.splitlines() if line.startswith("eval "))
        for verify in ("slipway verify jobs-off", "slipway verify european --region eu-west-1"):
            assert verify in printed.splitlines()
            assert "FAILED" not in pasted(variables, verify)
        pages = re.findall("^playground  (http://127.0.0.1:.*/)$", printed, re.MULTILINE)
        assert [requests.get(f"{page}endpoint", timeout=60).json()["status"] for page in pages] == ["InService"] * 2


def test_an_unknown_deployment_is_offered_the_nearest() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "slipway", "local", "gpt9", "--port", str(free_port())],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert "There is no deployment 'gpt9'. Did you mean gpt2?" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_taken_port_of_the_page_is_reported_before_anything_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "slipway", "local", "gpt2", "--playground-port", str(port)]
        outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 1
    said = f"Port {port} on 127.0.0.1 can't be used: another program uses it; name another with --playground-port.\n"
    assert outcome.stderr == said
