"""Engines of the local cloud with a real model: greedy text, counts, stop sequences, streams, refusals."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from local_cloud.model_server.text.catalog_row import row_of
from local_cloud.model_server.text.engine import TextEngine
from local_cloud.real_model.error import RealModelError
from local_cloud.real_model.folder import folder_of
from local_cloud.real_model.process import RealModel
from support.generation_servers import GenerationClient
from support.local_engines import local_engines
from support.patience import PATIENCE_IN_SECONDS
from support.repository import ROOT
from support.served_handlers import HANDLERS, environment_of, unpack
from support.stand_ins.hub_server import HubServer

REGISTRY = "763104351884.dkr.ecr.us-west-2.amazonaws.com"
VLLM = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/vllm:0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker",
    "SM_VLLM_MODEL": "m",
}
LMI = {"SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130", "HF_MODEL_ID": "m"}
TGI = {
    "SLIPWAY_LOCAL_IMAGE": f"{REGISTRY}/huggingface-pytorch-tgi-inference:2.1.1-tgi1.4.0-gpu-py310-cu121-ubuntu20.04",
    "HF_MODEL_ID": "m",
}
PROMPT = "The class definition"
CHAT = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 12, "temperature": 0}
DRAWN = {"temperature": 1.2, "seed": 3}


@pytest.fixture(scope="module")
def model(weights: Path) -> Iterator[RealModel]:
    with RealModel(str(weights)) as model:
        model.wait_until_ready()
        yield model


@pytest.fixture(scope="module")
def tokenizer(weights: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(weights)


@pytest.fixture(scope="module")
def greedy(weights: Path, tokenizer: Any) -> str:
    """Twelve tokens by transformers' own `generate`."""
    from transformers import AutoModelForCausalLM

    read = tokenizer(PROMPT, return_tensors="pt")
    written = AutoModelForCausalLM.from_pretrained(weights).generate(**read, do_sample=False, max_new_tokens=12)
    return str(tokenizer.decode(written[0, read["input_ids"].shape[1] :]))


def engine(environment: dict[str, str], model: RealModel) -> TextEngine:
    settings = {**environment, "SLIPWAY_LOCAL_MODEL": model.url}
    return TextEngine(row_of(settings["SLIPWAY_LOCAL_IMAGE"], settings, local_engines()), settings, None)


def answered(engine: TextEngine, body: object) -> Any:
    answer = engine.answer(json.dumps(body).encode())
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def streamed(engine: TextEngine, body: dict[str, Any]) -> list[Any]:
    """The only choice of each chunk."""
    answer = engine.answer(json.dumps({**body, "stream": True}).encode())
    assert answer.parts
    lines = b"".join(answer.parts).splitlines()
    return [json.loads(line[6:])["choices"][0] for line in lines if line.startswith(b"data: {")]


def refused(engine: TextEngine, body: object) -> str:
    answer = engine.answer(json.dumps(body).encode())
    assert answer.status == 400
    return str(json.loads(answer.body)["error"]["message"])


@pytest.mark.parametrize("environment", [LMI, TGI])
def test_inputs_get_the_greedy_text_of_the_model(environment: dict[str, str], model: RealModel, greedy: str) -> None:
    answer = answered(engine(environment, model), {"inputs": PROMPT, "parameters": {"max_new_tokens": 12}})
    assert (answer[0] if isinstance(answer, list) else answer)["generated_text"] == greedy


def test_a_chat_is_rendered_by_the_models_template_and_its_tokens_are_counted(model: RealModel, tokenizer: Any) -> None:
    rendered = f"<user>{PROMPT}\n<assistant>"
    chat, text = (
        answered(engine(VLLM, model), body) for body in (CHAT, {"prompt": rendered, "max_tokens": 12, "temperature": 0})
    )
    assert chat["choices"][0]["message"]["content"] == text["choices"][0]["text"]
    read = len(tokenizer(rendered)["input_ids"])
    assert chat["usage"] == {"prompt_tokens": read, "completion_tokens": 12, "total_tokens": read + 12}


def test_a_text_ends_before_its_stop_sequence_also_in_a_stream(model: RealModel) -> None:
    vllm, body = engine(VLLM, model), {"prompt": PROMPT, "max_tokens": 30, **DRAWN}
    whole = answered(vllm, body)["choices"][0]["text"]
    stop = whole[12:15]
    stopped = answered(vllm, {**body, "stop": [stop]})["choices"]
    for choices in (stopped, streamed(vllm, {**body, "stop": [stop]})):
        assert "".join(each["text"] for each in choices) == whole[: whole.index(stop)]
        assert (choices[-1]["finish_reason"], choices[-1]["stop_reason"]) == ("stop", stop)


def test_a_stream_has_the_parts_of_the_text_as_the_model_writes_them(model: RealModel) -> None:
    vllm, body = engine(VLLM, model), {"prompt": PROMPT, "max_tokens": 30, **DRAWN}
    parts = [each["text"] for each in streamed(vllm, body)]
    assert "".join(parts) == answered(vllm, body)["choices"][0]["text"]
    assert len(parts) > 10


def test_samples_differ_and_a_seed_repeats_them(model: RealModel) -> None:
    vllm, body = engine(VLLM, model), {**CHAT, "temperature": 1, "n": 2, "seed": 5}

    def texts(body: object) -> list[str]:
        return [each["message"]["content"] for each in answered(vllm, body)["choices"]]

    first, second = texts(body)
    assert first != second
    assert texts(body) == [first, second]


def test_what_the_model_cannot_do_is_refused_in_the_words_of_the_engine(model: RealModel) -> None:
    vllm = engine(VLLM, model)
    assert refused(vllm, {**CHAT, "max_tokens": 60}).startswith("This model's maximum context length is 64 tokens.")
    assert refused(vllm, {**CHAT, "temperature": 500}) == "temperature: must be a number from 0 to 100, not 500"


def test_a_model_without_a_chat_template_has_no_chats(weights: Path, tmp_path: Path) -> None:
    for each in weights.iterdir():
        if each.name != "chat_template.jinja":
            (tmp_path / each.name).symlink_to(each)
    with RealModel(str(tmp_path)) as model:
        model.wait_until_ready()
        assert not model.has_chat_template
        assert "chat template" in refused(engine(VLLM, model), CHAT)
        assert answered(engine(VLLM, model), {"prompt": PROMPT, "max_tokens": 3})


def test_a_model_without_a_tokenizer_is_refused(weights: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(weights / name)
    with (
        RealModel(str(tmp_path)) as model,
        pytest.raises(RealModelError, match="its tokenizer is missing; name"),
    ):
        model.wait_until_ready()


def test_a_model_of_the_hub_is_downloaded_once(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HubServer("owner/tiny", {each.name: each.read_bytes() for each in weights.iterdir()}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path))
        folder = folder_of("owner/tiny")
        assert (folder / "model.safetensors").read_bytes() == (weights / "model.safetensors").read_bytes()
        asked = len(hub.requests)
        assert (folder_of("owner/tiny"), len(hub.requests)) == (folder, asked)
        with pytest.raises(RealModelError, match="owner/other can't be downloaded, as the Hub answers 401; mend"):
            folder_of("owner/other")
    with pytest.raises(RealModelError, match="it is not in the Hub's cache, and the Hub can't be reached; name"):
        folder_of("owner/other")


def test_callers_who_hang_up_make_room_for_others(weights: Path, tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    for each in weights.glob("*token*"):
        (tmp_path / each.name).symlink_to(each)
    size = {"vocab_size": 1000, "hidden_size": 8, "intermediate_size": 8, "max_position_embeddings": 10**9}
    layers = {"num_hidden_layers": 1, "num_attention_heads": 1, "eos_token_id": None}
    LlamaForCausalLM(LlamaConfig(**size, **layers)).save_pretrained(tmp_path)
    endless = json.dumps({"prompt": PROMPT, "max_tokens": 1_000_000, "stream": True}).encode()
    with ThreadPoolExecutor() as callers, RealModel(str(tmp_path)) as model:
        model.wait_until_ready()
        vllm = engine({**VLLM, "SM_VLLM_MAX_MODEL_LEN": "2000000"}, model)
        streams = [vllm.answer(endless).parts for _ in range(8)]  # as many as the model answers at once
        assert all(next(stream) for stream in streams if stream)
        streams.clear()
        answer = callers.submit(answered, vllm, {"prompt": PROMPT, "max_tokens": 3})
        assert answer.result(PATIENCE_IN_SECONDS)


def test_a_handler_of_ones_own_gets_its_texts_from_the_model(model: RealModel, greedy: str, tmp_path: Path) -> None:
    folder = unpack(HANDLERS / "transformers", {"engine": "Python", "option.model_id": "m"}, tmp_path / "model")
    variables = {"SLIPWAY_LOCAL_MODEL": model.url, "SAGEMAKER_BIND_TO_PORT": "0"}
    with subprocess.Popen(
        [ROOT / ".venv-cloud/bin/python", "-m", "local_cloud.model_server"],  # it has the stand-ins of the libraries
        cwd=ROOT,
        env=environment_of(folder, tmp_path / "tmp", **variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as container:
        assert container.stdout
        ready = next(line for line in container.stdout if "listening on" in line)
        body = {"inputs": PROMPT, "parameters": {"max_new_tokens": 12}}
        answer = GenerationClient(int(ready.rpartition(":")[2])).generate(body)
        container.kill()
    assert answer == (200, {"outputs": [PROMPT + greedy]})


def test_an_answer_fails_if_the_model_ends(weights: Path) -> None:
    with RealModel(str(weights)) as model:
        model.wait_until_ready()
        vllm = engine(VLLM, model)
    answer = vllm.answer(json.dumps(CHAT).encode())
    assert (answer.status, b"the model does not answer" in answer.body) == (500, True)
