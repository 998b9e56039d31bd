"""A function's response and its log line."""

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError

from inference_api.http.gateway import Request, Response, StreamedResponse, answers, streams
from inference_api.keys.named_key import AuthorizedKey
from inference_api.shared.errors import ApiError, BusyError, InvocationError, endpoint_unreachable, model_timeout
from inference_api.shared.settings import logs_requests

EVENTS = Path(__file__).parents[3] / "events"
CANARY = "my secret prompt"


def event(name: str, **changes: Any) -> dict[str, Any]:
    return dict(json.loads((EVENTS / f"{name}.json").read_text()), **changes)


def log_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (line,) = capsys.readouterr().out.splitlines()
    return dict(json.loads(line))


def caller_of(name: str, **identity: str | None) -> str | None:
    changed = event(name)
    changed["requestContext"]["identity"].update(identity)
    return Request.from_event(changed).caller


@answers
def echo(request: Request) -> Response:
    return Response(200, {"echo": request.body.decode()})


@answers
def too_busy(request: Request) -> Response:
    raise ApiError("throttled", CANARY, field="inputs", retry_after_in_seconds=2, cause="ThrottlingException")


@answers
def broken(request: Request) -> Response:
    raise ValueError(CANARY)


def test_every_response_names_its_request_and_is_neither_stored_nor_sniffed() -> None:
    answer = echo(event("generate_with_iam"), None)
    assert answer["headers"].pop("openai-processing-ms").isdecimal()
    assert answer["headers"] == {
        "content-type": "application/json",
        "x-request-id": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }


def test_an_error_has_code_message_and_field_and_what_clients_of_openai_read() -> None:
    answer = too_busy(event("generate_with_iam"), None)
    assert answer["statusCode"] == 429
    assert answer["headers"]["retry-after"] == "2"
    assert answer["headers"]["x-request-id"] == "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"
    assert json.loads(answer["body"]) == {
        "error": {
            "code": "throttled",
            "message": CANARY,
            "field": "inputs",
            "type": "rate_limit_error",
            "param": "inputs",
        }
    }


def test_an_unexpected_error_shows_nothing_of_itself() -> None:
    answer = broken(event("generate_with_iam"), None)
    assert answer["statusCode"] == 500
    assert json.loads(answer["body"])["error"]["code"] == "internal_error"
    assert CANARY not in str(answer)


def test_an_unexpected_error_is_logged_by_class_and_place_only(capsys: pytest.CaptureFixture[str]) -> None:
    broken(event("generate_with_iam"), None)
    line = log_line(capsys)
    assert CANARY not in str(line)
    assert line["code"] == "internal_error"
    assert line["cause"].startswith("ValueError at ")


def test_the_log_line_has_sizes_and_no_texts(capsys: pytest.CaptureFixture[str]) -> None:
    echo(event("generate_with_iam", body=CANARY), None)
    line = log_line(capsys)
    assert line.pop("latency_ms") >= 0
    assert line == {
        "request_id": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
        "route": "POST /generate",
        "status": 200,
        "code": None,
        "cause": None,
        "bytes_in": len(CANARY),
        "bytes_out": len(json.dumps({"echo": CANARY})),
        "caller": caller_of("generate_with_iam"),
    }


def test_a_refusal_is_logged_by_code_and_cause(capsys: pytest.CaptureFixture[str]) -> None:
    too_busy(event("generate_with_iam"), None)
    line = log_line(capsys)
    assert (line["status"], line["code"], line["cause"]) == (429, "throttled", "ThrottlingException")
    assert CANARY not in str(line)


@pytest.fixture
def tells_nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set `logs.requests: none`."""
    monkeypatch.setenv("LOG_REQUESTS", "none")
    logs_requests.cache_clear()
    yield
    logs_requests.cache_clear()


@pytest.mark.parametrize("route", [echo, too_busy])
def test_without_lines_for_requests_answers_and_refusals_leave_none(
    tells_nothing: None, capsys: pytest.CaptureFixture[str], route: Any
) -> None:
    route(event("generate_with_iam", body=CANARY), None)
    assert capsys.readouterr().out == ""


def test_without_lines_for_requests_a_failure_is_told_without_its_caller(
    tells_nothing: None, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(event("generate_with_iam", body=CANARY), None)
    line = log_line(capsys)
    assert set(line) == {"request_id", "route", "status", "code", "cause", "latency_ms"}
    assert (line["status"], line["code"]) == (500, "internal_error")


def test_an_event_of_another_source_is_still_answered(capsys: pytest.CaptureFixture[str]) -> None:
    answer = echo({}, SimpleNamespace(aws_request_id="the-functions-own"))
    assert (answer["statusCode"], log_line(capsys)["code"]) == (500, "internal_error")
    assert answer["headers"]["x-request-id"] == "the-functions-own"


def test_a_body_in_base64_is_the_same_body() -> None:
    raw = b'{"inputs": "\xff"}'
    request = Request.from_event(event("generate_with_iam", body=b64encode(raw).decode(), isBase64Encoded=True))
    assert request.body == raw


def test_a_body_of_text_keeps_its_bytes() -> None:
    assert Request.from_event(event("generate_with_iam", body="caf\u00e9 \U0001f600")).body == "café 😀".encode()


def test_a_request_without_headers_has_no_content_type() -> None:
    assert Request.from_event(event("describe_endpoint", headers=None)).content_type is None


@pytest.mark.parametrize("name", ["Content-Type", "content-type", "CONTENT-TYPE"])
def test_header_names_are_read_in_any_case(name: str) -> None:
    assert Request.from_event(event("generate_with_iam", headers={name: "text/plain"})).content_type == "text/plain"


def test_two_sessions_of_one_role_are_one_caller() -> None:
    session = caller_of("generate_with_iam")
    assert caller_of("generate_with_iam", caller="AROAEXAMPLEROLEIDXXXX:another") == session
    assert caller_of("generate_with_iam", caller="AROAANOTHERROLEIDXXXX:nightly-report") != session
    assert caller_of("generate_with_iam", accountId="444455556666") != session


def test_the_caller_behind_a_key_is_the_keys_id_and_never_shown() -> None:
    caller = caller_of("generate_with_api_key")
    assert caller is not None
    assert (len(caller), "q1w2e3r4t5" in caller) == (32, False)
    assert caller != caller_of("generate_with_api_key", apiKeyId="another")


def test_an_open_api_has_no_caller() -> None:
    assert caller_of("generate_with_api_key", apiKeyId=None) is None


def client_error(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": CANARY}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "PutItem")


def answer_to(error: Exception) -> dict[str, Any]:
    @answers
    def failing(request: Request) -> Response:
        raise error

    return failing(event("generate_with_iam"), None)


@pytest.mark.parametrize(
    "error",
    [
        client_error("ProvisionedThroughputExceededException", 400),
        client_error("ThrottlingException", 400),
        client_error("RequestLimitExceeded", 400),
        client_error("SlowDown", 503),
        client_error("InternalServerError", 500),
        ConnectTimeoutError(endpoint_url="https://dynamodb"),
        ReadTimeoutError(endpoint_url="https://dynamodb"),
        BusyError(),
    ],
)
def test_a_passing_failure_is_a_503_with_retry_after(error: Exception) -> None:
    answer = answer_to(error)
    assert answer["statusCode"] == 503
    assert int(answer["headers"]["retry-after"]) >= 1
    assert json.loads(answer["body"])["error"]["code"] == "overloaded"
    assert CANARY not in answer["body"]


def test_a_lasting_failure_is_a_500() -> None:
    assert answer_to(client_error("AccessDeniedException", 400))["statusCode"] == 500


def test_a_route_sees_path_query_and_idempotency_key() -> None:
    changed = event("generate_with_iam", pathParameters={"id": "x"}, queryStringParameters={"wait": "5"})
    changed["headers"]["IDEMPOTENCY-KEY"] = "order 7"
    request = Request.from_event(changed)
    assert (request.path, request.query, request.idempotency_key) == ({"id": "x"}, {"wait": "5"}, "order 7")


def test_a_response_can_point_to_another_place() -> None:
    assert Response(202, {}, location="jobs/x").for_gateway("r")["headers"]["location"] == "jobs/x"


def event_of_key(**context: str) -> dict[str, Any]:
    changed = event("generate_with_api_key")
    changed["requestContext"]["authorizer"] = {"principalId": "0123", **context}
    return changed


def test_the_caller_behind_a_named_key_outlives_its_value() -> None:
    first, rotated = event_of_key(key="alice"), event_of_key(key="alice")
    rotated["requestContext"]["identity"]["apiKeyId"] = "another"
    callers = {Request.from_event(each).caller for each in (first, rotated)}
    assert len(callers) == 1
    assert callers.isdisjoint({Request.from_event(event_of_key(key="bob")).caller, caller_of("generate_with_api_key")})


def test_a_key_without_a_name_keeps_the_caller_that_it_had_without_an_authorizer() -> None:
    assert Request.from_event(event_of_key()).caller == caller_of("generate_with_api_key")


def test_a_key_whose_id_is_not_told_is_known_by_its_principal() -> None:
    changed = event_of_key()
    changed["requestContext"]["identity"]["apiKeyId"] = None
    assert Request.from_event(changed).caller not in (None, caller_of("generate_with_api_key"))


def test_the_caller_behind_a_token_is_its_subject_whatever_key_and_group_come_with_it() -> None:
    events = [event_of_key(subject="alice", expires="9999999999", **more) for more in ({}, {"group": "staff"})]
    events[1]["requestContext"]["identity"]["apiKeyId"] = "another"
    events[1]["headers"] |= {"x-subject": "bob", "authorization": "Bearer another"}
    callers = {Request.from_event(each).caller for each in events}
    assert len(callers) == 1
    others = {Request.from_event(event_of_key(**each)).caller for each in ({"subject": "bob"}, {"key": "alice"}, {})}
    assert callers.isdisjoint(others)


def test_a_group_s_limits_are_those_of_its_caller() -> None:
    request = Request.from_event(event_of_key(subject="alice", group="staff", tokens_per_minute="60", models="a,b"))
    assert request.key == AuthorizedKey("staff", tokens_per_minute=60, models=("a", "b"), is_group=True)


def test_a_token_that_expires_while_its_authorizers_answer_is_kept_is_a_401_with_a_challenge() -> None:
    answer = echo(event_of_key(subject="alice", expires="1600000000"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (401, "invalid_token")
    assert answer["headers"]["www-authenticate"] == 'Bearer error="invalid_token"'


def test_a_key_that_expires_while_its_authorizers_answer_is_kept_is_a_401() -> None:
    answer = echo(event_of_key(key="alice", expires="1600000000"), None)
    assert answer["statusCode"] == 401
    assert json.loads(answer["body"])["error"]["code"] == "invalid_api_key"
    assert echo(event_of_key(key="alice", expires="9999999999"), None)["statusCode"] == 200


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (model_timeout(), True),
        (ApiError("answer_too_large", ""), True),
        (ApiError("internal_error", ""), True),
        (endpoint_unreachable("ReadTimeout", ran=True), True),
        (endpoint_unreachable("ConnectTimeout", ran=False), False),
        (ApiError("throttled", ""), False),
    ],
)
def test_clients_are_told_not_to_repeat_what_may_be_paid_twice(error: ApiError, told: bool) -> None:
    assert answer_to(error)["headers"].get("x-should-retry") == ("false" if told else None)


def streamed(*pieces: bytes | Exception, content_type: str = "text/event-stream") -> Any:
    def each() -> Iterator[bytes]:
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    @streams
    def route(request: Request) -> StreamedResponse:
        return StreamedResponse(each(), content_type)

    return route(event("generate_with_iam"), None)


def test_a_stream_is_logged_once_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    answer = streamed(b"one", b"two")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert capsys.readouterr().out == ""
    assert b"".join(answer.pieces) == b"onetwo"
    line = log_line(capsys)
    assert 0 <= line["first_byte_ms"] <= line["latency_ms"]
    assert (line["status"], line["code"], line["bytes_out"], line["hung_up"]) == (200, None, 6, False)


def test_an_error_of_the_first_piece_has_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    answer = streamed(ApiError("throttled", "", retry_after_in_seconds=2))
    assert (answer.status, answer.headers["retry-after"]) == (429, "2")
    assert json.loads(b"".join(answer.pieces))["error"]["type"] == "rate_limit_error"
    assert log_line(capsys)["code"] == "throttled"


@pytest.mark.parametrize(("content_type", "first"), [("text/event-stream", b"data: 1\n\n"), ("application/json", b" ")])
def test_a_later_error_is_the_last_of_the_stream(
    capsys: pytest.CaptureFixture[str], content_type: str, first: bytes
) -> None:
    answer = streamed(first, model_timeout(), content_type=content_type)
    text = b"".join(answer.pieces)
    error = json.loads(text.removeprefix(first).removeprefix(b"data: "))["error"]
    assert (answer.status, error["code"], error["type"]) == (200, "model_timeout", "server_error")
    line = log_line(capsys)
    assert (line["status"], line["code"], line["bytes_out"]) == (200, "model_timeout", len(text))


def test_a_later_error_of_any_other_content_breaks_it_off() -> None:
    answer = streamed(b"half", model_timeout(), content_type="text/plain")
    with pytest.raises(InvocationError):
        list(answer.pieces)


def test_a_caller_who_leaves_is_logged_even_if_nothing_was_sent(capsys: pytest.CaptureFixture[str]) -> None:
    streamed(b"one", b"two").pieces.close()
    line = log_line(capsys)
    assert (line["bytes_out"], line["hung_up"]) == (0, True)
