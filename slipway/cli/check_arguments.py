"""The arguments of `check` and `doctor`. The two verbs differ in one thing: `doctor` always asks AWS."""

import sys
from argparse import ArgumentTypeError, Namespace

from slipway.cli.arguments import FILE, OR_ENDPOINT, count
from slipway.cli.parser import Parser

_MOST_TYPES = 5  # accepted by --on
_REQUESTS = 4  # requests at once, the default of --recommend


def add_check_arguments(verb: Parser) -> None:
    """Add all arguments that both verbs have; only `check` has `--account`."""
    name = f"{FILE}, {OR_ENDPOINT}; with --on or --recommend also a model's id"
    verb.add_argument("deployments", nargs="+", metavar="deployment", help=name)
    types = "use these instance types instead of the file's: a,b"
    verb.add_argument("--on", type=_types, default=(), metavar="TYPES", help=types)
    verb.add_argument("--engine", type=_engine, help="use this engine instead of the file's or the default")
    recommend = "list the instance types that hold the model, cheapest first"
    verb.add_argument("--recommend", action="store_true", help=recommend)
    context = "with --recommend: length of one request (default: the file's, else the model's limit)"
    verb.add_argument("--context", type=count, metavar="TOKENS", help=context)
    requests = f"with --recommend: requests at once (default {_REQUESTS})"
    verb.add_argument("--requests", type=count, metavar="N", help=requests)
    verb.add_argument("--hub", action="store_true", help="read the model's files on the Hub as they are today")
    verb.add_argument("--region", help="region for a deployment whose file names none")
    verb.add_argument("--json", action="store_true", help="print a JSON object, or a list of them for several names")
    verb.add_argument("--strict", action="store_true", help="exit with 1 also for warnings and unknowns")
    verb.add_argument("--verbose", action="store_true", help="list all rules, also those without a finding")


def run_check(given: Namespace, *, account: bool) -> int:
    """Check, or recommend instance types, and return the exit status. account: also ask AWS."""
    if given.recommend and (account or given.strict or given.verbose):
        print("Use `check --recommend` without --account, --strict and --verbose.", file=sys.stderr)
        return 2
    if given.recommend:
        from slipway.checking import recommend

        requests = given.requests or _REQUESTS
        asked = recommend.Question(given.on, given.engine, given.hub, given.region, given.context, requests, given.json)
        return recommend.run(given.deployments, given.project, asked)
    if given.context or given.requests:
        print("--context and --requests belong to --recommend; a check takes serving.max_model_len.", file=sys.stderr)
        return 2
    from slipway.checking import check

    options = check.CheckOptions(
        account=account,
        hub=given.hub,
        on=given.on,
        engine=given.engine,
        region=given.region,
        as_json=given.json,
        strict=given.strict,
        verbose=given.verbose,
    )
    return check.run(given.deployments, given.project, options)


def _types(text: str) -> list[str]:
    from llm_hosting.catalog.instances import ec2_instances, instances
    from llm_hosting.deployment.nearest import nearest

    types, known = [each.strip() for each in text.split(",")], instances() | ec2_instances()
    if other := [each for each in types if each not in known]:
        alike = {each for each in known if each.startswith("ml.") == other[0].startswith("ml.")}
        raise ArgumentTypeError(f"{other[0]!r} is not an instance type; use {nearest(other[0], alike)}")
    if len(types) > _MOST_TYPES:
        raise ArgumentTypeError(f"{len(types)} types are too many; name at most {_MOST_TYPES}")
    return types


def _engine(text: str) -> str:
    from llm_hosting.catalog.engines import ENGINES
    from llm_hosting.deployment.nearest import nearest

    if text not in ENGINES:
        raise ArgumentTypeError(f"{text!r} is not an engine; use {nearest(text, ENGINES)}")
    return text
