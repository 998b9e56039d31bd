"""The question that `local` asks a deployment's model, and its answer in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_hosting.resolution import Resolution
from slipway.stack.prompt import text_of

PROMPT, CHAT, OTHER = "A list of the functions that", "What is a list?", "A boat leaves the harbour."


@dataclass(frozen=True)
class Question:
    """shown: the question for people. path: the route. body: the request. as_job: whether /jobs takes the body, too."""

    shown: str
    path: str
    body: Mapping[str, Any]
    as_job: bool = True

    def told(self, answer: Any) -> str:
        """Return the answer for people; of vectors it is how near the first text is to the others."""
        try:
            if self.path == "/embeddings":
                first, *others = (each["embedding"] for each in answer["data"])
                near = " and ".join(f"{sum(a * b for a, b in zip(first, other, strict=True)):.2f}" for other in others)
                return f"vectors of {len(first):,} numbers; the first text is as near to the others as {near}"
            if self.path == "/rerank":
                scores = ((each["relevance_score"], each["index"] + 1) for each in answer["results"])
                return ", ".join(f"{score:.2f} for text {number}" for score, number in scores)
        except (KeyError, TypeError):  # an error, which is shown as it is
            return str(answer)
        return text_of(answer) or str(answer)


_VECTORS, _SCORES = f"{CHAT} | {PROMPT} | {OTHER}", f"{CHAT} (of which text: {PROMPT} | {OTHER})"
QUESTIONS = {
    "inputs": Question(
        f"{PROMPT} ...", "/generate", {"inputs": PROMPT, "parameters": {"temperature": 0.9, "max_new_tokens": 40}}
    ),
    "prompt": Question(
        f"{PROMPT} ...",
        "/generate",
        {"prompt": PROMPT, "num_samples": 2, "length": 40, "temperature": 0.9, "top_p": 0.9, "top_n": 40},
    ),
    "messages": Question(
        CHAT, "/generate", {"messages": [{"role": "user", "content": CHAT}], "max_tokens": 40, "seed": 7}
    ),
    "embeddings": Question(_VECTORS, "/embeddings", {"input": [CHAT, PROMPT, OTHER]}, as_job=False),
    "rerank": Question(_SCORES, "/rerank", {"query": CHAT, "documents": [PROMPT, OTHER]}, as_job=False),
}


def question_for(resolution: Resolution, *, takes_chats: bool) -> Question:
    """Return the question: a chat if the model that answers is known to have a chat template.

    takes_chats: whether it has one.
    """
    if not resolution.makes_text:
        return QUESTIONS[resolution.openai_routes[0]] if resolution.openai_routes else _own(resolution)
    if "messages" in resolution.bodies and takes_chats:
        return QUESTIONS["messages"]
    if "num_samples" in resolution.parameters:
        return QUESTIONS["prompt"]
    return QUESTIONS["inputs" if "inputs" in resolution.bodies else "messages"]


def _own(resolution: Resolution) -> Question:
    """Return the question in the engine's own form, for a deployment without OpenAI's routes."""
    texts = [PROMPT, OTHER]
    if resolution.deployment.model.task == "rerank":
        key = "texts" if resolution.task_form == "tei" else "documents"
        return Question(_SCORES, "/generate", {"query": CHAT, key: texts})
    return Question(_VECTORS, "/generate", {resolution.bodies[0]: [CHAT, *texts]})
