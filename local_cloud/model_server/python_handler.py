"""A built-in handler of DJL's Python engine: bodies in, prompts and parameters to the engine, texts out.

Source: deepjavalibrary/djl-serving djl_python: `inputs` is one prompt or a list of them, `parameters` goes to the
engine, and every other top-level key is left alone; what fails is a 424 (outputs.py, Output.error). Requests that
the front end has put together must have equal parameters (fastertransformer.py, transformers_neuronx.py,
huggingface.py).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from local_cloud.model_server.answer import Answer, json_answer, parse_json
from local_cloud.model_server.djl_settings import whole_number
from local_cloud.model_server.dynamic_batching import DEFAULT_DELAY_IN_MS, Batching
from local_cloud.model_server.language_model import Generation, LanguageModel
from local_cloud.model_server.weights import is_encoder_decoder

UNEQUAL_PARAMETERS = "In order to enable dynamic batching, all input batches must have the same parameters"


class PythonHandler(ABC):
    """Answers [{"generated_text": ...}], one for each prompt and returned sequence.

    answers_alone: whether the generated text is the answer without its prompt, as behind an encoder.
    """

    def __init__(self, settings: Mapping[str, str], model: LanguageModel, *, answers_alone: bool) -> None:
        self.most_concurrent_requests = whole_number(settings, "SERVING_JOB_QUEUE_SIZE", 1000)
        delay = whole_number(settings, "SERVING_MAX_BATCH_DELAY", DEFAULT_DELAY_IN_MS, least=0) / 1000
        self.batching = Batching(whole_number(settings, "SERVING_BATCH_SIZE", 1), delay)
        self.model = model
        self.answers_alone = answers_alone

    @abstractmethod
    def generate(self, prompts: list[str], parameters: dict[str, Any]) -> list[list[Generation]]:
        """The continuations of each prompt; raises ValueError with the engine's message."""

    def refuse_overload(self) -> Answer:
        """What a request beyond `most_concurrent_requests` gets: the front end's queue is full."""
        body = {
            "code": 503,
            "type": "ServiceUnavailableException",
            "message": "Worker queue capacity exceeded for model: model",
        }
        return json_answer(503, body)

    def answer(self, raw: bytes) -> Answer:
        """The answer to one body on its own."""
        return self.answer_together([raw])[0]

    def answer_together(self, raws: list[bytes]) -> list[Answer]:
        """The answers to bodies that run as one batch; a body that cannot be read fails alone."""
        answers: dict[int, Answer] = {}
        read: dict[int, tuple[list[str], dict[str, Any]]] = {}
        for index, raw in enumerate(raws):
            try:
                prompts, parameters = read_body(raw)
                if read and parameters != next(iter(read.values()))[1]:
                    raise ValueError(UNEQUAL_PARAMETERS)
                read[index] = prompts, parameters
            except ValueError as unreadable:
                answers[index] = failure(str(unreadable))
        return list(dict(sorted({**answers, **self._run(read)}.items())).values())

    def _run(self, read: dict[int, tuple[list[str], dict[str, Any]]]) -> dict[int, Answer]:
        prompts = [prompt for given, _ in read.values() for prompt in given]
        if not read:
            return {}
        try:
            generations = iter(self.generate(prompts, dict(next(iter(read.values()))[1])))
        except ValueError as refused:
            return {index: failure(str(refused)) for index in read}
        return {index: self._answer(given, [next(generations) for _ in given]) for index, (given, _) in read.items()}

    def _answer(self, prompts: list[str], generations: list[list[Generation]]) -> Answer:
        texts = [
            {"generated_text": generation.text.strip() if self.answers_alone else prompt + generation.text}
            for prompt, copies in zip(prompts, generations, strict=True)
            for generation in copies
        ]
        steps = max((generation.generated_tokens for copies in generations for generation in copies), default=0)
        return json_answer(200, texts, steps)


def read_body(raw: bytes) -> tuple[list[str], dict[str, Any]]:
    """Prompts and parameters of one body; raises ValueError for a body that the handlers cannot use."""
    body = parse_json(raw)
    if not isinstance(body, dict) or "inputs" not in body:
        raise ValueError("'inputs'")
    inputs, parameters = body["inputs"], body.get("parameters") or {}
    prompts = inputs if isinstance(inputs, list) else [inputs]
    if not prompts or not all(isinstance(prompt, str) for prompt in prompts):
        raise ValueError("text input must of type `str` (single example) or `List[str]` (batch).")
    if not isinstance(parameters, dict):
        raise ValueError(f"argument after ** must be a mapping, not {type(parameters).__name__}")
    return prompts, parameters


def answers_alone(settings: Mapping[str, str], task: str | None) -> bool:
    """Whether the task, or else the model, is one whose answer does not repeat the prompt."""
    if task:
        return task == "text2text-generation"
    return is_encoder_decoder(settings.get("OPTION_MODEL_ID", ""), settings)


def failure(error: str) -> Answer:
    """A prediction that failed, as Output.error writes it."""
    body = {"code": 424, "message": "prediction failure", "error": error}
    return Answer(424, json.dumps(body, indent=2).encode())
