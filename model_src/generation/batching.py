"""Answers several requests at the same time: one thread decodes their groups in turn, one token at a time.

Requests that begin together form a group, which needs one forward pass for each token. A later request begins at the
next step in a group of its own, so a short request never waits for the end of a long one.
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

_GATHERING_IN_SECONDS = 0.05  # the worker sends the jobs of a batch together; a step of the model takes longer
_DEFAULT_LENGTHS = {"inputs": 100, "prompt": 100, "messages": 1024}
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory")  # torch's words on Linux and on other systems


class GenerationError(Exception):
    """The model failed. The message says how, without the caller's text."""


class Pending:
    """A request between its arrival and its answer.

    most_tokens: of key-value cache, for one row. share: of key-value cache, for the rows of one forward pass.
    """

    def __init__(self, request: Request, model: LanguageModel, most_tokens: float, share: float) -> None:
        """Raises RequestError if the model cannot take the request."""
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
        self.begun: list[Row] = []  # the rows of the last pass

    @property
    def next_rows(self) -> list[Row]:
        """The rows to decode next; none while other rows of the request are being decoded."""
        is_under_way = any(not row.ended for row in self.begun)
        return [] if is_under_way or not self._passes else self._passes[0]

    def begin(self) -> None:
        """Note that the next rows have joined a group."""
        self.begun = self._passes.popleft()

    def begin_again(self, needs_all_memory: bool) -> None:
        """Restart the rows that have not ended, in a group of their own."""
        self.is_alone, self.needs_all_memory = True, needs_all_memory
        self.begun, unfinished = [], [row for row in self.rows if not row.ended]
        for row in unfinished:
            row.restart()
        self._passes = deque(passes(unfinished, self._share))

    @property
    def is_over(self) -> bool:
        return bool(self.error) or not self._is_wanted or all(row.ended for row in self.rows)

    def abandon(self) -> None:
        """Stop the work: the client has left."""
        self._is_wanted = False

    def answer(self) -> Any:
        """The answer, once the request is over. Raises GenerationError."""
        if self.error:
            raise GenerationError(self.error)
        return answer(self._request, self.rows, self._model)


class Batching:
    """Decodes requests. most_requests: at the same time. most_tokens: for which all key-value caches have memory."""

    def __init__(self, model: LanguageModel, most_requests: int, most_tokens: float) -> None:
        self._model, self._most_requests, self._most_tokens = model, most_requests, most_tokens
        self._share = most_tokens / most_requests  # so that a request with many rows leaves room for others
        self._arrived: queue.SimpleQueue[Pending] = queue.SimpleQueue()
        self._open: list[Pending] = []
        self._groups: list[_RunningGroup] = []
        threading.Thread(target=self._decode_forever, daemon=True).start()

    def submit(self, request: Request) -> Pending:
        """Queue a request. Raises RequestError if the model cannot take it."""
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
        """Accept the requests that have arrived. Waits only if no request is open."""
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
        """Begin the requests for which there is memory, in order: a large one that waits must get its turn."""
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
        """Restart each request of a failed group alone, as another may be at fault; fail one that was alone.

        After a lack of memory, a restarted request gets all memory to itself.
        """
        # Only the type: messages of the libraries quote prompts, which must not be logged.
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
    """A group and the requests whose rows it decodes."""

    def __init__(self, model: LanguageModel, pending: Pending, most_tokens: float) -> None:
        super().__init__(model, [])
        self.requests: list[Pending] = []
        self._most_tokens, self._all_rows, self._started = most_tokens, list[Row](), time.monotonic()
        self.join(pending)

    @property
    def tokens(self) -> float:
        """Tokens of key-value cache held by the rows still in the group."""
        if any(each.needs_all_memory for each in self.requests):
            return self._most_tokens
        return len(self.rows) * tokens_of_cache(self._all_rows) / len(self._all_rows)

    def may_join(self, pending: Pending, share: float, free: float) -> bool:
        """Whether a request fits in: its padding must take no request over its share. free: tokens of cache left."""
        together = [*self._all_rows, *pending.next_rows]
        needed = tokens_of_cache(together)
        most_rows = max(len(pending.next_rows), *(len(each.begun) for each in self.requests))
        is_fair = most_rows * needed / len(together) <= share
        return is_fair and not pending.is_alone and needed - self.tokens <= free

    def join(self, pending: Pending) -> None:
        """Add a request's next rows, before the first step."""
        self.rows += pending.next_rows
        self._all_rows += pending.next_rows
        self.requests.append(pending)
        pending.begin()

    def __str__(self) -> str:
        seconds, tokens = time.monotonic() - self._started, sum(len(row.tokens) for row in self._all_rows)
        return f"{len(self.requests)} requests, {len(self._all_rows)} samples, {tokens} tokens in {seconds:.1f} s"


def _rows(request: Request, model: LanguageModel, most_tokens: float) -> list[Row]:
    """One row for each sample of each prompt. Raises RequestError for a prompt that leaves no room for an answer."""
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
    """The random source of one sample; its draws do not depend on other samples."""
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed + sample)
    return generator
