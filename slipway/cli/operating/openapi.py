"""`slipway openapi`: prints the OpenAPI document of a deployed API."""

from argparse import Namespace

from slipway.cli.arguments import add_verb_for_stack
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "print the OpenAPI document of a deployed API"
    add_verb_for_stack(verbs, "openapi", text, run, "qwen3-4b > openapi.json")


def run(given: Namespace) -> int:
    from slipway.stack import openapi_document

    return openapi_document.run(given.deployment, given.region)
