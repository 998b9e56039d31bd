"""The tokens of a call: the engine's own figures, otherwise chunks or bytes, and the count after an error."""

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from inference_api.keys.named_key import AuthorizedKey
from inference_api.keys.usage_row import KeyCharge
from inference_api.model.metered_call import MeteredCall, check_model
from inference_api.model.token_counts import most_tokens, tokens_of
from inference_api.shared import errors
from inference_api.shared.errors import ApiError
from inference_api.shared.request_rules import RequestRules


class Counted:
    """A stand-in for the table, which remembers how a call is settled."""

    def __init__(self) -> None:
        self.said: list[tuple[int, int, bool]] = []
        self.withdrawn = 0

    def withdraw(self, charge: KeyCharge) -> None:
        self.withdrawn += 1

    def settle(self, charge: KeyCharge, tokens_in: int, tokens_out: int, *, failed: bool = False) -> None:
        self.said.append((tokens_in, tokens_out, failed))


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def call(counted: Counted) -> MeteredCall:
    """Return a call that is charged with 7 tokens of its prompt and 100 of its answer."""
    usage: Any = counted
    return MeteredCall(usage, KeyCharge("owner", 0, 7, 100))


def stream(*pieces: bytes, error: Exception | None = None) -> Iterator[bytes]:
    yield from pieces
    if error:
        raise error


CHUNK, COMMENT, DONE = b'data: {"choices": []}\n\n', b": wait\n\n", b"data: [DONE]\n\n"


def test_a_stream_counts_what_the_engine_says_at_its_end(call: MeteredCall, counted: Counted) -> None:
    pieces = call.stream(stream(CHUNK, DONE))
    assert not counted.said
    assert next(pieces) == CHUNK
    call(5, 40)
    assert list(pieces) == [DONE]
    assert counted.said == [(5, 40, False)]


@pytest.mark.parametrize("said", [(-1000, 4), (3, -4), (3, 10**40), (3, True)])
def test_figures_of_a_stream_that_are_no_counts_are_not_heard(
    call: MeteredCall, counted: Counted, said: tuple[int, int]
) -> None:
    pieces = call.stream(stream(CHUNK, CHUNK))
    next(pieces)
    call(*said)
    assert len(list(pieces)) == 1
    assert counted.said == [(7, 2, False)]


def test_a_stream_without_figures_counts_its_chunks(call: MeteredCall, counted: Counted) -> None:
    assert len(list(call.stream(stream(COMMENT, CHUNK, CHUNK, DONE)))) == 4
    assert counted.said == [(7, 2, False)]


def test_a_caller_who_hangs_up_pays_what_came(call: MeteredCall, counted: Counted) -> None:
    pieces: Any = call.stream(stream(CHUNK, CHUNK, CHUNK))
    next(pieces), next(pieces)
    pieces.close()
    assert counted.said == [(7, 2, False)]


def test_the_error_that_hanging_up_leaves_is_nobodys(call: MeteredCall, counted: Counted) -> None:
    broken = errors.endpoint_unreachable("ConnectionResetError", ran=True)
    pieces = call.stream(stream(CHUNK, error=broken))
    next(pieces)
    call.leave(lambda: None)
    with pytest.raises(errors.InvocationError):
        next(pieces)
    assert counted.said == [(7, 1, False)]


@pytest.mark.parametrize(("table", "ran"), [("jobs", False), ("jobs", True), (None, False)])
def test_a_call_that_a_job_answers_is_counted_by_the_job_alone(
    call: MeteredCall, counted: Counted, monkeypatch: pytest.MonkeyPatch, table: str | None, ran: bool
) -> None:
    monkeypatch.setenv("JOB_TABLE", table) if table else monkeypatch.delenv("JOB_TABLE", raising=False)
    pieces = call.stream(stream(error=errors.endpoint_not_ready("ModelNotReadyException", ran=ran)))
    with pytest.raises(errors.InvocationError):
        next(pieces)
    taken_over = table is not None and not ran
    assert (counted.withdrawn, counted.said) == (int(taken_over), [] if taken_over else [(7 * ran, 0, True)])


def test_an_engine_that_dies_in_the_middle_is_an_error_with_what_came(call: MeteredCall, counted: Counted) -> None:
    pieces = call.stream(stream(CHUNK, error=errors.model_timeout()))
    with pytest.raises(errors.InvocationError):
        list(pieces)
    assert counted.said == [(7, 1, True)]


def test_a_refused_call_costs_nothing_and_one_that_ran_its_prompt(call: MeteredCall, counted: Counted) -> None:
    for error in (errors.container_error(400, "no"), errors.throttled("x"), errors.model_timeout()):
        with suppress(errors.InvocationError), call.whole():
            raise error
    assert counted.said == [(0, 0, True), (0, 0, True), (7, 0, True)]


def test_a_whole_answer_counts_the_engines_figures_or_its_bytes(call: MeteredCall, counted: Counted) -> None:
    with call.whole():
        call.answer(b"x" * 41)
    assert counted.said == [(7, 11, False)]


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (b'{"usage": {"prompt_tokens": 3, "completion_tokens": 4}}', (3, 4)),
        (b'{"usage": {"prompt_tokens": 3}}', (3, 0)),
        (b'[{"details": {"generated_tokens": 4}}, {"details": {"generated_tokens": 5}}]', (None, 9)),
        (b'{"generated_text": "x", "details": {"generated_tokens": 4}}', (None, 4)),
        (b'[{"details": {"prompt_tokens": 2, "generated_tokens": 4}}, {"details": {"generated_tokens": 5}}]', (2, 9)),
        (b'[[{"details": {"prompt_tokens": 2, "generated_tokens": 4}}], [{"generated_text": "x"}]]', None),
        (
            b'[[{"details": {"prompt_tokens": 2, "generated_tokens": 4}}],'
            b' [{"details": {"prompt_tokens": 3, "generated_tokens": 1}}]]',
            (5, 5),
        ),
        (b'{"usage": {"prompt_tokens": -3, "completion_tokens": 4}}', None),
        (b'{"usage": {"prompt_tokens": 3, "completion_tokens": 1%s}}' % (40 * b"0"), None),
        (b'{"usage": {"prompt_tokens": true, "completion_tokens": 4}}', None),
        (b'{"details": [1]}', None),
        (b"[" * 100_000, None),
        (b"not json", None),
        (b"3", None),
    ],
)
def test_tokens_of_answers(answer: bytes, tokens: tuple[int | None, int] | None) -> None:
    assert tokens_of(answer) == tokens


def test_a_charge_has_no_more_digits_than_dynamodbs_numbers() -> None:
    document = {"prompt": "a", "max_tokens": 10**60}
    rules = RequestRules("vllm", ("prompt",), {"max_tokens": {"minimum": 1}}, 1000)
    assert sum(most_tokens(document, rules)) < 10**9


@pytest.mark.parametrize("sleeps", [True, False])
def test_a_whole_call_that_meets_the_model_asleep_is_charged_by_its_job_only(
    call: MeteredCall, counted: Counted, monkeypatch: pytest.MonkeyPatch, sleeps: bool
) -> None:
    """A model that never sleeps and is not ready gets no job for POST /generate: the call is a failed one."""
    monkeypatch.setenv("JOB_TABLE", "jobs")
    if sleeps:
        monkeypatch.setenv("WAKES_PER_DAY", "5")
    with suppress(errors.InvocationError), call.whole():
        raise errors.endpoint_not_ready("no capacity", ran=False)
    assert (counted.withdrawn, counted.said) == ((1, []) if sleeps else (0, [(0, 0, True)]))


@pytest.mark.parametrize(
    ("models", "asked", "code"),
    [
        (("legal",), "legal", None),
        (("legal",), "sales", "model_not_found"),
        (("legal",), None, "model_not_found"),
        (("lmi",), None, None),
        (("lmi",), "legal", "model_not_found"),
    ],
)
def test_a_key_may_ask_for_the_adapters_that_it_names(
    monkeypatch: pytest.MonkeyPatch, models: tuple[str, ...], asked: str | None, code: str | None
) -> None:
    names = ("Qwen/Qwen3-4B", "lmi")
    deployed = SimpleNamespace(model_id="Qwen/Qwen3-4B", model_names=names, adapters=("legal", "sales"))
    monkeypatch.setattr("inference_api.model.metered_call.settings", lambda: deployed)
    request: Any = SimpleNamespace(key=AuthorizedKey("team-a", models=models), told={})
    refused = None
    try:
        check_model(request, {"model": asked} if asked else {})
    except ApiError as error:
        refused = error.code
    assert refused == code
