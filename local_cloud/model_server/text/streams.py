"""Streamed answers: what each family of engines writes for `stream: true`, one part for each decoding step."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from local_cloud.model_server.text.openai_chunks import Chunks
from local_cloud.model_server.text.request import TextRequest
from local_cloud.model_server.text.source import Generation


@dataclass(frozen=True)
class StreamFormat:
    """How a family of engines writes a stream.

    frame: the bytes before and after each object.
    end: the bytes at the end of a stream of OpenAI's objects, and of a stream of tokens.
    token: (number, text, log probability) -> the object for one token of an answer to `inputs`.
    """

    content_type: str
    frame: tuple[bytes, bytes]
    end: tuple[bytes, bytes]
    token: Callable[[int, str, float | None], dict[str, Any]]

    def written(self, value: Any) -> bytes:
        """One object in its frame; characters beyond ASCII are not escaped."""
        return self.frame[0] + json.dumps(value, ensure_ascii=False).encode() + self.frame[1]

    def of_chunks(self, chunks: Chunks) -> Iterator[bytes]:
        """The parts of a completion of OpenAI's API."""
        return (b"".join(map(self.written, step)) for step in chunks)

    def of_tokens(
        self, request: TextRequest, generation: Generation, output: Callable[[], dict[str, Any]]
    ) -> Iterator[bytes]:
        """The parts of an answer to `inputs`. output: makes the whole answer, once the text is written."""
        for number, (text, is_last) in enumerate(generation.pieces(), 1):
            value = self.token(number, text, generation.logprob)
            if is_last:
                value |= output()
            if is_last and "details" in value and value["details"]:
                counts = {"generated_tokens": generation.tokens, "input_length": generation.prompt_tokens}
                value["details"] = value["details"] | counts
            yield self.written(value)


def _tgi_token(index: int, text: str, logprob: float | None) -> dict[str, Any]:
    token = {"id": index, "text": text, "logprob": logprob, "special": False}
    return {"index": index, "token": token, "generated_text": None, "details": None}


def _lmi_token(index: int, text: str, logprob: float | None) -> dict[str, Any]:
    return {"token": {"id": index, "text": text, "log_prob": logprob}}


_DONE = b"data: [DONE]\n\n"
# As create_stream_chunk_output in djl_python writes it: JSON lines with a blank line at the end.
JSON_LINES = StreamFormat("application/jsonlines", (b"", b"\n"), (b"\n", b""), _lmi_token)
TGI_EVENTS = StreamFormat("text/event-stream", (b"data:", b"\n\n"), (_DONE, b""), _tgi_token)
EVENTS = StreamFormat("text/event-stream", (b"data: ", b"\n\n"), (_DONE, _DONE), _lmi_token)
