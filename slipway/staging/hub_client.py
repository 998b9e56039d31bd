"""Sets limits on the HTTP client of huggingface_hub.

The library itself waits forever for some answers, and waits before a retry as long as the Hub asks.
"""

import logging
from collections.abc import Iterator
from time import monotonic
from typing import cast

from httpx2 import Client, HTTPError, Request, Response, SyncByteStream, Timeout, codes
from huggingface_hub import constants, set_client_factory
from huggingface_hub.utils import hf_raise_for_status, parse_ratelimit_headers  # type: ignore[attr-defined]
from huggingface_hub.utils._http import default_client_factory  # it says what the library needs of a client

from slipway.staging.hub_retries import AskingAgain, say

_LONGEST_WAIT = 10  # seconds, up to five times
# The Hub counts requests in windows of five minutes (huggingface.co/docs/hub/rate-limits).
_LONGEST_WAIT_OF_DOWNLOADS = 300
# An answer may take so many seconds, and one more for each thousand bytes of it; the user is told before.
_LONGEST_ANSWER_IN_SECONDS, _SLOW_ANSWER_IN_SECONDS, _SLOWEST_IN_BYTES_PER_SECOND = 30, 10, 1000


class SlowAnswerError(HTTPError):
    """An answer trickles. The library does not ask again after this error."""


class NoHubError(ValueError):
    """The answer is not a Hub's; the message ends a sentence that begins with the Hub."""


def set_limits() -> None:
    """Set the limits for all requests of this process. HF_HUB_DOWNLOAD_TIMEOUT: seconds without a byte (default 10)."""
    set_client_factory(_client)
    logging.getLogger("huggingface_hub").handlers = [AskingAgain()]


def asked_wait(answer: Response) -> int:
    """Seconds that the Hub asks to wait, as the library reads them; 0 = it does not ask."""
    limit, text = parse_ratelimit_headers(answer.headers), answer.headers.get("retry-after", "").strip()
    if answer.status_code == codes.TOO_MANY_REQUESTS and limit and limit.remaining == 0:
        return limit.reset_in_seconds
    return int(text) if text.isdecimal() else 0


def _client() -> Client:
    client = default_client_factory()
    client.event_hooks["request"].append(_bound)
    client.event_hooks["response"] += [_demand_short_wait, _demand_no_page, _bound_answer]
    return client


def _bound(request: Request) -> None:
    if request.extensions["timeout"]["read"] is None:
        request.extensions["timeout"] = Timeout(constants.HF_HUB_DOWNLOAD_TIMEOUT).as_dict()


def _demand_short_wait(answer: Response) -> None:
    """Raise HfHubHTTPError for a long wait. The library does not retry after this error."""
    is_download = constants.X_HF_DOWNLOAD_COUNTER in answer.request.headers
    if answer.is_error and asked_wait(answer) > (_LONGEST_WAIT_OF_DOWNLOADS if is_download else _LONGEST_WAIT):
        hf_raise_for_status(answer)


def _demand_no_page(answer: Response) -> None:
    """Raise NoHubError for an HTML page: a Hub sends JSON and files to programs."""
    is_page = answer.headers.get("content-type", "").startswith("text/html")
    if is_page and answer.is_success and answer.request.method == "GET":
        raise NoHubError(f"it sends an HTML page for {answer.request.url.path}, perhaps a proxy's login")


def _bound_answer(answer: Response) -> None:
    answer.stream = _InTime(str(answer.url), cast(SyncByteStream, answer.stream))


class _InTime(SyncByteStream):
    """The bytes of an answer; SlowAnswerError once they come too slowly. The limit of a read restarts at each byte."""

    def __init__(self, url: str, stream: SyncByteStream) -> None:
        self._url, self._stream = url, stream

    def __iter__(self) -> Iterator[bytes]:
        began, came, is_told = monotonic(), 0, False
        for piece in self._stream:
            came += len(piece)
            took = monotonic() - began
            late = took - came / _SLOWEST_IN_BYTES_PER_SECOND
            if late > _LONGEST_ANSWER_IN_SECONDS:
                raise SlowAnswerError(f"it sent only {came:,} bytes in {took:.0f} s")
            if late > _SLOW_ANSWER_IN_SECONDS and not is_told:
                say(self._url, "answers slowly: waiting for the rest")
                is_told = True
            yield piece

    def close(self) -> None:
        self._stream.close()
