"""Requests that are answered at the same time: one thread decodes their groups in turn, a token each.

Requests that begin together are one group, with one forward pass for each token. One that comes later begins at the
next step, as a further group, so that a short one never waits for the end of a long one.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from typing import Any

import torch

from .answer import answer
from .language_model import LanguageModel
from .request import Request, RequestError
from .rows import Group, Row, passes, tokens_of_cache

_GATHERING_IN_SECONDS = 0.05  # the worker sends the jobs of a batch at once; a step of the model takes longer
_DEFAULT_LENGTHS = {"inputs": 100, "prompt": 100, "messages": 1024}
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory")  # torch's words on Linux, and on other systems


class GenerationError(Exception):
    """The model failed; the message says how, without the caller's text."""


class Pending:
    """A request between its arrival and its answer.

    most_tokens: of key-value cache, for a single row. share: for the rows that are decoded at the same time.
    """

    def __init__(self, request: Request, model: LanguageModel, most_tokens: float, share: float) -> None:
        """Raises RequestError if the model can't take the request."""
        self._request, self._model, self._share = request, model, share
        self.rows = _rows(request, model, most_tokens)
        self.done = threading.Event()
        self.error: str | None = None
        self.is_alone = False  # in a group of its own
        self.needs_all_memory = False
        self._is_wanted = True
        for row in self.rows:
            row.is_wanted = lambda: self._is_wanted
        self._passes = deque(passes(self.rows, share))
        self.begun: list[Row] = []  # those of the last pass

    @property
    def next_rows(self) -> list[Row]:
        """Those to decode now; none while others of the request are under way."""
        is_under_way = any(not row.ended for row in self.begun)
        return [] if is_under_way or not self._passes else self._passes[0]

    def begin(self) -> None:
        """The next rows are in a group."""
        self.begun = self._passes.popleft()

    def begin_again(self, needs_all_memory: bool) -> None:
        """What has not ended, in a group of its own."""
        self.is_alone, self.needs_all_memory = True, needs_all_memory
        self.begun, unfinished = [], [row for row in self.rows if not row.ended]
        for row in unfinished:
            row.restart()
        self._passes = deque(passes(unfinished, self._share))

    @property
    def is_over(self) -> bool:
        return bool(self.error) or not self._is_wanted or all(row.ended for row in self.rows)

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        self._is_wanted = False

    def answer(self) -> Any:
        """Raises GenerationError."""
        if self.error:
            raise GenerationError(self.error)
        return answer(self._request, self.rows, self._model)


class Batching:
    """most_requests: under way at once. most_tokens: that the key-value caches together have memory for."""

    def __init__(self, model: LanguageModel, most_requests: int, most_tokens: float) -> None:
        self._model, self._most_requests, self._most_tokens = model, most_requests, most_tokens
        self._share = most_tokens / most_requests  # a request with many rows leaves room for the others
        self._arrived: queue.SimpleQueue[Pending] = queue.SimpleQueue()
        self._open: list[Pending] = []
        self._groups: list[_RunningGroup] = []
        threading.Thread(target=self._decode_forever, daemon=True).start()

    def submit(self, request: Request) -> Pending:
        """Raises RequestError if the model can't take the request."""
        pending = Pending(request, self._model, self._most_tokens, self._share)
        self._arrived.put(pending)
        return pending

    def _decode_forever(self) -> None:
        while True:
            self._take_in()
            self._begin()
            for group in list(self._groups):
                self._step(group)
            self._close()

    def _take_in(self) -> None:
        """Waits only where there is nothing to do."""
        closes_at = 0.0
        if not self._open:
            self._open.append(self._arrived.get())
            closes_at = time.monotonic() + _GATHERING_IN_SECONDS
        while len(self._open) < self._most_requests:
            try:
                self._open.append(self._arrived.get(timeout=max(closes_at - time.monotonic(), 0)))
            except queue.Empty:
                return

    def _begin(self) -> None:
        """All that there is memory for. Nothing overtakes what waits for memory, or that would never begin."""
        new: _RunningGroup | None = None
        for pending in self._open:
            if not (rows := pending.next_rows):
                continue
            taken = sum(group.tokens for group in self._groups)
            if new and new.may_join(pending, self._share, self._most_tokens - taken):
                new.join(pending)
                continue
            needed = self._most_tokens if pending.needs_all_memory else tokens_of_cache(rows)
            if self._groups and taken + needed > self._most_tokens:
                return
            group = _RunningGroup(self._model, pending, self._most_tokens)
            self._groups.append(group)
            new = None if pending.is_alone else group

    def _step(self, group: _RunningGroup) -> None:
        try:
            group.step()
        except Exception as error:
            self._groups.remove(group)
            self._failed(group, error)
            return
        if not group.rows:
            self._groups.remove(group)
            logging.info("%s", group)
        self._close()

    def _failed(self, group: _RunningGroup, error: Exception) -> None:
        """Who may be innocent begins again, alone: in its group; on the machine, if memory was short."""
        # The type only: messages of the libraries quote prompts, which must not be logged.
        logging.error("%s: failed: %s", group, type(error).__name__)
        is_memory = isinstance(error, MemoryError) or any(words in str(error).lower() for words in _OUT_OF_MEMORY)
        has_company = len(group.requests) > 1 or (is_memory and bool(self._groups))
        for pending in group.requests:
            if has_company:
                pending.begin_again(needs_all_memory=is_memory)
            elif is_memory:
                pending.error = "this machine has too little memory for the request; ask for fewer or shorter answers"
            else:
                pending.error = f"the model failed: {type(error).__name__}"
        self._close()

    def _close(self) -> None:
        for pending in [each for each in self._open if each.is_over]:
            self._open.remove(pending)
            pending.done.set()


class _RunningGroup(Group):
    """With its requests."""

    def __init__(self, model: LanguageModel, pending: Pending, most_tokens: float) -> None:
        super().__init__(model, [])
        self.requests: list[Pending] = []
        self._most_tokens, self._all_rows, self._started = most_tokens, list[Row](), time.monotonic()
        self.join(pending)

    @property
    def tokens(self) -> float:
        """Of key-value cache, kept for its rows; those that have left took theirs along."""
        if any(each.needs_all_memory for each in self.requests):
            return self._most_tokens
        return len(self.rows) * tokens_of_cache(self._all_rows) / len(self._all_rows)

    def may_join(self, pending: Pending, share: float, free: float) -> bool:
        """free: tokens. Padding may take no request over its share, which others would wait for."""
        together = [*self._all_rows, *pending.next_rows]
        needed = tokens_of_cache(together)
        most_rows = max(len(pending.next_rows), *(len(each.begun) for each in self.requests))
        is_fair = most_rows * needed / len(together) <= share
        return is_fair and not pending.is_alone and needed - self.tokens <= free

    def join(self, pending: Pending) -> None:
        """Before the first step."""
        self.rows += pending.next_rows
        self._all_rows += pending.next_rows
        self.requests.append(pending)
        pending.begin()

    def __str__(self) -> str:
        seconds, tokens = time.monotonic() - self._started, sum(len(row.tokens) for row in self._all_rows)
        return f"{len(self.requests)} requests, {len(self._all_rows)} samples, {tokens} tokens in {seconds:.1f} s"


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
