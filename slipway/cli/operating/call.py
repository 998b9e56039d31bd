"""`python -m slipway call`: asks a deployed model."""

from argparse import Namespace

from slipway.cli.arguments import TIMEOUT, add_verb_for_stack, count, seconds
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    text, example = "ask the model, signed with your credentials", 'qwen3-4b "What is a list?" --max-tokens 100'
    verb = add_verb_for_stack(verbs, "call", text, run, example)
    verb.add_argument("text", help="the prompt")
    verb.add_argument("--job", action="store_true", help="by POST /jobs, and wait for its end")
    verb.add_argument("--chat", action="store_true", help="as a chat message, if the engine also takes plain text")
    verb.add_argument("--max-tokens", type=count, metavar="N", help="length of the answer (default: the deployment's)")
    verb.add_argument("--timeout", type=seconds, default=1800, help=TIMEOUT)
    verb.add_argument("--json", action="store_true", help="the whole answer")


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.operations import call

    options = call.CallOptions(
        as_job=given.job,
        chat=given.chat,
        max_tokens=given.max_tokens,
        as_json=given.json,
        timeout=given.timeout,
    )
    return call.run(given.deployment, given.region, given.text, options)
