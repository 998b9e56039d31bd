"""model_src/transformers with the real libraries: a GPT-2 of two small layers, made here, behind the DJL contract."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.model_server.contract.answer import StartError
from local_cloud.model_server.djl.own_handler import OwnHandler
from support.served_handlers import HANDLERS, ask, served

torch = importlib.import_module("torch")
transformers = importlib.import_module("transformers")

HANDLER = HANDLERS / "transformers"
PROMPTS = ["The value of", "A class definition is an executable statement that binds", "def"]
GREEDY = {"max_new_tokens": 8, "do_sample": False}


@pytest.fixture(scope="session")
def handler(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnHandler]:
    """Load the handler with the weights of the fixture."""
    properties = {"engine": "Python", "option.model_id": str(weights), "option.dtype": "fp32"}
    with served(HANDLER, properties, tmp_path_factory.mktemp("handler")) as engine:
        yield engine


def outputs(handler: OwnHandler, inputs: Any, **parameters: Any) -> list[str]:
    status, answer = ask(handler, {"inputs": inputs, "parameters": parameters, "padding": True})
    assert status == 200, answer
    texts: list[str] = answer["outputs"]
    return texts


def expected(weights: Path, prompt: str) -> str:
    """Return the model's own answer to a prompt, without a handler."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights)
    model = transformers.AutoModelForCausalLM.from_pretrained(weights).eval()
    with torch.inference_mode():
        tokens = model.generate(**tokenizer(prompt, return_tensors="pt"), pad_token_id=0, **GREEDY)
    text: str = tokenizer.decode(tokens[0], skip_special_tokens=True)
    return text


def test_a_prompt_is_answered_as_the_model_itself_answers(handler: OwnHandler, weights: Path) -> None:
    assert outputs(handler, PROMPTS[0], **GREEDY) == [expected(weights, PROMPTS[0])]


def test_the_padding_of_a_batch_changes_no_answer(handler: OwnHandler, weights: Path) -> None:
    assert outputs(handler, PROMPTS, **GREEDY) == [expected(weights, prompt) for prompt in PROMPTS]


def test_a_seed_repeats_a_sampled_answer(handler: OwnHandler) -> None:
    def text(seed: int) -> str:
        return outputs(handler, PROMPTS[0], max_new_tokens=8, do_sample=True, seed=seed)[0]

    assert text(0) == text(0)
    assert len({text(seed) for seed in range(4)}) == 4


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"no_such_parameter": 1}, "no_such_parameter"),
        ({"do_sample": True, "temperature": 0.0}, "temperature"),
        ({"max_new_tokens": -1}, "max_new_tokens"),
    ],
)
def test_a_refusal_of_generate_is_djl_s_error(handler: OwnHandler, parameters: dict[str, Any], reason: str) -> None:
    status, answer = ask(handler, {"inputs": PROMPTS[0], "parameters": parameters})
    assert (status, reason in answer["error"]) == (424, True)
    assert outputs(handler, PROMPTS[0], **GREEDY)


def test_no_prompt_reaches_the_log(weights: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with served(HANDLER, {"option.model_id": str(weights)}, tmp_path) as engine:
        ask(engine, {"inputs": "confidential", "parameters": GREEDY})
        ask(engine, {"inputs": "confidential", "parameters": {"no_such_parameter": 1}})
    log = capfd.readouterr()
    assert "prediction failed: " in log.out
    assert "confidential" not in log.out + log.err


def test_weights_beside_the_handler_are_found(weights: Path, tmp_path: Path) -> None:
    source = tmp_path / "source" / "own"
    source.mkdir(parents=True)
    for path in [*HANDLER.glob("*"), *(HANDLERS / "shared").glob("*.py"), *weights.glob("*")]:
        if path.is_file():
            (source / path.name).write_bytes(path.read_bytes())
    with served(source, {"engine": "Python"}, tmp_path) as engine:
        assert outputs(engine, PROMPTS[0], **GREEDY) == [expected(weights, PROMPTS[0])]


def test_a_folder_without_weights_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"Failed to initialize model: \w+: "):
        served(HANDLER, {"option.model_id": str(tmp_path)}, tmp_path / "served").__enter__()
