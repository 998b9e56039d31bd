"""Named keys on API Gateway: they open, limit and close; and the playground at the API's own URL."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from slipway.stack.keys import DeployedKeys, KeysError, KeyValue
from tools.smoke.asking.calls import Reply, call
from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.stacks import EC2
from tools.smoke.asking.trial import Trial

_PROPAGATION_IN_SECONDS = 180
_CALLS_TOO_MANY = 30  # API Gateway keeps a limit by and large
_ROUTE = "endpoint"
_JOB = {"inputs": "A list is", "parameters": {"max_new_tokens": 20}}
_PAGE_LIMITS = ("default-src", "require-trusted-types-for")


def named_key(trial: Trial) -> Answer:
    """Call with a fresh value of a named key, with a made-up one, and with none."""
    with _key(trial, "caller") as (value, _):
        wrong = call(trial, "GET", _ROUTE, key=f"{value[:-1]}{'a' if value[-1] != 'a' else 'b'}")
        none = call(trial, "GET", _ROUTE)
        chat = call(trial, "GET", "models", key=value)
    seen = f"the key 200, GET /models {chat}, another key {wrong}, no key {none}"
    return Answer(seen, chat.status == 200 and {str(wrong), str(none)} == {"401 invalid_api_key"})


def revoked_key(trial: Trial) -> Answer:
    """Revoke a value, and see for how long API Gateway still takes it."""
    with _key(trial, "caller") as (value, made):
        DeployedKeys(trial.stack()).revoke(made)
        revoked = time.monotonic()
        refused = trial.wait(lambda: _refused(call(trial, "GET", _ROUTE, key=value)), _PROPAGATION_IN_SECONDS)
    if not refused:
        return Answer(f"it still works after {_PROPAGATION_IN_SECONDS} s", good=False)
    return Answer(f"{refused} after {time.monotonic() - revoked:.1f} s")


def throttled_key(trial: Trial) -> Answer:
    """Call more often than a key's rate and burst allow."""
    with _key(trial, "hasty") as (value, _):
        replies = Counter(str(call(trial, "GET", _ROUTE, key=value)) for _ in range(_CALLS_TOO_MANY))
    return Answer(_counted(replies), replies["429 throttled"] > 0)


def tokens_per_minute(trial: Trial) -> Answer:
    """Submit jobs beyond a key's tokens per minute."""
    with _key(trial, "frugal") as (value, _):
        replies = [call(trial, "POST", "jobs", _JOB, key=value) for _ in range(5)]
    refused = next((each for each in replies if each.status == 429), None)
    advice = refused.headers.get("retry-after") if refused else None
    seen = f"{_counted(Counter(map(str, replies)))}, retry-after {advice}"
    return Answer(seen, bool(refused and refused.code == "tokens_per_minute_exceeded" and advice))


def playground(trial: Trial) -> Answer:
    """Load the page and its files without a key, and call what it calls with and without one."""
    page = call(trial, "GET", "")
    policy = page.headers.get("content-security-policy", "")
    names = [part.partition('"')[0] for part in str(page.content).split("playground/")[1:]]
    files = [call(trial, "GET", f"playground/{name}").status for name in dict.fromkeys(names)]
    with _key(trial, "caller") as (value, _):
        opened = call(trial, "GET", _ROUTE, key=value)
    closed = call(trial, "GET", _ROUTE)
    is_limited = all(each in policy for each in _PAGE_LIMITS)
    seen = f"page {page.status}, policy {'whole' if is_limited else policy!r}, files {files}, with the key "
    good = page.status == 200 and is_limited and bool(files) and set(files) == {200}
    return Answer(f"{seen}{opened}, without {closed}", good and (opened.status, closed.status) == (200, 401))


@contextmanager
def _key(trial: Trial, name: str) -> Iterator[tuple[str, KeyValue]]:
    """A fresh value of a named key, once API Gateway knows it; removed afterwards."""
    keys = DeployedKeys(trial.stack())
    made, value = keys.create(keys.key(name))
    try:
        asked, started = Counter[str](), time.monotonic()

        def works() -> bool | None:
            reply = call(trial, "GET", _ROUTE, key=value)
            asked[str(reply)] += 1
            return True if reply.status != 401 else None

        if not trial.wait(works, _PROPAGATION_IN_SECONDS):
            raise CouldNotAskError(f"A fresh value of {name} did not work: {_counted(asked)}.")
        trial.saw(f"a fresh value of {name} works after {time.monotonic() - started:.1f} s")
        yield value, made
    finally:
        try:
            keys.revoke(made)
        except KeysError as error:  # the question has revoked it
            trial.saw(str(error))


def _refused(reply: Reply) -> str | None:
    return str(reply) if reply.status in (401, 403) else None


def _counted(replies: Counter[str]) -> str:
    return ", ".join(f"{count} x {reply}" for reply, count in sorted(replies.items()))


QUESTIONS = (
    Question(
        "named-key",
        "Does a named key open the API, and is another one refused?",
        "it does; a wrong key and none are 401 invalid_api_key",
        named_key,
        Line("docs/keys.md", "Limits", "A missing, malformed, unknown, revoked or expired key gets a 401"),
        minutes=1,
        stack=EC2,
    ),
    Question(
        "revoked-key",
        "How long does a revoked key still work?",
        "some minutes at most",
        revoked_key,
        Line("docs/keys.md", "Rotate and revoke", "How fast that is was not measured on AWS"),
        minutes=3,
        stack=EC2,
        local="it is refused at once",
        changes_line=True,
    ),
    Question(
        "key-throttle",
        "Is a key beyond its rate and burst refused with 429?",
        "429 throttled",
        throttled_key,
        Line("docs/keys.md", "Limits", "| `rate`, `burst` | API Gateway, per value | 429 `throttled` |"),
        minutes=1,
        stack=EC2,
    ),
    Question(
        "key-tokens",
        "Is a key beyond its tokens per minute refused with 429?",
        "429 tokens_per_minute_exceeded, with retry-after",
        tokens_per_minute,
        Line("docs/keys.md", "Limits", "429 `tokens_per_minute_exceeded`, `retry-after` until the next minute"),
        minutes=2,
        stack=EC2,
    ),
    Question(
        "playground",
        "Does the playground's page answer without a key, and what it calls only with one?",
        "it does",
        playground,
        Line("docs/playground.md", "The page at the API's own URL", "The files need no key"),
        minutes=1,
        stack=EC2,
    ),
)
