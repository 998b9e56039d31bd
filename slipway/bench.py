"""`python -m slipway bench`: measures a deployed API under load, and writes a report."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from llm_hosting.archive import handler_folders
from llm_hosting.deployment_file import DeploymentError
from llm_hosting.deployment_paths import UnknownDeploymentError, find, stack_name
from llm_hosting.preflight.validation import load as load_deployment
from llm_hosting.resolution import Placement, Resolution
from slipway.call import refusal
from slipway.deployed_api import DeployedApi
from slipway.deployed_stack import DeployedStack, with_stack
from slipway.hosting.hosting import hosting_of
from slipway.measuring import report, report_terminal, slo, starts
from slipway.measuring.loads import Stop, closed, open_loop
from slipway.measuring.measured import MeasuredError, keep
from slipway.measuring.prompts import Prompt, Prompts, PromptsError, from_file
from slipway.measuring.results import Load, Results
from slipway.measuring.routes import Chat, Generate, Jobs, Route

_LOOPBACK = ("127.0.0.1", "localhost")
_MOST_CLIENTS, _MOST_LOADS_OF_SEARCH = 512, 12
_BY_HAND, INTERRUPTED = "Ctrl-C", 130  # as shells report it

Tell = Callable[[str, int | None, int | None], None]  # what is measured, and how many of how many requests are answered


@dataclass(frozen=True)
class Options:
    """route: None = chat where the model streams it, else generate of a realtime endpoint, else jobs.

    clients, rates: the levels; each is measured `rounds` times, in turns. requests: of a closed loop; None = 10 for
    each client, at least 20. seconds: of an open loop. prompts: JSON lines. warm_up: requests before, not counted.
    budget: in USD, by the catalog's price of the instances that run. slo: the highest rate that holds it is searched.
    keep: write the figures beside the deployment, for `check --recommend`. output: the folder of all reports.
    """

    route: str | None = None
    clients: Sequence[int] = (1, 4, 16)
    rates: Sequence[float] = ()
    rounds: int = 2
    requests: int | None = None
    seconds: float = 60
    prompt_tokens: int = 256
    answer_tokens: int = 128
    prompts: Path | None = None
    warm_up: int = 2
    seed: int = 1
    from_zero: bool = False
    budget: float | None = None
    slo: str | None = None
    keep: bool = False
    output: Path = Path("reports")


class BenchError(Exception):
    """It can't be measured so; the message is one sentence."""


def run(name: str, region: str | None, root: Path, options: Options) -> int:
    """root: the folder with `deployments/`.

    Returns the exit status: 0 after a whole run, 1 where no request was answered, 2 for what can't be measured, 130
    after Ctrl-C, whose report has what was measured until then.
    """
    try:
        path = find(name, root / "deployments")
        resolution, _ = load_deployment(path, handler_folders(root / "model_src"))
        objective = slo.parse(options.slo) if options.slo else None
        prompts = (
            from_file(options.prompts, options.answer_tokens)
            if options.prompts
            else Prompts("synthetic", options.prompt_tokens, options.answer_tokens)
        )
    except (UnknownDeploymentError, DeploymentError, slo.SloError, PromptsError) as error:
        print(error, file=sys.stderr)
        return 2

    def bench(stack: DeployedStack) -> int:
        try:
            measuring = _Bench(stack, resolution, options, prompts)
            if objective:
                objective.demand_route(measuring.route.name)
            results, page = measuring.run(objective)
        except (BenchError, starts.AwakeError, slo.SloError) as error:
            print(error, file=sys.stderr)
            return 2
        report_terminal.show(results, page)
        if options.keep:
            try:
                print(f"kept {keep(results, path)}")
            except MeasuredError as error:
                print(error, file=sys.stderr)
                return 2
        if results.interrupted == _BY_HAND:
            return INTERRUPTED
        return 0 if any(answer.error is None for load in results.loads for answer in load.answers) else 1

    return with_stack(stack_name(path), region, bench)


class _Bench:
    """One run. Raises BenchError."""

    def __init__(self, stack: DeployedStack, resolution: Resolution, options: Options, prompts: Prompts) -> None:
        self._stack, self._options, self._prompts = stack, options, prompts
        if problem := refusal(stack, as_job=options.route == "jobs"):
            raise BenchError(problem)
        self._api = DeployedApi(stack, connections=_MOST_CLIENTS)
        self.route = _route(stack, self._api, resolution, options.route)
        self._stop = Stop()
        started = datetime.now(UTC)
        self._folder = options.output / stack.name / f"{started:%Y-%m-%dT%H-%M-%SZ}"
        self._seed = options.seed
        (placement, *_) = resolution.placements
        price = placement.instance.usd_per_hour or placement.instance.ec2_usd_per_hour
        self._usd_per_hour = price * max(1, hosting_of(stack).awake) if price else None
        self._results = self._empty(stack, resolution, placement, started)
        if options.budget is not None:
            if self._usd_per_hour is None:
                raise BenchError(f"--budget-usd: the catalog has no price of {placement.instance.type}; leave it out.")
            self._stop.at = time.monotonic() + options.budget / self._usd_per_hour * 3600

    def _empty(self, stack: DeployedStack, resolution: Resolution, placement: Placement, started: datetime) -> Results:
        container = resolution.container
        is_stand_in = urlsplit(stack.clients("apigateway").meta.endpoint_url).hostname in _LOOPBACK
        return Results(
            deployment=stack.name,
            model=resolution.deployment.model.id,
            engine=resolution.deployment.serving.engine,
            version=resolution.version,
            instance_type=placement.instance.type,
            degree=placement.degree,
            batch=1,
            route=self.route.name,
            stand_in=is_stand_in,
            started_at=started.isoformat(timespec="seconds"),
            seed=self._options.seed,
            prompt_tokens=self._prompts.prompt_tokens,
            answer_tokens=self._prompts.answer_tokens,
            loads=(),
            usd_per_hour=self._usd_per_hour,
            versions={name: version(name) for name in ("boto3", "urllib3")},
            region=None if is_stand_in else stack.region,
            prompts=self._prompts.origin,
            context=container.context,
            commit=container.lock.commit if container.lock else None,
            slo=self._options.slo,
        )

    def run(self, objective: slo.Slo | None) -> tuple[Results, Path]:
        """The results, and the page of their report. Raises AwakeError, and BenchError where nothing is answered."""
        try:
            with _progress() as tell:
                self._measure(objective, tell)
        except KeyboardInterrupt:
            self._stop(_BY_HAND)
        if self._stop.reason:
            self._results = replace(self._results, interrupted=self._stop.reason)
        if not self._results.loads:
            raise BenchError(f"Nothing was measured: {self._stop.reason or 'no load was asked for'}.")
        return self._results, report.write(self._results, self._folder)

    def _measure(self, objective: slo.Slo | None, tell: Tell) -> None:
        options = self._options
        if options.from_zero:
            (prompt,) = islice(self._drawn(), 1)
            start = starts.from_zero(
                self._stack, self._api, prompt, lambda status: tell(f"from zero: {status}", None, None)
            )
            self._results = replace(self._results, start=start)
        else:
            self._results = replace(self._results, start=starts.of_deploy(self._stack))
        self._warm_up(tell)
        for _ in range(options.rounds):
            for clients in options.clients:
                self._add(self._closed(clients, tell))
            for rate in options.rates:
                self._add(self._open(rate, tell))
        for _ in range(_MOST_LOADS_OF_SEARCH if objective else 0):
            sought = slo.next_rate(objective, self._results) if objective and not self._stop.is_set else None
            if sought is None:
                break
            self._add(self._open(sought, tell))

    def _add(self, load: Load) -> None:
        """Written at once: whatever ends this process, what was measured is there."""
        if load.answers:
            self._results = replace(self._results, loads=(*self._results.loads, load))
            self._results.write(self._folder)

    def _warm_up(self, tell: Tell) -> None:
        """Raises BenchError where a first request has no answer: then no load would have one."""
        for index, prompt in enumerate(islice(self._drawn(), self._options.warm_up)):
            tell("warm-up", index, self._options.warm_up)
            error = self.route.ask(prompt).error
            if error and not self._stop.is_set:
                said = self.route.problem or error
                raise BenchError(f"The first request by {self.route.name} was not answered: {said.removesuffix('.')}.")

    def _closed(self, clients: int, tell: Tell) -> Load:
        requests = self._options.requests or max(20, 10 * clients)
        count = _Count(lambda done: tell(f"{clients} clients", done, requests))
        return closed(self.route, self._drawn(), clients, requests, self._stop, count)

    def _open(self, rate: float, tell: Tell) -> Load:
        seconds, drawn = self._options.seconds, self._drawn()
        count = _Count(lambda done: tell(f"{rate:g} requests/s", done, round(rate * seconds) or 1))
        return open_loop(self.route, drawn, rate, seconds, self._seed, self._stop, count)

    def _drawn(self) -> Iterator[Prompt]:
        """Other prompts for each load, the same ones in each run with the same seed."""
        self._seed += 1
        return self._prompts.drawn(self._seed)


class _Count:
    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._done = tell, 0

    def __call__(self) -> None:
        self._done += 1
        self._tell(self._done)


def _route(stack: DeployedStack, api: DeployedApi, resolution: Resolution, asked: str | None) -> Route:
    """Raises BenchError for a route that the deployment does not have."""
    is_realtime = resolution.deployment.hosting.mode == "realtime"
    has = {
        "chat": "chat" in resolution.openai_routes,
        "generate": is_realtime,
        "jobs": "JobTable" in stack.outputs,
    }
    facts: Any = resolution.openai_facts
    streams, asks_usage = ("messages" in facts.get(name, ()) for name in ("streams", "asks_usage"))
    # Elsewhere a stream is made of a whole answer: there its first token says nothing.
    usual = ("chat" if streams and has["chat"] else "generate") if is_realtime else "jobs"
    name = asked or usual
    if not has[name]:
        others = ", ".join(route for route, is_there in has.items() if is_there) or "none"
        raise BenchError(f"--route: {stack.name} has no {name}; it has {others}.")
    if name == "chat":
        return Chat(stack, api, asks_usage=asks_usage)
    return Jobs(stack, api) if name == "jobs" else Generate(stack, api)


@contextmanager
def _progress() -> Iterator[Tell]:
    """A bar with the time left on the terminal's error stream; nothing where that is a file."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int | None, whole: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=whole)
            progress.update(tasks[what], completed=done or 0, total=whole)

        yield tell
