"""A client for the jobs of a Slipway API, to copy and change: it submits, waits, retries and returns the answer.

    jobs = JobClient("https://<api id>.execute-api.us-east-1.amazonaws.com/v1/")
    answer = jobs.run({"inputs": "A list is", "parameters": {"max_new_tokens": 40}})

It needs botocore to sign requests; with an API key it needs only Python.
"""

import argparse
import http.client
import json
import logging
import os
import random
import sys
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Job = dict[str, Any]
Authorize = Callable[[str, str, bytes | None, dict[str, str]], dict[str, str]]

LONGEST_HOLD_IN_SECONDS = 25  # the API's own limit
TIMEOUT_IN_SECONDS = 35  # the gateway answers within 29
LONGEST_PAUSE_IN_SECONDS = 20

_LOG = logging.getLogger("job_client")


class ApiError(Exception):
    """The API refused a request for good; the message says what to change."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message


class UnavailableError(ApiError):
    """There was no answer, or only 429 and 5xx, until the client's patience ran out."""


class JobError(Exception):
    """A job ended without an answer. job: its description by the API."""

    def __init__(self, job: Job) -> None:
        self.job, self.code = job, job.get("error", {}).get("code")
        why = f", {self.code}: {job['error']['message']}" if self.code else ""
        super().__init__(f"job {job['id']} is {job['status']}{why}")


class JobFailedError(JobError):
    """Every attempt failed. The request is at fault if the code is rejected_by_model or context_length_exceeded."""


class JobExpiredError(JobError):
    """The job has no answer at its deadline."""


class JobCancelledError(JobError):
    """The owner cancelled the job."""


class StillRunningError(JobError):
    """The caller's time is over and the job goes on: wait for it again by its id."""


class Response(NamedTuple):
    """An HTTP response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def retry_after(self) -> float:
        """Seconds; 0 without the header."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isdecimal() else 0

    def error(self) -> ApiError:
        kind = UnavailableError if self.status == 429 or self.status >= 500 else ApiError
        try:
            said = self.json()["error"]
            kind = ApiError if said["code"] == "endpoint_not_deployed" else kind  # waiting does not end this 503
            return kind(self.status, said["code"], said["message"])
        except (ValueError, KeyError, TypeError):
            return kind(self.status, "unexpected_answer", self.body[:200].decode(errors="replace"))


class JobClient:
    """Signs with the AWS credentials of the environment, or sends an API key or a token.

    token: returns a token that is valid now; it is asked for each request.
    hold: seconds for which the API may hold a request for a job. 25 gives the answer as soon as it exists; 0 costs less
    if jobs take minutes. patience: seconds for which a request is retried.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        token: Callable[[], str] | None = None,
        region: str | None = None,
        hold: int = LONGEST_HOLD_IN_SECONDS,
        patience: float = 120,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/") + "/"
        if token:
            self._authorize = _with_token(token)
        else:
            self._authorize = _with_key(api_key) if api_key else _signed(self.url, region)
        self._hold, self._patience, self._clock, self._sleep = hold, patience, clock, sleep

    def run(self, body: Mapping[str, Any], *, seconds: float = 3600) -> Any:
        """Submit, wait for at most so many seconds, return the model's answer. Raises JobError or ApiError."""
        return self.output(self.wait(self.submit(body)["id"], seconds=seconds))

    def submit(self, body: Mapping[str, Any], *, key: str | None = None) -> Job:
        """Submit a job; returns it. The same key and body, sent again after a crash, return the same job."""
        headers = {"content-type": "application/json", "idempotency-key": key or str(uuid.uuid4())}
        job: Job = self._call("POST", "jobs", json.dumps(body).encode(), headers).json()
        return job

    def wait(self, job_id: str, *, seconds: float = 3600) -> Job:
        """Wait for the end; returns the job in its final state. Raises StillRunningError."""
        end = self._clock() + seconds
        while True:
            hold = max(0, min(self._hold, int(end - self._clock())))
            answer = self._call("GET", f"jobs/{job_id}?wait={hold}")
            job: Job = answer.json()
            if job["status"] not in ("queued", "running"):
                return job
            if self._clock() + answer.retry_after >= end:
                raise StillRunningError(job)
            self._sleep(answer.retry_after)  # 0 after a hold

    def output(self, job: Job) -> Any:
        """The answer of a job. A large one is fetched from S3 by a short-lived link, so call this soon after `wait`."""
        if job["status"] != "succeeded":
            errors = {"failed": JobFailedError, "expired": JobExpiredError, "cancelled": JobCancelledError}
            raise errors.get(job["status"], StillRunningError)(job)
        if "output" in job:
            return job["output"]
        answer = self._try(lambda: urllib.request.Request(job["output_url"]))
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.json() if is_json else answer.body.decode(errors="replace")

    def get(self, job_id: str) -> Job:
        """The job as it is now."""
        job: Job = self._call("GET", f"jobs/{job_id}").json()
        return job

    def list(self) -> Iterator[Job]:
        """The caller's jobs without their answers, newest first."""
        query: dict[str, Any] = {"limit": 100}
        while True:
            page = self._call("GET", f"jobs?{urllib.parse.urlencode(query)}").json()
            yield from page["jobs"]  # an empty page may have a next one
            if not page["next"]:
                return
            query["next"] = page["next"]

    def cancel(self, job_id: str) -> Job:
        """Cancel a job; returns it. It may have ended before, in another state."""
        try:
            self._call("DELETE", f"jobs/{job_id}")
        except ApiError as error:
            if error.code != "job_ended":
                raise
        return self.get(job_id)

    def _call(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        def request() -> urllib.request.Request:
            url = self.url + path
            authorized = self._authorize(method, url, body, dict(headers or {}))
            return urllib.request.Request(url, body, authorized, method=method)

        return self._try(request)

    def _try(self, request: Callable[[], urllib.request.Request]) -> Response:
        """Retry until the answer is final or patience runs out; each request is signed anew."""
        end, pause = self._clock() + self._patience, 0.5
        while True:
            try:
                with _OPENER.open(request(), timeout=TIMEOUT_IN_SECONDS) as response:
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    answer = Response(response.status, headers, response.read())
                if answer.status < 400:
                    return answer
                error, advised = answer.error(), answer.retry_after
            except (OSError, http.client.HTTPException) as lost:
                error, advised = UnavailableError(0, "no_answer", f"{type(lost).__name__}: {lost}"), 0
            # Random delays keep clients that were refused together from returning together.
            delay = advised + random.uniform(pause / 2, pause)
            if not isinstance(error, UnavailableError) or self._clock() + delay > end:
                raise error
            _LOG.warning("%s; trying again in %.1f s", error, delay)
            self._sleep(delay)
            pause = min(2 * pause, LONGEST_PAUSE_IN_SECONDS)


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Returns 4xx and 5xx as responses instead of raising."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response if response.status >= 400 else super().http_response(request, response)

    https_response = http_response


_OPENER = urllib.request.build_opener(_AnyStatus)


def _with_key(value: str) -> Authorize:
    return lambda method, url, body, headers: headers | {"x-api-key": value}


def _with_token(token: Callable[[], str]) -> Authorize:
    return lambda method, url, body, headers: headers | {"authorization": f"Bearer {token()}"}


def _signed(url: str, region: str | None) -> Authorize:
    import botocore.session
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    host = (urllib.parse.urlsplit(url).hostname or "").split(".")
    named = host[2] if len(host) > 3 and host[1] == "execute-api" else None
    place = region or named or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    credentials = botocore.session.get_session().get_credentials()
    if not place or credentials is None:
        raise ValueError("Signing needs AWS credentials and a region: set AWS_PROFILE and AWS_REGION.")

    def authorize(method: str, url: str, body: bytes | None, headers: dict[str, str]) -> dict[str, str]:
        request = AWSRequest(method, url, headers, body)
        SigV4Auth(credentials.get_frozen_credentials(), "execute-api", place).add_auth(request)
        return dict(request.headers)

    return authorize


def main() -> None:
    """Run one prompt and print its answer."""
    parser = argparse.ArgumentParser(description="Run one prompt as a job of a deployed model.")
    parser.add_argument("url", help="ApiUrl of the stack's outputs")
    parser.add_argument("prompt")
    parser.add_argument("--tokens", type=int, default=200, help="most tokens of the answer (default 200)")
    parser.add_argument("--seconds", type=float, default=3600, help="how long to wait (default 3600)")
    parser.add_argument("--region", help="region of the API, if its URL does not name it")
    parser.add_argument("--idempotency-key", help="sent again, the same key returns the same job")
    parser.add_argument("--api-key", default=os.environ.get("SLIPWAY_API_KEY"), help="in place of AWS credentials")
    arguments = parser.parse_args()
    body = {"inputs": arguments.prompt, "parameters": {"max_new_tokens": arguments.tokens}}
    try:
        jobs = JobClient(arguments.url, api_key=arguments.api_key, region=arguments.region)
        job_id = jobs.submit(body, key=arguments.idempotency_key)["id"]
        print(f"job {job_id}", file=sys.stderr)
        answer = jobs.output(jobs.wait(job_id, seconds=arguments.seconds))
    except (ApiError, JobError, ValueError) as error:
        sys.exit(str(error))
    print(answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
