"""Replaces the model's server: GET /ping, POST /invocations; the text comes from the local cloud's generator."""

import os
import random
import sys
from pathlib import Path
from typing import Any

from generation.request import Request, RequestError, Sampling, parse
from local_cloud.model_server.contract.answer import EngineAnswer, json_answer
from local_cloud.model_server.contract.server import ContainerServer
from local_cloud.model_server.text.generator import Generation, count_tokens, generate
from local_cloud.model_server.text.openai_shape import completion
from local_cloud.model_server.text.request import TextRequest

# In tokens; the length applies to a body without one.
DEFAULT_LENGTH = 40
DEFAULT_CONTEXT = 1024


class StandInEngine:
    """Reads bodies as the real server does, and answers with generated text."""

    most_concurrent_requests = 100

    def __init__(self, context: int) -> None:
        self._context = context

    def refuse_overload(self) -> EngineAnswer:
        return json_answer(503, {"error": "the model has too many requests"})

    def answer(self, raw: bytes, adapter: str = "") -> EngineAnswer:
        try:
            request = parse(raw, Sampling())
            generations = self._generate(request)
        except RequestError as error:
            return json_answer(400, {"error": str(error), "field": error.field or None})
        steps = max(each.tokens for each in generations)
        if request.form == "messages":
            return json_answer(200, _chat_completion(request, generations), steps)
        return json_answer(200, _outputs(request, generations), steps)

    def _generate(self, request: Request) -> list[Generation]:
        seed = random.getrandbits(31) if request.seed is None else request.seed
        found = []
        for prompt in _texts(request):
            length = request.length or DEFAULT_LENGTH
            if (tokens := count_tokens(prompt)) + length > self._context:
                problem = (
                    f"{tokens} tokens and an answer of {length} are more than the {self._context} that this machine"
                )
                raise RequestError(request.form, f"{problem} takes; shorten one")
            samples = range(request.samples)
            seeds = [0 if request.sampling.temperature == 0 else seed + sample for sample in samples]
            found += [generate(prompt, length, request.stop, each) for each in seeds]
        return found


def _texts(request: Request) -> list[str]:
    if request.form != "messages":
        return list(request.prompts)
    return ["\n".join(message["content"] for message in request.prompts[0])]


def _outputs(request: Request, generations: list[Generation]) -> Any:
    by_prompt = [
        [
            {"generated_text": (prompt if request.full_text else "") + each.text} | _details(request, prompt, each)
            for each in generations[place * request.samples : (place + 1) * request.samples]
        ]
        for place, prompt in enumerate(request.prompts)
    ]
    return by_prompt if request.is_list else by_prompt[0]


def _details(request: Request, prompt: str, generation: Generation) -> dict[str, Any]:
    if not request.details:
        return {}
    reason = "stop" if generation.complete or generation.stop is not None else "length"
    counts = {"prompt_tokens": count_tokens(prompt), "generated_tokens": generation.tokens}
    return {"details": {"finish_reason": reason, **counts}}


def _chat_completion(request: Request, generations: list[Generation]) -> Any:
    chat = TextRequest("messages", None, tuple(_texts(request)), False, None, None, (), 0, request.samples, False, {})
    return completion(chat, generations, "")


def main() -> None:
    model = Path(os.environ["SLIPWAY_HOME"]) / "model"
    if not model.is_dir():
        sys.exit(f"The model in {model} can't be served: there is none")
    engine = StandInEngine(int(os.environ.get("MAX_MODEL_LEN") or DEFAULT_CONTEXT))
    server = ContainerServer(int(os.environ["MODEL_PORT"]), engine, 0)
    print(f"ready on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
