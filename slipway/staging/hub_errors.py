"""The errors between this machine and a Hub, each as one sentence."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from json import JSONDecodeError

from httpx2 import HTTPError, InvalidURL  # huggingface_hub passes the errors of its HTTP client on
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from llm_hosting.file_errors import why
from slipway.staging.hub_client import NoHubError, asked_wait

_TOKEN = "HF_TOKEN or model.hub_token_secret_arn"
_UNASKED = "{hub} could not be asked: {why}"
_NO_HUB = "{hub} did not answer as a Hub does: {why}."
_SENTENCES: Mapping[type[Exception], str] = {  # the first match counts
    GatedRepoError: "{model} is gated: accept its terms at {page}, and give a token of that account with {token}.",
    RevisionNotFoundError: "model.revision: {model} has no {revision!r}; see {page}/commits.",
    RepositoryNotFoundError: "model.id: {hub} has no {model}, or it is private; then give a token with {token}.",
    DisabledRepoError: "{model} was disabled by the Hub; see {page}.",
    OfflineModeIsEnabled: "HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) is set, so {hub} is not asked; unset it.",
    **dict.fromkeys((HTTPError, InvalidURL, EntryNotFoundError, HFValidationError), _UNASKED),
    RuntimeError: _UNASKED,  # another thread has closed the client after it got no connection
    # For example from a proxy that asks for a login.
    **dict.fromkeys((AttributeError, LookupError, TypeError, ValueError), _NO_HUB),
}
_SENTENCES_BY_STATUS = {
    401: "{hub} does not know the token; give another with {token}.",
    429: "{hub} was asked too often: {later}{or_token}.",
    **dict.fromkeys((408, 500, 502, 503, 504), f"{_UNASKED}; {{later}}."),
}


class HubError(Exception):
    """The Hub refused a request or sent a corrupt file; the message is one sentence."""


class CutError(HubError):
    """The connection ended in the middle of an answer, or another thread closed it."""


@contextmanager
def explained(hub: str, model: str, revision: str = "", *, has_token: bool = False) -> Iterator[None]:
    """Turns errors of huggingface_hub into HubError. hub: its URL. model: its id. has_token: a token was given."""
    try:
        yield
    except tuple(_SENTENCES) as error:
        is_of_head = isinstance(error, LocalEntryNotFoundError)  # raised where the HEAD request of a file failed
        cause = (is_of_head and error.__cause__) or error
        sentence, why, later = _sentence(cause)
        names = {"hub": hub, "model": model, "page": f"{hub}/{model}", "token": _TOKEN, "revision": revision}
        or_token = "" if has_token else f", or give a token with {_TOKEN}, which raises the limit"
        said = sentence.format(**names, why=why, later=later, or_token=or_token)
        raise (CutError if isinstance(cause, RuntimeError) else HubError)(said) from None


def _sentence(error: BaseException) -> tuple[str, str, str]:
    """A sentence with the error's text, and when to try again."""
    sentence = next((text for kind, text in _SENTENCES.items() if isinstance(error, kind)), _UNASKED)
    if sentence == _NO_HUB:
        return sentence, _other_form(error), ""
    if type(error) is not HfHubHTTPError:
        system = next((each for each in _causes(error) if isinstance(each, OSError) and each.errno), None)
        return sentence, why(system) if system else _short(str(error)) or type(error).__name__, ""
    answer, wait = error.response, asked_wait(error.response)
    said = _short(f"it answers {answer.status_code} {answer.reason_phrase} {error.server_message or ''}")
    later = f"try again in {wait} seconds" if wait else "try again later"
    return _SENTENCES_BY_STATUS.get(answer.status_code, sentence), said, later


def _other_form(error: BaseException) -> str:
    """Say how an answer differs from a Hub's; Python's own text would name our code."""
    if isinstance(error, NoHubError):
        return str(error)
    is_text = isinstance(error, JSONDecodeError | UnicodeDecodeError)
    return "its answer is not JSON" if is_text else "its answer does not have the fields of a Hub's"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and the errors that caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _short(text: str) -> str:
    return " ".join(text.split())[:300]
