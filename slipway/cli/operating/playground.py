"""`slipway playground`: a page to try the model, and a URL that signs calls."""

from argparse import Namespace

from slipway.cli.arguments import PLAYGROUND_PORT, add_verb_for_stack, port
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "serve a page to try the model, and a URL for any HTTP client"
    more = "on this machine only; calls are signed with your credentials"
    verb = add_verb_for_stack(verbs, "playground", text, run, "qwen3-4b", more=more)
    verb.add_argument("--playground-port", "--port", dest="port", type=port, help=PLAYGROUND_PORT)


def run(given: Namespace) -> int:
    from slipway.stack import signing_proxy

    return signing_proxy.run(given.deployment, given.region, given.port)
