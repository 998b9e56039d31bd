"""Serves a real model to the containers of a local cloud: `python worker.py <folder> <socket>`, in a Python with torch.

Model, sampling and batching are those of `hosting.mode: ec2` (model_src/generation, on PYTHONPATH). It imports nothing
else of ours, as its Python has none of our packages. Once it serves, it prints its facts as a line of JSON; if it
can't, it ends with status 1 and the reason as its last line. The socket is the descriptor of one that listens.

GET /model -> the facts. POST /count, with a body for the ec2 worker -> the number of its prompt's tokens.
POST /texts, with a list of such bodies -> a line with the `prompt_tokens` of each, then a line for each new piece:
its `place` in the list, its `text`, the `tokens` up to it. The last one of a text says how it `ended` and at which
`stop`.
"""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from generation.batching import Batching, GenerationError, Pending
from generation.language_model import LanguageModel, load
from generation.request import Request, RequestError, parse
from generation.rows import Row
from generation.warm_up import warm_up
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

REQUESTS_AT_ONCE = 8
_LOOK_IN_SECONDS = 0.005  # a step of a small model takes longer


def main(folder: Path, descriptor: int) -> None:
    """Serve the model in a folder until standard input ends."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    _demand_causal(folder)
    try:
        model = load(folder, folder.name, None)
        if not model.tokens_of("prompt", "Hello", {}):  # without its files, transformers makes an empty one
            sys.exit("its tokenizer is missing")
        server = Server(model, socket.socket(fileno=descriptor))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")
    print(json.dumps(server.facts), flush=True)
    server.serve_forever()


def _demand_causal(folder: Path) -> None:
    # transformers would load another kind of model without its head, and answer noise.
    config = json.loads((folder / "config.json").read_text())
    kind, own = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.get("model_type")), config.get("architectures")
    if kind is None or (own and kind not in own):
        sys.exit(f"{' '.join(own or []) or config.get('model_type')} is no causal language model of transformers")


def _exit_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


class Server(ThreadingHTTPServer):
    """Answers containers."""

    daemon_threads = True

    def __init__(self, model: LanguageModel, listener: socket.socket) -> None:
        _, most_tokens = warm_up(model)
        self.model, self.batching = model, Batching(model, REQUESTS_AT_ONCE, most_tokens)
        self.facts = {"context": int(min(model.context, most_tokens)), "chat_template": _has_chat_template(model)}
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def read(self, body: object) -> Request:
        return parse(json.dumps(body).encode(), self.model.defaults)

    def count(self, request: Request) -> int:
        return len(self.model.tokens_of(request.form, request.prompts[0], request.template_arguments))


def _has_chat_template(model: LanguageModel) -> bool:
    try:
        model.tokens_of("messages", [{"role": "user", "content": "Hello"}], {})
    except RequestError:
        return False
    return True


class _Handler(BaseHTTPRequestHandler):
    server: Server  # it speaks HTTP/1.0: an answer ends with its connection
    wbufsize = -1

    def do_GET(self) -> None:
        self._begin(200, self.server.facts)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        pending: list[Pending] = []
        try:
            if self.path == "/count":
                self._begin(200, self.server.count(self.server.read(body)))
                return
            for each in body:
                pending.append(self.server.batching.submit(self.server.read(each)))
            self._begin(200, {"prompt_tokens": [len(each.rows[0].prompt) for each in pending]})
            for line in _lines(pending):
                self._write(line)
        except RequestError as error:
            self._begin(400, {"error": str(error)})
        except GenerationError as error:
            self._write({"error": str(error)})
        except OSError:
            pass  # the caller has hung up
        finally:
            for each in pending:
                each.abandon()

    def _begin(self, status: int, document: object) -> None:
        self.send_response(status)
        self.end_headers()
        self._write(document)

    def _write(self, document: object) -> None:
        self.wfile.write(json.dumps(document).encode() + b"\n")
        self.wfile.flush()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


def _lines(requests: Sequence[Pending]) -> Iterator[dict[str, Any]]:
    """The pieces of all texts as they come. Raises GenerationError."""
    open_texts = {place: _Text(request.rows[0]) for place, request in enumerate(requests)}
    while open_texts:
        time.sleep(_LOOK_IN_SECONDS)
        for place, text in list(open_texts.items()):
            if requests[place].error:
                requests[place].answer()  # raises the error
            for line in text.news():
                yield {"place": place, **line}
                if line["ended"]:
                    del open_texts[place]


class _Text:
    """The text of a row while another thread decodes it."""

    def __init__(self, row: Row) -> None:
        self._row, self._sent, self._tokens = row, "", 0

    def news(self) -> Iterator[dict[str, Any]]:
        """A line for each token that completes a piece of text."""
        ended = self._row.ended  # before the tokens: none follows the end
        tokens = self._row.tokens[:]
        for count in range(self._tokens + 1, len(tokens) + 1):
            text = self._certain(self._row.text_of(tokens[:count]))
            is_last = bool(ended) and count == len(tokens)
            if len(text) > len(self._sent) and not is_last:
                yield {**self._piece(text), "tokens": count, "ended": None}
        # After a failed pass a row begins again with the same draws.
        self._tokens = max(self._tokens, len(tokens))
        if ended:
            text = self._row.text
            stop = next(
                (each for each in self._row.stop if self._row.text_of(tokens).startswith(each, len(text))), None
            )
            yield {**self._piece(text), "tokens": len(tokens), "ended": ended, "stop": stop}

    def _piece(self, text: str) -> dict[str, str]:
        piece, self._sent = text[len(self._sent) :], text
        return {"text": piece}

    def _certain(self, text: str) -> str:
        """The text without an unfinished character, up to what is a stop sequence or may become one."""
        text, stops = text.rstrip("\ufffd"), self._row.stop
        text = text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]
        begun = (length for stop in stops for length in range(1, len(stop)) if text.endswith(stop[:length]))
        return text[: len(text) - max(begun, default=0)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
