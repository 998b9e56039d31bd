"""Requests that are answered together: one thread decodes, a batch at a time.

A batch takes what waits when the one before it has ended, up to `most_requests`; a request leaves it at its own end.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import Any

import torch

from .answer import answer
from .language_model import LanguageModel
from .request import Request, RequestError
from .rows import Row, decode, passes

_GATHERING_IN_SECONDS = 0.05  # the worker sends the jobs of a batch at once; a step of the model takes longer
_DEFAULT_LENGTHS = {"inputs": 100, "prompt": 100, "messages": 1024}


class GenerationError(Exception):
    """The model failed; the message says how, without the caller's text."""


class Pending:
    """A request between its arrival and its answer."""

    def __init__(self, request: Request, model: LanguageModel, most_tokens: float) -> None:
        """Raises RequestError if the model can't take the request."""
        self._request, self._model = request, model
        self.rows = _rows(request, model, most_tokens)
        self.done = threading.Event()
        self.error: str | None = None
        self._is_wanted = True
        for row in self.rows:
            row.is_wanted = lambda: self._is_wanted

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        self._is_wanted = False

    def answer(self) -> Any:
        """Raises GenerationError."""
        if self.error:
            raise GenerationError(self.error)
        return answer(self._request, self.rows, self._model)


class Batching:
    """most_requests: in a batch. most_tokens: that the key-value cache has memory for."""

    def __init__(self, model: LanguageModel, most_requests: int, most_tokens: float) -> None:
        self._model, self._most_requests, self._most_tokens = model, most_requests, most_tokens
        self._waiting: queue.SimpleQueue[Pending] = queue.SimpleQueue()
        threading.Thread(target=self._decode_forever, daemon=True).start()

    def submit(self, request: Request) -> Pending:
        """Raises RequestError if the model can't take the request."""
        pending = Pending(request, self._model, self._most_tokens)
        self._waiting.put(pending)
        return pending

    def _decode_forever(self) -> None:
        while True:
            batch = [self._waiting.get()]
            closes_at = time.monotonic() + _GATHERING_IN_SECONDS
            while len(batch) < self._most_requests:
                try:
                    batch.append(self._waiting.get(timeout=max(closes_at - time.monotonic(), 0)))
                except queue.Empty:
                    break
            self._decode(batch)

    def _decode(self, batch: list[Pending]) -> None:
        of_row = {row: pending for pending in batch for row in pending.rows}

        def ended(row: Row) -> None:
            pending = of_row[row]
            if all(each.ended for each in pending.rows):
                pending.done.set()

        started = time.monotonic()
        try:
            for rows in passes([row for row in of_row if row.is_wanted()], self._most_tokens):
                decode(self._model, rows, ended)
        except Exception as error:
            # The type only: messages of the libraries quote prompts, which must not be logged.
            logging.error("a batch of %d requests failed: %s", len(batch), type(error).__name__)
            for pending in batch:
                if not pending.done.is_set():
                    pending.error = f"the model failed: {type(error).__name__}"
        for pending in batch:
            pending.done.set()
        seconds, tokens = time.monotonic() - started, sum(len(row.tokens) for row in of_row)
        logging.info("%d requests, %d samples, %d tokens in %.1f s", len(batch), len(of_row), tokens, seconds)


def _rows(request: Request, model: LanguageModel, most_tokens: float) -> list[Row]:
    """A row for each sample of each prompt. Raises RequestError for a prompt that leaves no room for its answer."""
    rows: list[Row] = []
    for prompt in request.prompts:
        tokens = model.tokens_of(request.form, prompt, request.template_arguments)
        room = int(min(model.context, most_tokens)) - len(tokens)
        if room < max(request.length or 1, 1):
            problem = (
                f"{len(tokens)} tokens and an answer of {request.length or 1} are more than the {len(tokens) + room} "
                "that this machine takes; shorten one"
            )
            raise RequestError(request.form, problem)
        length = request.length or min(room, _DEFAULT_LENGTHS[request.form])
        for sample in range(request.samples):
            generator = _generator(request.seed, sample)
            rows.append(Row(tokens, length, request.sampling, generator, model.ends, request.stop, model.text_of))
    return rows


def _generator(seed: int | None, sample: int) -> torch.Generator:
    """Each sample has its own, so that its draws do not depend on the others."""
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed + sample)
    return generator
