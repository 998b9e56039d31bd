"""A call of the model that counts for a key: charged when it is admitted, settled at its end, also after an error."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from inference_api.http.gateway import Request
from inference_api.http.sse import is_token
from inference_api.http.streaming_runtime import close
from inference_api.keys.key_usage import KeyUsage, key_usage
from inference_api.keys.usage_row import KeyCharge
from inference_api.model.not_ready import is_for_a_job, whole_is_for_a_job
from inference_api.model.token_counts import is_count, most_tokens, tokens_by_length, tokens_of
from inference_api.shared import errors
from inference_api.shared.errors import InvocationError
from inference_api.shared.metrics import emit_for_dashboard
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import dashboard_of, settings
from inference_api.shared.tracing import begin


def admit(request: Request, document: Mapping[str, Any]) -> "MeteredCall":
    """Charge a call to the caller's key. Use its `whole` or `stream` at once: only they settle the charge.

    document: the checked body. Raises ApiError 404 for a model that the key may not use, 429 for a key at its limit.
    """
    check_model(request, document)
    usage = key_usage() if request.caller is not None else None
    if usage is None and dashboard_of() is None:
        return MeteredCall(None, None)
    tokens = most_tokens(document, settings().request_rules)
    key = request.key.name if request.key else None
    if usage is None or request.caller is None:
        return MeteredCall(None, KeyCharge(request.caller or "", runtime().now(), *tokens), key)
    charge, left = usage.admit(request.caller, request.key, *tokens)
    request.told.update(left)
    return MeteredCall(usage, charge, key)


def check_model(request: Request, document: Mapping[str, Any]) -> None:
    """Note the model that answers. Raises ApiError 404 for a model that the caller's key may not use."""
    asked = document.get("model")
    request.told["openai-model"] = asked if asked in settings().adapters else settings().model_id
    if request.key is None or request.key.models is None:
        return
    model = document.get("model") or settings().model_id
    if not request.key.may_ask_for(model, settings().model_names):
        raise errors.model_not_found(str(model))


class MeteredCall:
    """A call whose tokens are counted, for its key or for a dashboard; without both nothing is counted.

    usage: None = no key is charged. charge: the tokens that the call may take; None = nothing is counted.
    key: the name of the caller's key or group.

    Either the block of `whole` or the generator of `stream` owns the charge and settles it.

    Call the object with the tokens that the engine reports, each time with all so far. Without such reports each event
    of a stream counts as one token, and four bytes of a whole answer count as one.

    segment: of the call in the request's trace, for the client of the endpoint.
    """

    def __init__(self, usage: KeyUsage | None, charge: KeyCharge | None, key: str | None = None) -> None:
        self._usage, self._charge, self._key = usage, charge, key
        self._reported: tuple[int | None, int] | None = None
        self._events = self._bytes = 0
        self._first_token_at = self._last_token_at = 0.0
        self._left = False
        self.segment = begin("model", remote=True)

    def __call__(self, prompt_tokens: int | None, completion_tokens: int) -> None:
        if (prompt_tokens is None or is_count(prompt_tokens)) and is_count(completion_tokens):
            self._reported = prompt_tokens, completion_tokens

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Settle the call at the end of the block, by the error that ends it if there is one.

        If a job will answer instead, take the charge back.
        """
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._end(error, by_job=whole_is_for_a_job(error))

    def stream(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the same pieces, each an event or a whole answer. Settle the call when they end, or the reader stops.

        If a job will answer instead, take the charge back.
        """
        error: BaseException | None = None
        try:
            for piece in pieces:
                if is_token(piece):
                    self._note_token()
                yield piece
        except BaseException as raised:
            error = None if isinstance(raised, GeneratorExit) else raised
            raise
        finally:
            self._end(error, by_job=is_for_a_job(error))
            close(pieces)

    def answer(self, body: bytes) -> None:
        """Count a whole answer, or the part of it that has come."""
        self._reported = self._reported or tokens_of(body)
        self._bytes = len(body)

    def leave(self, hang_up: Callable[[], None]) -> None:
        """End the call of a caller who has hung up. The error that follows does not count as a failure."""
        self._left = True
        hang_up()

    @property
    def is_left(self) -> bool:
        """Whether the caller has hung up."""
        return self._left

    def _note_token(self) -> None:
        self._events += 1
        if self._charge:
            self._last_token_at = runtime().now()
            self._first_token_at = self._first_token_at or self._last_token_at

    def _end(self, error: BaseException | None, *, by_job: bool) -> None:
        prompt, completion = self._reported or (None, None)
        self.segment.note(prompt_tokens=prompt, completion_tokens=completion, hung_up=self._left or None)
        self.segment.end(None if self._left else error)
        if self._charge is None:
            return
        if not by_job:
            self._settle(self._charge, error)
        elif self._usage:
            self._usage.withdraw(self._charge)

    def _settle(self, charge: KeyCharge, error: BaseException | None) -> None:
        taken = self._taken(charge, error)
        if self._usage:
            self._usage.settle(charge, *taken, failed=error is not None and not self._left)
        emit_for_dashboard(runtime().now(), self._figures(charge, *taken), caller=charge.owner, key=self._key)

    def _figures(self, charge: KeyCharge, tokens_in: int, tokens_out: int) -> dict[str, float]:
        """Return the tokens and, of a stream, the time to its first token and the speed of the others."""
        if not (tokens_in or tokens_out):
            return {}
        figures: dict[str, float] = {"TokensIn": tokens_in, "TokensOut": tokens_out}
        if self._first_token_at:
            figures["FirstTokenSeconds"] = round(self._first_token_at - charge.moment, 3)
        if (seconds := self._last_token_at - self._first_token_at) > 0 and tokens_out > 1:
            figures["TokensPerSecond"] = round((tokens_out - 1) / seconds, 1)
        return figures

    def _taken(self, charge: KeyCharge, error: BaseException | None) -> tuple[int, int]:
        prompt = charge.tokens_in
        if self._reported is not None:
            return (prompt if self._reported[0] is None else self._reported[0]), self._reported[1]
        if self._events or self._bytes:
            made = max(self._events, tokens_by_length(self._bytes))
            return prompt, made if charge.tokens_out else 0  # vectors are no tokens
        if isinstance(error, InvocationError) and error.ran and not error.refused:
            return prompt, 0  # how many tokens the model made is unknown
        return 0, 0
