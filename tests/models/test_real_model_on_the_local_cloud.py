"""`slipway local <deployment> --real <folder>`: the folder's model answers behind the API of each hosting mode."""

import json
import re
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
QWEN = "Qwen/Qwen3-4B"
CHAT = {"messages": [{"role": "user", "content": "What is a class?"}], "max_tokens": 12, "temperature": 0}


class Running(NamedTuple):
    """A local cloud: its port, what the command printed, the URL of the page that signs calls."""

    port: int
    printed: str
    page: str

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_slipway/{path}", timeout=60) as answer:
            return json.load(answer)

    def call(self, path: str, body: dict[str, Any]) -> str:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.page + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return str(answer.read().decode())


@contextmanager
def running(deployment: str, weights: Path) -> Iterator[Running]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    python, options = str(ROOT / ".venv/bin/python"), ["--port", str(port), "--real", str(weights)]
    command = [python, "-m", "slipway", "local", deployment, *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        printed = ""
        for line in process.stdout:
            printed += line
            if "Ctrl-C stops it" in line:
                break
        try:
            page = re.search("^playground  (.*)$", printed, re.MULTILINE)
            assert page, printed
            yield Running(port, printed, page[1])
        finally:
            process.terminate()
            process.communicate()


def test_a_real_time_endpoint_answers_chats_texts_streams_and_jobs(weights: Path) -> None:
    with running("qwen3-4b", weights) as cloud:
        assert f"model     {weights}, a real model in place of {QWEN}\n" in cloud.printed
        config = urllib.request.urlopen(f"{cloud.page}playground/config.json", timeout=60)
        assert json.load(config)["answered_by"] == f"{weights} answers in place of the model"
        whole = json.loads(cloud.call("chat/completions", {"model": QWEN, **CHAT}))
        text = whole["choices"][0]["message"]["content"]
        assert (whole["usage"]["completion_tokens"], whole["choices"][0]["finish_reason"]) == (12, "length")
        streamed = cloud.call("chat/completions", {"model": QWEN, **CHAT, "stream": True})
        chunks = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
        pieces = [each["choices"][0]["delta"].get("content") or "" for each in chunks if each["choices"]]
        assert ("".join(pieces), len([each for each in pieces if each]) > 3) == (text, True)
        own = json.loads(cloud.call("generate", {"inputs": "The class", "parameters": {"max_new_tokens": 6}}))
        again = {"model": QWEN, "prompt": "The class", "max_tokens": 6, "temperature": 0}
        assert json.loads(cloud.call("completions", again))["choices"][0]["text"] == own["generated_text"]
        job = json.loads(cloud.call("jobs?wait=25", {"inputs": "The class", "parameters": {"max_new_tokens": 6}}))
        assert job["output"] == own


def test_an_asynchronous_endpoint_answers_jobs(weights: Path, tmp_path: Path) -> None:
    deployment = yaml.safe_load((ROOT / "deployments/gpt2.yaml").read_text())
    deployment["hosting"] = {"mode": "async", "instance_type": deployment["hosting"]["instance_type"]}
    (tmp_path / "gpt2-async.yaml").write_text(yaml.safe_dump(deployment))
    with running(str(tmp_path / "gpt2-async.yaml"), weights) as cloud:
        body = {"inputs": "The class", "parameters": {"max_new_tokens": 6}}
        first, second = (json.loads(cloud.call("jobs?wait=25", body))["output"] for _ in range(2))
        assert first == second
        assert first[0]["generated_text"]


def test_a_machine_runs_the_worker_that_it_gets_on_aws(weights: Path) -> None:
    with running("gpt2-ec2", weights) as cloud:
        assert re.search(r"answer +200: .", cloud.printed), cloud.printed
        (machine,) = cloud.get("machines")
        model = str(machine["services"]["slipway-model"])
        program = subprocess.run(["ps", "-o", "command=", "-p", model], stdout=subprocess.PIPE, text=True).stdout
        assert program.startswith(f"{ROOT}/.venv-models/bin/python ")


def test_a_model_that_is_not_causal_is_refused_in_one_sentence(weights: Path, tmp_path: Path) -> None:
    for each in weights.iterdir():
        (tmp_path / each.name).symlink_to(each)
    (tmp_path / "config.json").unlink()
    config = json.loads((weights / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": ["GPT2ForTokenClassification"]}))
    with pytest.raises(AssertionError) as found, running("qwen3-4b", tmp_path):
        pass
    reason = "GPT2ForTokenClassification is no causal language model of transformers"
    assert f"--real: {tmp_path} can't be loaded: {reason}; name another model.\n" in str(found.value)
