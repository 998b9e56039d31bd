"""The shipped handlers in real processes, with stand-ins for the engines that need a GPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from local_cloud.model_server.contract.answer import StartError
from local_cloud.model_server.djl.own_handler import OwnHandler
from support.served_handlers import HANDLERS, ask, served

pytestmark = pytest.mark.slow

RANKED = {
    "fastertransformer": {
        "engine": "FasterTransformer",
        "option.tensor_parallel_degree": "4",
        "option.model_id": "t5",
    },
    "deepspeed": {"engine": "DeepSpeed", "option.tensor_parallel_degree": "3", "option.model_id": "opt"},
}
PROPERTIES = {**RANKED, "transformers": {"engine": "Python", "option.model_id": "gpt2"}}


@pytest.fixture(scope="module", params=PROPERTIES)
def handler(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnHandler]:
    """Run each shipped handler."""
    name: str = request.param
    with served(HANDLERS / name, PROPERTIES[name], tmp_path_factory.mktemp(name)) as engine:
        yield engine


def text_of(engine: OwnHandler, body: Any) -> str:
    status, answer = ask(engine, body)
    assert status == 200, answer
    (text,) = answer["outputs"]
    assert isinstance(text, str)
    return text


def test_a_batch_gets_one_text_for_each_prompt_and_other_keys_pass(handler: OwnHandler) -> None:
    prompts = ["The value of", "a class definition", "What is a list?"]
    body = {"inputs": prompts, "parameters": {"max_length": 9}, "batch_size": 3, "padding": True}
    status, answer = ask(handler, body)
    assert (status, list(answer), len(set(answer["outputs"]))) == (200, ["outputs"], 3)


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_same_seed_gives_the_same_text(name: str, tmp_path: Path) -> None:
    # FasterTransformer samples with top_k above 1, transformers with do_sample.
    sampled = {"top_k": 50} if name == "fastertransformer" else {"do_sample": True}
    with served(HANDLERS / name, PROPERTIES[name], tmp_path) as engine:

        def text(seed: int) -> str:
            return text_of(engine, {"inputs": "The", "parameters": {"max_new_tokens": 12, "seed": seed, **sampled}})

        assert text(0) == text(0)
        assert len({text(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        ([], 'the body must be an object with "inputs"'),
        ({}, 'the body must be an object with "inputs"'),
        ({"inputs": []}, '"inputs" must be a text or a list of texts'),
        ({"inputs": ["a", 1]}, '"inputs" must be a text or a list of texts'),
        ({"inputs": "a", "parameters": 5}, '"parameters" must be an object'),
    ],
)
def test_a_malformed_request_is_a_400(handler: OwnHandler, body: Any, error: str) -> None:
    status, answer = ask(handler, body)
    assert (status, answer) == (400, {"code": 400, "message": "request refused", "error": error})


def test_a_failed_generation_is_djl_s_own_error(handler: OwnHandler) -> None:
    status, answer = ask(handler, {"inputs": "a", "parameters": {"no_such_one": 5}})
    assert (status, answer["code"], answer["message"]) == (424, 424, "prediction failure")
    assert "no_such_one" in answer["error"]


def test_a_handler_goes_on_after_an_error(handler: OwnHandler) -> None:
    assert ask(handler, {"inputs": "a", "parameters": {"no_such_one": 5}})[0] == 424
    assert ask(handler, {"inputs": "a", "parameters": {"max_length": 5}})[0] == 200


@pytest.mark.parametrize("name", PROPERTIES)
def test_no_prompt_or_answer_reaches_the_log(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with served(HANDLERS / name, PROPERTIES[name], tmp_path) as engine:
        ask(engine, {"inputs": "confidential", "parameters": {"max_length": 5}})
        ask(engine, {"inputs": ["confidential", 1], "parameters": {"confidential": 1}})
        ask(engine, {"inputs": "confidential", "parameters": {"confidential": 1}})
    log = capfd.readouterr().out
    assert "prediction failed: " in log
    assert "confidential" not in log


def test_t5_answers_without_the_prompt_and_takes_hugging_face_s_names(tmp_path: Path) -> None:
    with served(HANDLERS / "fastertransformer", RANKED["fastertransformer"], tmp_path) as engine:
        prompt = "The value of"
        text = text_of(engine, {"inputs": prompt, "parameters": {"max_seq_len": 6, "len_penalty": 1.0}})
        assert (len(text.split()), text.startswith(prompt)) == (6, False)
        assert text_of(engine, {"inputs": prompt, "parameters": {"max_new_tokens": 6, "length_penalty": 1.0}}) == text


@pytest.mark.parametrize("name", ["deepspeed", "transformers"])
def test_a_causal_model_repeats_the_prompt_and_max_length_counts_it(name: str, tmp_path: Path) -> None:
    with served(HANDLERS / name, PROPERTIES[name], tmp_path) as engine:
        text = text_of(engine, {"inputs": "The value of", "parameters": {"max_length": 8}})
        assert (len(text.split()), text.startswith("The value of ")) == (8, True)


@pytest.mark.parametrize("name", RANKED)
def test_each_rank_is_a_process_that_loads_its_shard(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    degree = int(RANKED[name]["option.tensor_parallel_degree"])
    before = set(psutil.Process().children())
    with served(HANDLERS / name, RANKED[name], tmp_path):
        assert len(set(psutil.Process().children()) - before) == degree
    log = capfd.readouterr().out
    assert all(f"[rank {rank}] " in log for rank in range(degree))


def test_a_pre_sharded_model_of_the_hub_is_fetched_once_and_read_in_shards(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bloom = {"option.model_id": "microsoft/bloom-deepspeed-inference-int8", "option.dtype": "int8"}
    properties = {"engine": "DeepSpeed", "option.tensor_parallel_degree": "8", **bloom}
    with served(HANDLERS / "deepspeed", properties, tmp_path) as engine:
        assert len(text_of(engine, {"inputs": "The", "parameters": {"max_new_tokens": 3}}).split()) == 4
    log = capfd.readouterr().out
    assert log.count("microsoft/bloom-deepspeed-inference-int8 at main downloaded in") == 1
    assert all(f"rank {rank} reads tp_{rank:02}_00.pt, tp_{rank:02}_01.pt: " in log for rank in range(8))


def test_deepspeed_refuses_to_run_without_its_launcher(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    message = "RuntimeError: LOCAL_RANK is not set: DJL's launcher starts one process per GPU with engine=DeepSpeed"
    with pytest.raises(StartError) as raised:
        served(HANDLERS / "deepspeed", {"engine": "Python", "option.model_id": "opt"}, tmp_path).__enter__()
    assert str(raised.value) == f"Failed to initialize model: {message}"
    assert message in capfd.readouterr().out


@pytest.mark.parametrize(
    ("name", "changed", "error"),
    [
        ("fastertransformer", {"option.dtype": "int8"}, "NotImplementedError: Not implemented for int8!"),
        ("fastertransformer", {"option.pipeline_parallel_degree": "x"}, "For input string"),
        ("deepspeed", {"option.dtype": "float16"}, "KeyError: 'float16'"),
        ("transformers", {"option.model_id": "/no/such/folder"}, "does not appear to have a file named config.json"),
    ],
)
def test_a_setting_that_the_engine_refuses_ends_the_start(
    name: str, changed: dict[str, str], error: str, tmp_path: Path
) -> None:
    with pytest.raises(StartError, match=r"^(Failed to initialize model|NumberFormatException): ") as raised:
        served(HANDLERS / name, PROPERTIES[name] | changed, tmp_path).__enter__()
    assert error in str(raised.value)
