"""`slipway call`: asks a deployed model."""

from argparse import Namespace

from slipway.cli.arguments import TIMEOUT, add_verb_for_stack, count, seconds
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text, example = "send a prompt to the model, and print the answer", 'qwen3-4b "What is a list?" --max-tokens 100'
    verb = add_verb_for_stack(verbs, "call", text, run, example)
    verb.add_argument("text", help="the prompt")
    verb.add_argument("--job", action="store_true", help="submit a job (POST /jobs), and wait for its end")
    verb.add_argument("--chat", action="store_true", help="send a chat message, even if the engine also takes text")
    verb.add_argument("--max-tokens", type=count, metavar="N", help="length of the answer (default: the deployment's)")
    verb.add_argument("--timeout", type=seconds, default=1800, help=TIMEOUT)
    verb.add_argument("--json", action="store_true", help="print the whole answer")


def run(given: Namespace) -> int:
    from slipway.operations import call

    options = call.CallOptions(
        as_job=given.job,
        chat=given.chat,
        max_tokens=given.max_tokens,
        as_json=given.json,
        timeout=given.timeout,
    )
    return call.run(given.deployment, given.region, given.text, options)
