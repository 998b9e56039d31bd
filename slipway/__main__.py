"""Parses the command line and hands over to the command's module."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (what `python3` is on many machines)
    sys.exit("Slipway needs Python 3.11 or newer: run `make setup`, then `source .venv/bin/activate`.")

import argparse
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT / "constructs"), str(ROOT / "lambda_src")]  # source roots, like `src/`

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.catalog.models import CatalogError
from slipway.cli.parser import Parser, overview
from slipway.shared.cdk_command import cdk
from slipway.shared.output import reader_may_leave

_FILE = "name or path of a deployment file"
_MOST_TYPES = 5  # of one deployment
_MOST_CLIENTS = 512
REQUESTS = 4  # at once, of a recommendation
_REGION = "where it is deployed (default AWS_REGION, or your profile's)"
_PLAYGROUND_PORT = "of the page, on 127.0.0.1 (default 4567, or a free one where that is taken)"
_TIMEOUT = "seconds to wait for a job, which may have to start an instance or a machine (default 1800)"


def main() -> None:
    """Run one verb; its module is imported only when it is asked for."""
    parser = _parser()
    try:
        arguments = parser.parse_args()
        if "run" not in arguments:
            parser.print_help()
            sys.exit()
        status = 0
        with reader_may_leave():
            status = arguments.run(arguments)
    except KeyboardInterrupt:
        sys.stdout.flush()
        print("\nstopped", file=sys.stderr, flush=True)
        os._exit(130)  # else Python waits for threads that read from the network
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if any((folder / package).exists() for folder in (ROOT, ROOT / "constructs")):
            raise  # a module of ours
        sys.exit(f"This Python has no {package}: run `make setup`, then `source .venv/bin/activate`.")
    sys.exit(status)


def _parser() -> Parser:
    prog = "python -m slipway"
    parser = Parser(
        prog=prog, usage=f"{prog} [-h] [--version] VERB ...", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="the commit and what it runs on")
    parser.elsewhere = {verb: cdk(f"{verb} -c deployment=NAME") for verb in ("bootstrap", "deploy", "destroy", "synth")}
    verbs = parser.add_subparsers(prog=prog, metavar="VERB", help=argparse.SUPPRESS)
    groups: dict[str, dict[str, str]] = {}
    for heading, adding in {
        "Before a deploy": (_add_check, _add_lock, _add_stage, _add_local, _add_env),
        f"Deploy ({cdk('deploy -c deployment=NAME')})": (_add_doctor, _add_diff, _add_verify, _add_render, _add_fleet),
        "Run": (_add_call, _add_playground, _add_openapi, _add_list, _add_status, _add_logs),
        "Measure": (_add_bench,),
        "Keys": (_add_keys, _add_usage),
        "Maintain": (_add_purge,),
        "Work on Slipway itself": (_add_models, _add_reference),
    }.items():
        known = set(verbs.choices)
        for add in adding:
            add(verbs)
        groups[heading] = {name: verb.summary for name, verb in verbs.choices.items() if name not in known}
    parser.description = f"Launch language models on AWS, or on this machine.\n\n{overview(groups)}"
    parser.epilog = f"{prog} VERB -h shows the options of a verb."
    return parser


class _Version(argparse.Action):
    def __call__(self, *_: object) -> None:
        from slipway.shared import version

        print(version.described(ROOT))
        sys.exit()


def _add(
    verbs: Any, name: str, text: str, run: Callable[[argparse.Namespace], int], example: str = "", *, more: str = ""
) -> Parser:
    """text: a line of the overview. example: what follows `python -m slipway <name>`. more: for the verb's own page."""
    epilog = f"for example: python -m slipway {name} {example}" if example else None
    verb: Parser = verbs.add_parser(name, help=text, description=f"{text} ({more})" if more else text, epilog=epilog)
    verb.summary = text
    verb.set_defaults(run=run, parser=verb)
    return verb


def _add_local(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.local import session as local

        return local.run(given.deployment, given.port, given.clock_speed, given.weights, given.playground_port)

    local = _add(commands, "local", "deploy on this machine, answer a request, stay until Ctrl-C", run, "gpt2")
    local.add_argument("deployment", type=_one_name, help=_FILE)
    local.add_argument("--port", type=_port, default=4566, help="port on 127.0.0.1 (default 4566)")
    local.add_argument("--playground-port", type=_port, help=_PLAYGROUND_PORT)
    local.add_argument("--clock-speed", type=_speed, default=1, help="the cloud's clock runs so many times as fast")
    weights = "folder with a Hugging Face model that really answers; for deployments with hosting.mode: ec2"
    local.add_argument("--weights", type=Path, metavar="PATH", help=weights)


def _add_env(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.local import env

        return env.run(ROOT, given.port)

    text = 'for a shell beside `local`: eval "$(python -m slipway env)"'
    env = _add(commands, "env", text, run, more="prints what the operator's verbs, curl and the CDK need there")
    env.add_argument("--port", type=_port, help="of the local cloud (default 4566, or the only one that runs)")


def _add_check(commands: Any) -> None:
    text = "will it fit, start in time and be accepted by AWS?"
    check = _add(commands, "check", text, lambda given: _check(given, account=given.account), "qwen3-4b")
    check.add_argument("--account", action="store_true", help="also ask AWS, as `doctor` does")
    _add_check_options(check)


def _add_doctor(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        return _check(given, account=True)

    text, example = "check, and are account and region ready for it?", "qwen3-4b --region eu-west-1"
    doctor = _add(commands, "doctor", text, run, example, more="asks AWS, changes nothing")
    _add_check_options(doctor)


def _add_render(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.templates import render

        return render.run(given.deployment, ROOT, given.output, given.code)

    text = "one template for any account and region, without the CDK"
    render = _add(commands, "render", text, run, "qwen3-4b", more="for StackSets, consoles, other pipelines")
    render.add_argument("deployment", help=f"{_FILE}, or {ACCOUNT_SETTINGS}")
    output = "folder for template, parameters and archives (default rendered/)"
    render.add_argument("-o", "--output", type=Path, metavar="DIR", default=Path("rendered"), help=output)
    code = "of functions: as text in the template (default), or as archives in a bucket of each region"
    render.add_argument("--code", choices=("inline", "archive"), default="inline", help=code)


def _add_check_options(check: argparse.ArgumentParser) -> None:
    check.add_argument("deployments", nargs="+", metavar="deployment", help=f"{_FILE}; with --on also a model's id")
    check.add_argument("--on", type=_types, default=(), metavar="TYPES", help="on these instance types instead: a,b")
    check.add_argument("--engine", type=_engine, help="another engine than the file's, or than the default")
    check.add_argument("--recommend", action="store_true", help="which instance types hold the model, cheapest first")
    check.add_argument("--context", type=_count, metavar="TOKENS", help="with --recommend: of one request")
    requests = f"with --recommend: at once (default {REQUESTS})"
    check.add_argument("--requests", type=_count, metavar="N", help=requests)
    check.add_argument("--hub", action="store_true", help="judge by what the model says of itself now")
    check.add_argument("--region", help="where, for a deployment that names no region")
    check.add_argument("--json", action="store_true", help="one JSON object, or a list of them for several names")
    check.add_argument("--strict", action="store_true", help="exit with 1 also for warnings and unknowns")
    check.add_argument("--verbose", action="store_true", help="list all rules, also those that have nothing to say")


def _check(given: argparse.Namespace, *, account: bool) -> int:
    if given.recommend and (account or given.strict or given.verbose):
        print("--recommend takes neither --account nor --strict nor --verbose.", file=sys.stderr)
        return 2
    if given.recommend:
        from slipway.checking import recommend

        requests = given.requests or REQUESTS
        asked = recommend.Question(given.on, given.engine, given.hub, given.region, given.context, requests, given.json)
        return recommend.run(given.deployments, ROOT, asked)
    if given.context or given.requests:
        print("--context and --requests belong to --recommend; a check takes serving.max_model_len.", file=sys.stderr)
        return 2
    from slipway.checking import check

    options = check.Options(
        account=account,
        hub=given.hub,
        on=given.on,
        engine=given.engine,
        region=given.region,
        as_json=given.json,
        strict=given.strict,
        verbose=given.verbose,
    )
    return check.run(given.deployments, ROOT, options)


def _add_diff(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.templates import diff

        form = "json" if given.json else "markdown" if given.markdown else "text"
        return diff.run(given.deployment, ROOT, diff.Options(given.against, given.region, given.accepted, form))

    more = "exit status 1 where somebody has to acknowledge it"
    diff = _add(commands, "diff", "what does the next deploy mean?", run, "qwen3-4b --against main", more=more)
    diff.add_argument("deployment", help=_FILE)
    against = "a git ref, a template's file, or `stack`: what is deployed (default HEAD)"
    diff.add_argument("--against", default="HEAD", metavar="WHAT", help=against)
    diff.add_argument("--region", help=_REGION)
    accepted = "acknowledged changes (default accepted-changes/<deployment>.yaml, if there is one)"
    diff.add_argument("--accepted", type=Path, metavar="FILE", help=accepted)
    form = diff.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object")
    form.add_argument("--markdown", action="store_true", help="for a comment on a pull request")


def _add_fleet(commands: Any) -> None:
    text = "many accounts and regions: plan a deploy, see what runs where"
    fleet = commands.add_parser("fleet", description=text)
    fleet.summary = text
    verbs = fleet.add_subparsers(required=True, metavar="{plan,status}")

    def plan(given: argparse.Namespace) -> int:
        from slipway.fleet import plan_command

        return plan_command.run(given.fleet, ROOT, given.region, as_json=given.json)

    def status(given: argparse.Namespace) -> int:
        from slipway.fleet import status

        return status.run(given.fleet, ROOT, given.region, as_json=given.json)

    text = "what a deploy would do in each account and region; exit status 1 where somebody has to acknowledge it"
    _add_fleet_options(_add(verbs, "plan", text, plan))
    text = "which account runs which template in which region, what failed and why; exit status 1 where something did"
    _add_fleet_options(_add(verbs, "status", text, status))


def _add_fleet_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("fleet", help="name or path of a fleet file")
    verb.add_argument("--region", help="where the stack sets are (default AWS_REGION, or your profile's)")
    verb.add_argument("--json", action="store_true", help="one JSON object")


def _add_bench(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        if given.compare:
            if given.deployment:
                bench.error("--compare takes two reports, and no deployment")
            from slipway.measuring.report import compare as compare_command

            return compare_command.run(*given.compare)
        if not given.deployment:
            bench.error("name a deployment, or two reports: --compare A B")
        from slipway.measuring import bench as verb
        from slipway.measuring.load_test import Options

        options = {name: getattr(given, name) for name in Options.__dataclass_fields__}
        clients = given.clients or (() if given.rates or given.slo is not None else Options.clients)
        return verb.run(given.deployment, given.region, ROOT, Options(**options | {"clients": clients}))

    text, more = "latency, tokens per second and price under load", "--compare: what changed between two reports"
    bench = _add(commands, "bench", text, run, "qwen3-4b --clients 1,4,16 --answer-tokens 200", more=more)
    bench.add_argument("deployment", nargs="?", help=_FILE)
    bench.add_argument("--region", help=_REGION)
    route = "default: chat where the model streams it, else generate of a realtime endpoint, else jobs"
    bench.add_argument("--route", choices=("generate", "chat", "jobs"), help=route)
    clients = "closed loop: so many at once, one level after the other (default 1,4,16)"
    bench.add_argument("--clients", type=_counts, default=(), metavar="N,...", help=clients)
    rates = "open loop: requests per second, whatever the answers do"
    bench.add_argument("--rate", dest="rates", type=_rates, default=(), metavar="R,...", help=rates)
    bench.add_argument("--rounds", type=_count, default=2, metavar="N", help="of each level, in turns (default 2)")
    requests = "of each closed loop (default 10 for each client, at least 20)"
    bench.add_argument("--requests", type=_count, metavar="N", help=requests)
    bench.add_argument("--seconds", type=_count, default=60, metavar="N", help="of each open loop (default 60)")
    prompt = "length of made-up prompts (default 256)"
    bench.add_argument("--prompt-tokens", type=_count, default=256, metavar="N", help=prompt)
    bench.add_argument("--answer-tokens", type=_count, default=128, metavar="N", help="at most (default 128)")
    prompts = "JSON lines with `prompt`, and max_tokens if it is another"
    bench.add_argument("--prompts", type=Path, metavar="FILE", help=prompts)
    warm_up = "requests before the first load, not counted (default 2)"
    bench.add_argument("--warm-up", type=_count, default=2, metavar="N", help=warm_up)
    bench.add_argument("--seed", type=int, default=1, help="of prompts and arrivals (default 1)")
    zero = "first measure a start: of an endpoint or machine that is asleep"
    bench.add_argument("--from-zero", action="store_true", help=zero)
    budget = "end when the instances have cost that much"
    bench.add_argument("--budget-usd", dest="budget", type=_budget, metavar="USD", help=budget)
    objective = "search the highest rate that holds it: ttft_p90<1s,tpot_p90<60ms"
    bench.add_argument("--slo", metavar="LIMITS", help=objective)
    bench.add_argument("--keep", action="store_true", help="write the figures beside the deployment, for --recommend")
    output = "folder of all reports (default reports/)"
    bench.add_argument("-o", "--output", type=Path, metavar="DIR", default=Path("reports"), help=output)
    compare = "two reports, by folder or results.json: before, after; exit status 1 where something became worse"
    bench.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help=compare)


def _add_lock(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.locking import lock

        return lock.run(given.deployment, ROOT, given.folder)

    text = "write what the model says of itself into a file"
    lock = _add(commands, "lock", text, run, "qwen3-4b", more="at one commit, beside the deployment")
    lock.add_argument("deployment", type=_one_name, help=_FILE)
    folder = "folder with the model's files (default: model.weights if it holds any, else the Hub)"
    lock.add_argument("--folder", type=Path, metavar="PATH", help=folder)


def _add_stage(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.staging import stage

        return stage.run(given.deployment, ROOT, given.folder, give_up=given.abandon)

    text = "copy a model's weights from the Hub to S3"
    stage = _add(commands, "stage", text, run, "qwen3-4b", more="where a deployment reads them")
    stage.add_argument("deployment", type=_one_name, help=_FILE)
    stage.add_argument("--folder", type=Path, help="for files on their way (default ~/.cache/slipway/staging)")
    stage.add_argument("--abandon", action="store_true", help="give up an unfinished staging, and remove its parts")


def _add_verify(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.operations import verify

        return verify.run(given.deployment, given.region, verify.Options(timeout=given.timeout, as_json=given.json))

    more = "looks, calls the model, runs a job; exit status 1 if not"
    verify = _add_deployed(commands, "verify", "did a deploy or update do what it says?", run, "qwen3-4b", more=more)
    verify.add_argument("--timeout", type=_seconds, default=1800, help=_TIMEOUT)
    verify.add_argument("--json", action="store_true", help="one JSON object")


def _add_status(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.operations import status

        return status.run(given.deployment, given.region, as_json=given.json)

    text = "endpoint or machines, cost, queue, jobs, alarms, last failure"
    status = _add_deployed(commands, "status", text, run, "qwen3-4b")
    status.add_argument("--json", action="store_true", help="one JSON object")


def _add_keys(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.operations import key_values as keys

        return keys.run(given.action, given.deployment, given.key, given.region, as_json=given.json)

    text = "list, create, rotate or revoke named keys of an API (api.keys)"
    keys = _add(commands, "keys", text, run, "create qwen3-4b alice")
    keys.add_argument("action", choices=("list", "create", "rotate", "revoke"))
    keys.add_argument("deployment", type=_stack_name, help="name of the deployment")
    keys.add_argument("key", nargs="?", help="name of a key; to revoke one of two values, its id or how that begins")
    keys.add_argument("--region", help=_REGION)
    keys.add_argument("--json", action="store_true", help="JSON")


def _add_usage(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.operations import usage

        return usage.run(given.deployment, given.month, given.region, given.usd, as_json=given.json)

    text = "requests, tokens, errors and cost of each named key in a month"
    usage = _add_deployed(commands, "usage", text, run, "qwen3-4b --month 2026-11")
    usage.add_argument("--month", type=_month, metavar="YYYY-MM", help="month in UTC (default this one)")
    usage.add_argument(
        "--usd", type=_usd, metavar="AMOUNT", help="cost to share out, from the bill (default estimated)"
    )
    usage.add_argument("--json", action="store_true", help="one JSON object")


def _add_call(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.operations import call

        options = call.Options(
            as_job=given.job,
            chat=given.chat,
            max_tokens=given.max_tokens,
            as_json=given.json,
            timeout=given.timeout,
        )
        return call.run(given.deployment, given.region, given.text, options)

    text = "ask the model, signed with your credentials"
    call = _add_deployed(commands, "call", text, run, 'qwen3-4b "What is a list?" --max-tokens 100')
    call.add_argument("text", help="the prompt")
    call.add_argument("--job", action="store_true", help="by POST /jobs, and wait for its end")
    call.add_argument("--chat", action="store_true", help="as a chat's message where the engine also takes plain text")
    call.add_argument("--max-tokens", type=_count, metavar="N", help="of the answer (default: the deployment's)")
    call.add_argument("--timeout", type=_seconds, default=1800, help=_TIMEOUT)
    call.add_argument("--json", action="store_true", help="the whole answer")


def _add_playground(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.stack import signing_proxy as playground

        return playground.run(given.deployment, given.region, given.port)

    text, more = "a page to try the model, and a URL for any HTTP client", "signs its calls, on this machine only"
    page = _add_deployed(commands, "playground", text, run, "qwen3-4b", more=more)
    page.add_argument("--playground-port", "--port", dest="port", type=_port, help=_PLAYGROUND_PORT)


def _add_openapi(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.stack import openapi_document as deployed_openapi

        return deployed_openapi.run(given.deployment, given.region)

    _add_deployed(commands, "openapi", "print the OpenAPI document of a deployed API", run, "qwen3-4b > openapi.json")


def _add_logs(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.operations import logs

        options = logs.Options(source=given.source, since=given.since, follow=given.follow, everything=given.all)
        return logs.run(given.deployment, given.region, options)

    logs = _add_deployed(
        commands, "logs", "what containers or machines, functions or API wrote", run, "qwen3-4b --follow"
    )
    logs.add_argument(
        "source",
        nargs="?",
        default="container",
        help="container (default: what runs the model), of machines also setup, model or worker; functions, access, or "
        "one function by its handler, such as generate",
    )
    logs.add_argument("--since", type=_age, default="1h", help="so far back: 30s, 15m, 2h, 7d (default 1h)")
    logs.add_argument("--all", action="store_true", help="of functions also Lambda's own lines, and metrics")
    logs.add_argument("--follow", action="store_true", help="go on until Ctrl-C")


def _add_list(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.operations import list_deployments

        return list_deployments.run(given.region, as_json=given.json)

    list_ = _add(commands, "list", "the deployments of account and region, and what they cost now", run)
    list_.add_argument("--region", help=_REGION)
    list_.add_argument("--json", action="store_true", help="a JSON list")


def _add_purge(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.leftovers import purge

        return purge.run(given.deployment, given.region, sure=given.yes)

    purge = _add_deployed(
        commands, "purge", "remove what a destroyed deployment or an update left on AWS", run, "qwen3-4b"
    )
    purge.add_argument("--yes", action="store_true", help="remove without asking")


def _add_models(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.reference import catalog_rows as models

        return models.run(given.locks)

    text = "write the facts of lock files into the catalog"
    models = _add(commands, "models", text, run, "deployments/qwen3-4b.lock.json")
    models.add_argument("locks", nargs="+", type=Path, metavar="lock", help="file that `lock` has written")


def _add_reference(commands: Any) -> None:
    def run(given: argparse.Namespace) -> int:
        from slipway.reference import generated_files as reference

        reference.run(ROOT)
        return 0

    _add(commands, "reference", "write the schemas, and the generated parts of docs/", run)


def _add_deployed(
    commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], int], example: str, *, more: str = ""
) -> Parser:
    """A command on a stack, which is named as its deployment."""
    command = _add(commands, name, text, run, example, more=more)
    command.add_argument("deployment", type=_stack_name, help="name of the deployment")
    command.add_argument("--region", help=_REGION)
    return command


def _month(text: str) -> datetime:
    try:
        month = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no month; write it as 2026-11") from None
    if month > datetime.now(UTC):
        raise argparse.ArgumentTypeError(f"{text} has not begun")
    return month


def _usd(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1
    if not 0 <= amount < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of USD; write it as 812.40")
    return amount


def _count(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text!r} must be a positive whole number")
    return int(text)


def _counts(text: str) -> list[int]:
    counts = [_count(each.strip()) for each in text.split(",")]
    if max(counts) > _MOST_CLIENTS:
        raise argparse.ArgumentTypeError(
            f"{max(counts)} clients are more than the {_MOST_CLIENTS} that one process takes"
        )
    return counts


def _rates(text: str) -> list[float]:
    return [_positive(each, "a number of requests per second") for each in text.split(",")]


def _budget(text: str) -> float:
    return _positive(text, "an amount in USD")


def _positive(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} above 0")
    return number


def _types(text: str) -> list[str]:
    from llm_hosting.catalog.instances import ec2_instances, instances
    from llm_hosting.deployment.nearest import nearest

    types, known = [each.strip() for each in text.split(",")], instances() | ec2_instances()
    if other := [each for each in types if each not in known]:
        alike = {each for each in known if each.startswith("ml.") == other[0].startswith("ml.")}
        raise argparse.ArgumentTypeError(f"{other[0]!r} is no instance type; use {nearest(other[0], alike)}")
    if len(types) > _MOST_TYPES:
        raise argparse.ArgumentTypeError(f"{len(types)} types are too many; name at most {_MOST_TYPES}")
    return types


def _engine(text: str) -> str:
    from llm_hosting.catalog.engines import ENGINES
    from llm_hosting.deployment.nearest import nearest

    if text not in ENGINES:
        raise argparse.ArgumentTypeError(f"{text!r} is no engine; use {nearest(text, ENGINES)}")
    return text


def _one_name(text: str) -> str:
    if "," in text or text == ACCOUNT_SETTINGS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one deployment; name one, such as gpt2")
    return text


def _stack_name(text: str) -> str:
    """`<base>/<overlay>` is the stack `<base>-<overlay>`."""
    name = text.replace("/", "-", 1)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9-]{0,127}", name) or name == ACCOUNT_SETTINGS:
        raise argparse.ArgumentTypeError(f"{text!r} is no deployment's name; name one, such as gpt2")
    return name


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; use 1 to 65535")
    return int(text)


def _seconds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 604_800:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; use 1 to 604800 seconds, which is a week")
    return int(text)


def _age(text: str) -> str:
    if not re.fullmatch("[0-9]{1,5}[smhd]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no age; use 30s, 15m, 2h or 7d")
    return text


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0
    if not 1 <= speed <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed; use 1 to 1000")
    return speed


if __name__ == "__main__":
    try:
        main()
    except CatalogError as error:
        sys.exit(str(error))
