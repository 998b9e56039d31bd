"""Sends one request of a load test by a route of the API, and notes the moments that its caller sees."""

import json
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, Literal, Protocol

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from urllib3.exceptions import HTTPError, ReadTimeoutError

from inference_api.jobs.state.items import from_item, job_key
from llm_hosting.resolution import Resolution
from slipway.measuring.figures.results import MeasuredAnswer
from slipway.measuring.prompts import Prompt
from slipway.stack.api import OPEN_JOB, DeployedApi, answer_of
from slipway.stack.deployed_stack import DeployedStack
from slipway.stack.prompt import request_body

_WAIT_IN_SECONDS = 6 * 3600  # of a job, whose own deadline is shorter
_READ_IN_BYTES = 65_536
_TEXTS = ("content", "reasoning_content", "reasoning")  # engines have two names for the reasoning before the answer

Name = Literal["generate", "chat", "responses", "embeddings", "jobs"]


class MeasuredRoute(Protocol):
    """A route that a load test calls.

    name: as in `--route`. problem: the API's words for the last request that it refused; "" = it refused none.
    """

    name: Name
    problem: str

    def ask(self, prompt: Prompt) -> MeasuredAnswer:
        """Send one request and wait for its end. Times count from now; `started_in_s` is 0. Errors are returned as
        codes.
        """


class RouteError(Exception):
    """The deployment does not have the route; the message is one sentence."""


class Generate:
    """POST /generate, which returns the whole answer at once. counts: as in `body_of`."""

    name: Name = "generate"
    problem = ""

    def __init__(self, stack: DeployedStack, api: DeployedApi, *, counts: bool = False) -> None:
        self._bodies, self._api, self._counts = stack.bodies, api, counts

    def ask(self, prompt: Prompt) -> MeasuredAnswer:
        """Send one request. A 202 is an error here: the answer took so long that it became a job."""
        body, start = body_of(prompt, self._bodies, counts=self._counts), time.monotonic()

        def send() -> MeasuredAnswer:
            reply = self._api.call("POST", "generate", body)
            if reply.status != 200:
                self.problem = reply.problem
                return MeasuredAnswer(0, error=str(reply.status))
            answered = MeasuredAnswer(0, last_token_in_s=time.monotonic() - start)
            is_whole = isinstance(reply.content, dict | list)  # text = no JSON, such as half of it
            return _counted(answered, reply.content) if is_whole else MeasuredAnswer(0, error="unreadable")

        return _safely(send)


class Chat:
    """POST /chat/completions with `stream`. asks_usage: whether the engine counts tokens in a stream."""

    name: Name = "chat"
    problem = ""
    _path = "chat/completions"

    def __init__(self, stack: DeployedStack, api: DeployedApi, *, asks_usage: bool = True) -> None:
        self._api = api
        listed = api.call("GET", "models")
        self._model = listed.content["data"][0]["id"] if listed.status == 200 else stack.label.model
        self._options = {"stream_options": {"include_usage": True}} if asks_usage else {}

    def ask(self, prompt: Prompt) -> MeasuredAnswer:
        body = json.dumps({"model": self._model, "stream": True, **self._body(prompt)}).encode()
        start, headers = time.monotonic(), {"content-type": "application/json"}

        def send() -> MeasuredAnswer:
            reply = self._api.send("POST", self._path, body, headers)
            if reply.status_code == 200:
                return self._read(reply.raw, start)
            self.problem = answer_of(reply).problem
            return MeasuredAnswer(0, error=str(reply.status_code))

        return _safely(send)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        length = {"max_tokens": prompt.answer_tokens} if prompt.answer_tokens else {}
        return {"messages": [{"role": "user", "content": prompt.text}], **length, **self._options}

    def _read(self, raw: Any, start: float) -> MeasuredAnswer:
        answer = MeasuredAnswer(0)
        for data in _events(raw):
            if data == "[DONE]":
                answer = replace(answer, last_token_in_s=time.monotonic() - start)
                raw.drain_conn()
                return answer
            chunk = json.loads(data)
            if "error" in chunk:
                return replace(answer, error=str(chunk["error"].get("code") or "stream"))
            deltas = [choice.get("delta", {}) for choice in chunk.get("choices", [])]
            if answer.first_token_in_s is None and any(delta.get(text) for delta in deltas for text in _TEXTS):
                answer = replace(answer, first_token_in_s=time.monotonic() - start)
            answer = _counted(answer, chunk)
        return replace(answer, error="cut")  # before its [DONE]


class Embeddings:
    """POST /embeddings. texts: how many a request has; each begins with its number, so that no two are the same."""

    name: Name = "embeddings"
    problem = ""

    def __init__(self, api: DeployedApi, texts: int = 1) -> None:
        self._api, self._texts = api, texts

    def ask(self, prompt: Prompt) -> MeasuredAnswer:
        texts = [f"{number} {prompt.text}" for number in range(self._texts)] if self._texts > 1 else [prompt.text]
        body, start = {"input": texts, "encoding_format": "base64"}, time.monotonic()

        def send() -> MeasuredAnswer:
            reply = self._api.call("POST", "embeddings", body)
            if reply.status != 200 or "error" in reply.content:
                self.problem = reply.problem
                return MeasuredAnswer(0, error=str(reply.status))
            tokens = reply.content["usage"]["prompt_tokens"]
            return MeasuredAnswer(0, last_token_in_s=time.monotonic() - start, prompt_tokens=tokens, answer_tokens=0)

        return _safely(send)


class Responses(Chat):
    """POST /responses with `stream`."""

    name: Name = "responses"
    _path = "responses"

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        length = {"max_output_tokens": prompt.answer_tokens} if prompt.answer_tokens else {}
        return {"input": prompt.text, **length}

    def _read(self, raw: Any, start: float) -> MeasuredAnswer:
        answer = MeasuredAnswer(0)
        for data in _events(raw):
            event = json.loads(data)
            match event["type"]:
                case "response.completed" | "response.incomplete":
                    answer = replace(answer, last_token_in_s=time.monotonic() - start)
                    raw.drain_conn()
                    return _counted(answer, event["response"])
                case "response.failed":
                    return replace(answer, error=str(event["response"]["error"]["code"]))
                case kind if answer.first_token_in_s is None and kind.endswith("_text.delta"):
                    answer = replace(answer, first_token_in_s=time.monotonic() - start)
        return replace(answer, error="cut")  # before its last event


class JobsRoute:
    """POST /jobs, then GET /jobs/{id}, which waits for the job's end. counts: as in `body_of`."""

    name: Name = "jobs"
    problem = ""

    def __init__(self, stack: DeployedStack, api: DeployedApi, *, counts: bool = False) -> None:
        self._bodies, self._api, self._counts = stack.bodies, api, counts
        self._table, self._dynamodb = stack.outputs["JobTable"], stack.clients("dynamodb")

    def ask(self, prompt: Prompt) -> MeasuredAnswer:
        body, start = body_of(prompt, self._bodies, counts=self._counts), time.monotonic()

        def send() -> MeasuredAnswer:
            reply = self._api.call("POST", "jobs", body)
            if reply.status >= 400:
                self.problem = reply.problem
                return MeasuredAnswer(0, error=str(reply.status))
            job = self._api.ended(reply.content, _WAIT_IN_SECONDS)
            content = self._api.fetch(job["output_url"]).content if "output_url" in job else job.get("output")
            delivered = time.monotonic() - start
            answer = self._recorded(job["id"], delivered)
            if job["status"] != "succeeded":
                self.problem = f"the job {job['id']} ended as {job['status']}: {job.get('error')}"
                return replace(answer, error="open" if job["status"] in OPEN_JOB else job["status"])
            return _counted(answer, content)

        return _safely(send)

    def _recorded(self, job_id: str, delivered: float) -> MeasuredAnswer:
        """Times from the job's record. Its clock is the functions', so only differences of its times are used;
        milliseconds.
        """
        found = self._dynamodb.get_item(TableName=self._table, Key=job_key(job_id), ConsistentRead=True)
        if "Item" not in found:
            return MeasuredAnswer(0, delivered_in_s=delivered)
        job = from_item(found["Item"])
        return MeasuredAnswer(
            0,
            last_token_in_s=min(delivered, round(job.ended_at - job.accepted_at, 3)) if job.ended_at else None,
            queued_in_s=round(job.claimed_at - job.accepted_at, 3) if job.claimed_at else None,
            attempts=job.attempts or None,
            delivered_in_s=delivered,
        )


def route_of(
    stack: DeployedStack, api: DeployedApi, resolution: Resolution, asked: str | None, *, texts: int = 1
) -> MeasuredRoute:
    """Choose the route. asked: None = the one that tells most about this deployment. texts: of a request of embeddings.

    Raises RouteError.
    """
    is_realtime = resolution.deployment.hosting.answers_at_once
    has = {
        "chat": "chat" in resolution.openai_routes,
        "responses": "chat" in resolution.openai_routes,
        "embeddings": is_realtime and "embeddings" in resolution.openai_routes,
        "generate": is_realtime,
        "jobs": "JobTable" in stack.outputs,
    }
    facts: Any = resolution.openai_facts
    streams, asks_usage = ("messages" in facts.get(name, ()) for name in ("streams", "asks_usage"))
    # In other modes the stream is cut from a whole answer, so its first token has no meaning.
    best = "chat" if streams and has["chat"] else "embeddings" if has["embeddings"] else "generate"
    name = asked or (best if is_realtime else "jobs")
    if not has[name]:
        others = ", ".join(route for route, is_there in has.items() if is_there) or "none"
        raise RouteError(f"--route: {stack.name} has no {name}; it has {others}.")
    if texts > 1 and name != "embeddings":
        raise RouteError(f"--texts: a request of {name} has one prompt; leave it out, or use --route embeddings.")
    if name == "embeddings":
        return Embeddings(api, texts)
    if name == "chat":
        return Chat(stack, api, asks_usage=asks_usage)
    if name == "responses":
        return Responses(stack, api)
    counts = facts.get("inputs") in ("tgi", "rolling-batch")
    return JobsRoute(stack, api, counts=counts) if name == "jobs" else Generate(stack, api, counts=counts)


def body_of(prompt: Prompt, bodies: Collection[str], *, counts: bool = False) -> dict[str, Any]:
    """The body for POST /generate and /jobs. counts: ask for `details`, without which TGI and LMI count no tokens."""
    body = request_body(prompt.text, bodies, max_tokens=prompt.answer_tokens)
    if counts and "inputs" in body:
        body.setdefault("parameters", {})["details"] = True
    return body


def _safely(send: Callable[[], MeasuredAnswer]) -> MeasuredAnswer:
    """Turn exceptions into error codes: botocore's before the answer begins, urllib3's while it is read."""
    try:
        return send()
    except ReadTimeoutError:
        return MeasuredAnswer(0, error="timeout")
    except (BotoConnectionError, HTTPClientError, HTTPError, OSError):
        return MeasuredAnswer(0, error="connection")
    except BotoCoreError:
        return MeasuredAnswer(0, error="credentials")
    except ClientError as error:
        return MeasuredAnswer(0, error=error.response["Error"]["Code"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return MeasuredAnswer(0, error="unreadable")


def _events(raw: Any) -> Iterator[str]:
    """Yield the data of each server-sent event as soon as its line is complete. raw: urllib3's response."""
    held = b""
    for piece in raw.stream(_READ_IN_BYTES):
        *lines, held = (held + piece).split(b"\n")
        yield from (line[5:].strip().decode() for line in lines if line.startswith(b"data:"))


def _counted(answer: MeasuredAnswer, content: Any) -> MeasuredAnswer:
    """Add the tokens that the server counted, in the words of OpenAI's chats, of its responses, or of TGI and LMI."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict):
        return answer
    usage, details = first.get("usage") or {}, first.get("details") or {}
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    tokens = usage.get("completion_tokens", usage.get("output_tokens", details.get("generated_tokens")))
    return replace(
        answer,
        prompt_tokens=prompt if prompt is not None else answer.prompt_tokens,
        answer_tokens=tokens if tokens is not None else answer.answer_tokens,
    )
