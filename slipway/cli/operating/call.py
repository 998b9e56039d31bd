"""`slipway call`: asks a deployed model."""

from argparse import Namespace
from pathlib import Path

from slipway.cli.arguments import TIMEOUT, add_verb_for_stack, count, seconds
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text, example = "send a prompt to the model, and print the answer", 'qwen3-4b "What is a list?" --max-tokens 100'
    verb = add_verb_for_stack(verbs, "call", text, run, example)
    verb.add_argument("texts", nargs="+", metavar="text", help="the prompt; with --embed one text or several")
    verb.add_argument("--job", action="store_true", help="submit a job (POST /jobs), and wait for its end")
    verb.add_argument("--chat", action="store_true", help="send a chat message, even if the engine also takes text")
    embed = "ask for the texts' vectors (POST /embeddings), and show their size and how similar the texts are"
    verb.add_argument("--embed", action="store_true", help=embed)
    verb.add_argument("--image", type=Path, action="append", metavar="FILE", help="send a picture with it, in a chat")
    verb.add_argument("--max-tokens", type=count, metavar="N", help="length of the answer (default: the deployment's)")
    verb.add_argument("--timeout", type=seconds, default=1800, help=TIMEOUT)
    verb.add_argument("--json", action="store_true", help="print the whole answer")


def run(given: Namespace) -> int:
    if given.embed:
        if given.job or given.chat or given.image or given.max_tokens:
            given.parser.error("--embed asks for vectors; leave --job, --chat, --image and --max-tokens out")
        from slipway.operations import embed

        return embed.run(given.deployment, given.region, given.texts, as_json=given.json, timeout=given.timeout)
    if len(given.texts) > 1:
        given.parser.error("write one prompt in quotes; only --embed takes several texts")
    from slipway.operations import call

    options = call.CallOptions(
        as_job=given.job,
        chat=given.chat,
        images=tuple(given.image or ()),
        max_tokens=given.max_tokens,
        as_json=given.json,
        timeout=given.timeout,
    )
    return call.run(given.deployment, given.region, given.texts[0], options)
