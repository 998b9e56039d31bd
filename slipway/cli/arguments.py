"""Arguments that several verbs take, with the functions that check their values."""

import re
from argparse import ArgumentTypeError

from llm_hosting import ACCOUNT_SETTINGS, ENDPOINT_PREFIX
from slipway.cli.parser import Parser, Run, Verbs, add_verb

FILE = "name or path of a deployment file"
OR_ENDPOINT = "or endpoints/NAME"
REGION = "region (default: AWS_REGION, else your profile's)"
PLAYGROUND_PORT = "port of the page on 127.0.0.1 (default 4567, or a free one if that is taken)"
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
