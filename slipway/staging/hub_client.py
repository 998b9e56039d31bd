"""Sets limits on the HTTP client of huggingface_hub.

The library itself waits forever for some answers, and waits before a retry as long as the Hub asks.
"""

from httpx2 import Client, Request, Response, Timeout, codes
from huggingface_hub import constants, set_client_factory
from huggingface_hub.utils import hf_raise_for_status, parse_ratelimit_headers  # type: ignore[attr-defined]
from huggingface_hub.utils._http import default_client_factory  # it says what the library needs of a client

_LONGEST_WAIT = 10  # seconds, up to five times
# The Hub counts requests in windows of five minutes (huggingface.co/docs/hub/rate-limits).
_LONGEST_WAIT_OF_DOWNLOADS = 300


def set_limits() -> None:
    """Set the limits for all requests of this process. HF_HUB_DOWNLOAD_TIMEOUT: seconds without a byte (default 10)."""
    set_client_factory(_client)


def asked_wait(answer: Response) -> int:
    """Seconds that the Hub asks to wait, as the library reads them; 0 = it does not ask."""
    limit, text = parse_ratelimit_headers(answer.headers), answer.headers.get("retry-after", "").strip()
    if answer.status_code == codes.TOO_MANY_REQUESTS and limit and limit.remaining == 0:
        return limit.reset_in_seconds
    return int(text) if text.isdecimal() else 0


def _client() -> Client:
    client = default_client_factory()
    client.event_hooks["request"].append(_bound)
    client.event_hooks["response"].append(_demand_short_wait)
    return client


def _bound(request: Request) -> None:
    if request.extensions["timeout"]["read"] is None:
        request.extensions["timeout"] = Timeout(constants.HF_HUB_DOWNLOAD_TIMEOUT).as_dict()


def _demand_short_wait(answer: Response) -> None:
    """Raise HfHubHTTPError for a long wait. The library does not retry after this error."""
    is_download = constants.X_HF_DOWNLOAD_COUNTER in answer.request.headers
    if answer.is_error and asked_wait(answer) > (_LONGEST_WAIT_OF_DOWNLOADS if is_download else _LONGEST_WAIT):
        hf_raise_for_status(answer)
