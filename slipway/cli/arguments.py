"""Arguments that several verbs take, with the functions that check their values."""

import re
from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

from llm_hosting import ACCOUNT_SETTINGS, ENDPOINT_PREFIX
from slipway.cli.parser import Parser, Run, Verbs, add_verb

FILE = "name or path of a deployment file"
OR_ENDPOINT = "or endpoints/NAME"
MONTH = "month in UTC (default: this month)"
_KEPT_BY_CLOUDWATCH = timedelta(days=455)
REGION = "region (default: AWS_REGION, else your profile's)"
PLAYGROUND_PORT = "port of the page on 127.0.0.1 (default 4567, or a free one if that is taken)"
ROLE = "name of a role in each other account, which you may assume, to ask for cost and use there"
TIMEOUT = "seconds to wait for a job; an instance or a machine may have to start first (default 1800)"


def add_verb_for_stack(
    verbs: Verbs, name: str, text: str, run: Run, example: str, *, more: str = "", or_endpoint: bool = False
) -> Parser:
    """Add a verb for a deployed stack, with the arguments that name it: the deployment and `--region`.

    or_endpoint: whether the help says that the verb takes a shared endpoint, too.
    """
    verb = add_verb(verbs, name, text, run, example, more=more)
    verb.add_argument(
        "deployment", type=stack_name, help=f"name of the deployment{f', {OR_ENDPOINT}' if or_endpoint else ''}"
    )
    verb.add_argument("--region", help=REGION)
    return verb


def one_name(text: str) -> str:
    """Accept the name or path of one deployment file, not a list of them."""
    if "," in text or text == ACCOUNT_SETTINGS:
        raise ArgumentTypeError(f"{text!r} is not one deployment; give one name, such as gpt2")
    return text


def several_names(text: str) -> list[str]:
    """Accept names or paths of deployment files, separated by commas, each once."""
    names = [one_name(name.strip()) for name in text.split(",")]
    if "" in names or len(set(names)) < len(names):
        raise ArgumentTypeError(f"{text!r} must name deployments, each once, such as gpt2,qwen3-4b")
    return names


def stack_name(text: str) -> str:
    """Return the stack's name for a deployment's name: `<base>-<overlay>` for `<base>/<overlay>`.

    `endpoints/<name>` is the stack of a shared endpoint.
    """
    if endpoint := re.fullmatch(r"endpoints/(.+?)(\.yaml)?", text):
        text = f"{ENDPOINT_PREFIX}{endpoint[1]}"
    name = text.replace("/", "-", 1)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9-]{0,127}", name) or name == ACCOUNT_SETTINGS:
        raise ArgumentTypeError(f"{text!r} is not a deployment's name; give one, such as gpt2")
    return name


def role_name(text: str) -> str:
    """Accept the name of an IAM role, with its path."""
    if not re.fullmatch(r"([\w+=,.@-]+/)*[\w+=,.@-]{1,64}", text, re.ASCII):
        raise ArgumentTypeError(f"{text!r} is not the name of a role; give one without account, such as slipway-reader")
    return text


def trace_id(text: str) -> str:
    """Accept the id of a trace, also in the form of X-Ray's header."""
    found = re.fullmatch("(?:Root=)?(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;.*)?", text)
    if not found:
        raise ArgumentTypeError(f"{text!r} is not a trace's id; use an answer's x-trace-id, or a job's trace_id")
    return found[1]


def count(text: str) -> int:
    """Parse a positive whole number."""
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise ArgumentTypeError(f"{text!r} must be a positive whole number")
    return int(text)


def port(text: str) -> int:
    """Parse the number of a TCP port."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise ArgumentTypeError(f"{text!r} must be a port from 1 to 65535")
    return int(text)


def seconds(text: str) -> int:
    """Parse a time to wait, in seconds: at most a week."""
    if not text.isdecimal() or not 1 <= int(text) <= 604_800:
        raise ArgumentTypeError(f"{text!r} must be 1 to 604800 seconds, which is a week")
    return int(text)


def month(text: str) -> datetime:
    """Parse a month, such as 2026-11, that has begun: its first moment in UTC."""
    try:
        found = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a month; write it as 2026-11") from None
    now = datetime.now(UTC)
    if found > now:
        raise ArgumentTypeError(f"{text} has not begun")
    if found + _KEPT_BY_CLOUDWATCH < now:
        raise ArgumentTypeError(f"{text} began more than {_KEPT_BY_CLOUDWATCH.days} days ago, and CloudWatch forgets")
    return found


def usd_amount(text: str) -> float:
    """Parse an amount in USD."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1
    if not 0 <= amount < 1e9:
        raise ArgumentTypeError(f"{text!r} is not an amount in USD; write it as 812.40")
    return amount
