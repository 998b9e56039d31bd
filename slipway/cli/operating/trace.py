"""`slipway trace`: a trace of AWS X-Ray as a tree."""

from argparse import Namespace

from slipway.cli.arguments import add_verb_for_stack, trace_id
from slipway.cli.parser import Verbs


def add(verbs: Verbs) -> None:
    text = "show a trace of AWS X-Ray as a tree, of a deployment with operations.tracing"
    verb = add_verb_for_stack(verbs, "trace", text, run, "qwen3-4b 1-5759e988-bd862e3fe1be46a994272793")
    verb.add_argument("id", type=trace_id, help="an answer's x-trace-id, or a job's trace_id")


def run(given: Namespace) -> int:
    from slipway.operations import trace

    return trace.run(given.deployment, given.region, given.id)
