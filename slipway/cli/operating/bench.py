"""`slipway bench`: measures a deployed API under load, or compares two reports."""

from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from slipway.cli.arguments import FILE, REGION, count
from slipway.cli.parser import Verbs, add_verb

_MOST_CLIENTS = 512


def add(verbs: Verbs) -> None:
    text, more = "measure latency, tokens per second and price under load", "or compare two reports, with --compare"
    example = "qwen3-4b --clients 1,4,16 --answer-tokens 200"
    verb = add_verb(verbs, "bench", text, run, example, more=more)
    verb.add_argument("deployment", nargs="?", help=FILE)
    verb.add_argument("--region", help=REGION)
    routes = ("generate", "chat", "responses", "embeddings", "jobs")
    default = (
        "chat if the model streams it, embeddings if it makes vectors, else generate on a realtime endpoint, else jobs"
    )
    verb.add_argument("--route", choices=routes, help=f"route to call (default: {default})")
    texts = "texts of each request of the route embeddings, each as long as --prompt-tokens says (default 1)"
    verb.add_argument("--texts", type=count, default=1, metavar="N", help=texts)
    clients = "closed loop: numbers of clients at once, measured one after the other (default 1,4,16)"
    verb.add_argument("--clients", type=_counts, default=(), metavar="N,...", help=clients)
    rates = "open loop: requests per second, sent whether answers arrive or not"
    verb.add_argument("--rate", dest="rates", type=_rates, default=(), metavar="R,...", help=rates)
    rounds = "how often to measure each number of clients or rate, in turns (default 2)"
    verb.add_argument("--rounds", type=count, default=2, metavar="N", help=rounds)
    requests = "requests of each closed loop (default 10 for each client, at least 20)"
    verb.add_argument("--requests", type=count, metavar="N", help=requests)
    verb.add_argument("--seconds", type=count, default=60, metavar="N", help="length of each open loop (default 60)")
    prompt = "length of generated prompts (default 256)"
    verb.add_argument("--prompt-tokens", type=count, default=256, metavar="N", help=prompt)
    answer = "limit for the length of an answer (default 128)"
    verb.add_argument("--answer-tokens", type=count, default=128, metavar="N", help=answer)
    prompts = "read prompts from JSON lines with `prompt` and, for another limit, `max_tokens`"
    verb.add_argument("--prompts", type=Path, metavar="FILE", help=prompts)
    warm_up = "requests before the first load, not counted (default 2)"
    verb.add_argument("--warm-up", type=count, default=2, metavar="N", help=warm_up)
    seed = "random seed of prompts and arrivals, a whole number (default 1)"
    verb.add_argument("--seed", type=int, default=1, metavar="N", help=seed)
    zero = "first measure the start of a sleeping endpoint or machine"
    verb.add_argument("--from-zero", action="store_true", help=zero)
    budget = "stop when the instances have cost this much"
    verb.add_argument("--budget-usd", dest="budget", type=_budget, metavar="USD", help=budget)
    objective = "search for the highest rate that holds these limits: ttft_p90<1s,tpot_p90<60ms"
    verb.add_argument("--slo", metavar="LIMITS", help=objective)
    keep = "write the figures beside the deployment file, for `check --recommend`"
    verb.add_argument("--keep", action="store_true", help=keep)
    output = "folder for all reports (default reports/)"
    verb.add_argument("-o", "--output", type=Path, metavar="DIR", default=Path("reports"), help=output)
    compare = "compare two reports, before and after, each a folder or results.json; exit status 1 if a figure is worse"
    verb.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help=compare)


def run(given: Namespace) -> int:
    if given.compare:
        if given.deployment:
            given.parser.error("--compare takes two reports and no deployment; leave the deployment out")
        from slipway.measuring.report import compare

        return compare.run(*given.compare)
    if not given.deployment:
        given.parser.error("name a deployment to measure, or two reports to compare: --compare A B")
    from slipway.measuring import bench
    from slipway.measuring.load_test import LoadTestOptions

    options = {name: getattr(given, name) for name in LoadTestOptions.__dataclass_fields__}
    clients = given.clients or (() if given.rates or given.slo is not None else LoadTestOptions.clients)
    return bench.run(given.deployment, given.region, given.project, LoadTestOptions(**options | {"clients": clients}))


def _counts(text: str) -> list[int]:
    counts = [count(each.strip()) for each in text.split(",")]
    if max(counts) > _MOST_CLIENTS:
        raise ArgumentTypeError(f"{max(counts)} clients are too many for one process; use at most {_MOST_CLIENTS}")
    return counts


def _rates(text: str) -> list[float]:
    return [_positive(each, "requests per second") for each in text.split(",")]


def _budget(text: str) -> float:
    return _positive(text, "USD")


def _positive(text: str, unit: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"{text!r} must be a number above 0, in {unit}")
    return number
