"""`slipway gateway`: writes the configuration of a gateway in front of several deployments."""

import re
from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from slipway.cli.arguments import REGION, several_names, stack_name
from slipway.cli.parser import Verbs, add_verb

_MOST_WEIGHT = 1000


def add(verbs: Verbs) -> None:
    text, example = "write the configuration of a gateway for several models", "qwen3-4b,gpt2 --output config.yaml"
    verb = add_verb(verbs, "gateway", text, run, example)
    given = verb.add_mutually_exclusive_group()
    names = "deployments, separated by commas (default: all of the region that answer OpenAI's clients with a key)"
    given.add_argument("names", nargs="?", type=_stack_names, default=[], help=names)
    given.add_argument("--fleet", metavar="FLEET", help="name or path of a fleet file, instead of names")
    program = "litellm: LiteLLM's proxy (default); envoy: Envoy AI Gateway on Kubernetes"
    verb.add_argument("--for", dest="program", choices=("litellm", "envoy"), default="litellm", help=program)
    weight = "share of the calls, where several deployments serve one model; once for each of them"
    verb.add_argument(
        "--weight", dest="weights", action="append", type=_weight, default=[], metavar="NAME=N", help=weight
    )
    fallback = "deployments of other models that answer while NAME refuses calls (429) or is not ready (503)"
    verb.add_argument(
        "--fallback",
        dest="fallbacks",
        action="append",
        type=_fallback,
        default=[],
        metavar="NAME=OTHER,...",
        help=fallback,
    )
    verb.add_argument("-o", "--output", type=Path, metavar="FILE", help="file to write (default: standard output)")
    verb.add_argument("--region", help=REGION)


def run(given: Namespace) -> int:
    for option, pairs in (("--weight", given.weights), ("--fallback", given.fallbacks)):
        if len({name for name, _ in pairs}) < len(pairs):
            given.parser.error(f"{option} names a deployment twice; name each once")
    from slipway.gateway import gateway

    options = gateway.GatewayOptions(
        given.names, given.fleet, given.program, dict(given.weights), dict(given.fallbacks), given.output
    )
    return gateway.run(given.region, given.project, options)


def _stack_names(text: str) -> list[str]:
    return [stack_name(name) for name in several_names(text)]


def _weight(text: str) -> tuple[str, int]:
    name, _, share = text.rpartition("=")
    if not name or not re.fullmatch("[0-9]{1,4}", share) or not 0 < int(share) <= _MOST_WEIGHT:
        raise ArgumentTypeError(
            f"{text!r} must be a deployment's name and a share from 1 to {_MOST_WEIGHT}, such as gpt2=9"
        )
    return _name(name), int(share)


def _fallback(text: str) -> tuple[str, list[str]]:
    name, _, others = text.partition("=")
    if not name or not others:
        raise ArgumentTypeError(f"{text!r} must be two names of deployments, such as qwen3-4b=gpt2")
    return _name(name), [_name(each) for each in several_names(others)]


def _name(text: str) -> str:
    """Accept a deployment's name, or `<account>/<region>` of a fleet."""
    return text if re.fullmatch(r"\d{12}/[a-z0-9-]+", text) else stack_name(text)
