"""Runs one load test of a deployed API: its start, its loads one after the other, its results."""

import platform
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryFile

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.file_errors import why
from llm_hosting.home import HOME
from llm_hosting.resolution import Placement, Resolution
from slipway.hosting.hosting import hosting_of
from slipway.measuring import starts
from slipway.measuring.figures import slo
from slipway.measuring.figures.measured import STAND_IN_NOT_KEPT
from slipway.measuring.figures.results import Load, Results
from slipway.measuring.loads import Stop, closed, open_loop
from slipway.measuring.progress import Tell, progress
from slipway.measuring.prompts import Prompt, Prompts
from slipway.measuring.report.files import write
from slipway.measuring.routes import route_of
from slipway.shared.version import commit
from slipway.stack.api import DeployedApi, refusal
from slipway.stack.deployed_stack import DeployedStack

BY_HAND = "Ctrl-C"
_MOST_CLIENTS, _MOST_LOADS_OF_SEARCH = 512, 24
_FEWEST_REQUESTS_OF_SEARCH = 10  # in each load: a percentile of fewer requests means nothing


@dataclass(frozen=True)
class LoadTestOptions:
    """What to measure.

    route: None = the one that tells most about the deployment. texts: of a request of embeddings. clients, rates: the
    levels; each is measured `rounds` times, in turns. requests: of a closed loop; None = 10 for each client, at
    least 20. seconds: of an open loop. prompts: a file of JSON lines. warm_up: requests before the first load, not
    counted. budget: in USD, by the catalog's price of the running instances. slo: search the highest rate that holds
    it. keep: write the figures beside the deployment, for `check --recommend`. output: the folder of all reports.
    """

    route: str | None = None
    texts: int = 1
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


class LoadTestError(Exception):
    """The deployment can't be measured in this way; the message is one sentence."""


class LoadTest:
    """One load test. Raises LoadTestError and RouteError."""

    def __init__(
        self, stack: DeployedStack, resolution: Resolution, options: LoadTestOptions, prompts: Prompts
    ) -> None:
        self._stack, self._options, self._prompts = stack, options, prompts
        if problem := refusal(stack, as_job=options.route == "jobs"):
            raise LoadTestError(problem)
        self._api = DeployedApi(stack, connections=_MOST_CLIENTS)
        self.route = route_of(stack, self._api, resolution, options.route, texts=options.texts)
        self._stop = Stop()
        started = datetime.now(UTC)
        self._folder = options.output / stack.name / f"{started:%Y-%m-%dT%H-%M-%SZ}"
        self._seed = options.seed
        self._results = self._empty(stack, resolution, started)
        if options.keep and self._results.stand_in:
            raise LoadTestError(STAND_IN_NOT_KEPT)
        if options.budget is not None:
            if (price := self._results.usd_per_hour) is None:
                problem = f"the catalog has no price of {self._results.instance_type}"
                raise LoadTestError(f"--budget-usd: {problem}; leave it out.")
            self._stop.at = time.monotonic() + options.budget / price * 3600

    def _empty(self, stack: DeployedStack, resolution: Resolution, started: datetime) -> Results:
        container = resolution.container
        placement, usd_per_hour = _hardware(stack, resolution)
        return Results(
            deployment=stack.name,
            model=resolution.deployment.model.id,
            engine=resolution.deployment.serving.engine,
            version=resolution.version,
            instance_type=placement.instance.type,
            degree=placement.degree,
            batch=self._options.texts,
            route=self.route.name,
            stand_in=bool(stack.local_cloud),
            started_at=started.isoformat(timespec="seconds"),
            seed=self._options.seed,
            prompt_tokens=self._prompts.prompt_tokens,
            answer_tokens=0 if self.route.name == "embeddings" else self._prompts.answer_tokens,
            loads=(),
            usd_per_hour=usd_per_hour,
            versions=_versions(),
            region=None if stack.local_cloud else stack.region,
            prompts=self._prompts.origin,
            context=container.context,
            commit=container.lock.commit if container.lock else None,
            slo=self._options.slo,
        )

    def run(self, objective: slo.Slo | None) -> tuple[Results, Path]:
        """Measure, and write the report. Returns the results and the path of the report's page.

        Raises AwakeError; LoadTestError if nothing was measured, or KeyboardInterrupt if Ctrl-C was the reason.
        """
        _demand_writable(self._folder.parent)
        try:
            with progress() as tell:
                self._start(tell)
                self._warm_up(tell)
                with _ended_by_hand(self._stop):
                    before = self._instances()
                    self._measure(objective, tell)
                    after = self._instances()
                    if before != after and before is not None and after is not None:
                        self._results = replace(self._results, instances=(before, after))
        except KeyboardInterrupt:
            self._stop(BY_HAND)
        if self._stop.reason:
            self._results = replace(self._results, interrupted=self._stop.reason)
        if not self._results.loads and not (self._options.from_zero and self._results.start):
            if self._stop.reason == BY_HAND:
                raise KeyboardInterrupt
            reason = self._stop.reason or f"no request was due within {self._options.seconds:g} s; give more --seconds"
            raise LoadTestError(f"Nothing was measured: {reason}.")
        return self._results, write(self._results, self._folder)

    def _instances(self) -> int | None:
        """The number of running instances; None = not known, for example because credentials have expired."""
        try:
            return hosting_of(self._stack.unread).running.total()
        except (BotoCoreError, ClientError):
            return None

    def _start(self, tell: Tell) -> None:
        if not self._options.from_zero:
            self._results = replace(self._results, start=starts.of_deploy(self._stack))
            return
        first = next(self._drawn())

        def told(status: str) -> None:
            tell(f"from zero: {status}", None, None)

        start = starts.from_zero(self._stack, self._api, self.route, first, self._stop, told)
        self._results = replace(self._results, start=start)

    def _measure(self, objective: slo.Slo | None, tell: Tell) -> None:
        options, loads = self._options, count(1)
        every = options.rounds * (len(options.clients) + len(options.rates))
        for _ in range(options.rounds):
            for clients in options.clients:
                self._add(self._closed(clients, f"load {next(loads)} of {every}: {clients} at once", tell))
            for rate in options.rates:
                self._add(self._open(rate, f"load {next(loads)} of {every}: {rate:g}/s", tell))
        for number in range(_MOST_LOADS_OF_SEARCH if objective else 0):
            slowest = _FEWEST_REQUESTS_OF_SEARCH / options.seconds
            sought = slo.next_rate(objective, self._results, slowest) if objective and not self._stop.is_set else None
            if sought is None:
                break
            self._add(self._open(sought, f"search, load {number + 1}: {sought:g}/s", tell))

    def _add(self, load: Load) -> None:
        """Add a load and write the results at once, so that they survive any end of this process."""
        if load.answers:
            self._results = replace(self._results, loads=(*self._results.loads, load))
            self._results.write(self._folder)

    def _warm_up(self, tell: Tell) -> None:
        """Send the first requests. If one fails, stop the run, because no load would succeed."""
        for index, prompt in enumerate(islice(self._drawn(), self._options.warm_up)):
            tell("warm-up", index, self._options.warm_up)
            error = self.route.ask(prompt).error
            if error:
                said = (self.route.problem or error).removesuffix(".")
                self._stop(f"the first request by {self.route.name} was not answered: {said}")
                return

    def _closed(self, clients: int, name: str, tell: Tell) -> Load:
        requests, done = self._options.requests or max(20, 10 * clients), count(1)

        def answered() -> None:
            tell(name, next(done), requests)

        tell(name, 0, requests)
        return closed(self.route, self._drawn(), clients, requests, self._stop, answered)

    def _open(self, rate: float, name: str, tell: Tell) -> Load:
        drawn, seconds, done = self._drawn(), self._options.seconds, count(1)
        expected = round(rate * seconds) or 1

        def answered() -> None:
            tell(name, next(done), expected)

        tell(name, 0, expected)
        return open_loop(self.route, drawn, rate, seconds, self._seed, self._stop, answered)

    def _drawn(self) -> Iterator[Prompt]:
        """The prompts of the next load. Each load has other prompts; runs with the same seed have the same ones."""
        self._seed += 1
        return self._prompts.drawn(self._seed)


def _demand_writable(folder: Path) -> None:
    """Raise LoadTestError before the load if the folder can't be written, because its figures would be lost."""
    try:
        # The folder itself is not made, so that a run without results leaves no empty folder.
        there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        TemporaryFile(dir=there).close()
    except OSError as error:
        raise LoadTestError(f"-o: {folder} can't be used: {why(error)}; name another folder.") from error


def _versions() -> dict[str, str]:
    """The versions of the tools. Slipway's version is its commit, and is left out if git does not know it."""
    slipway = commit(HOME)
    others = {name: version(name) for name in ("boto3", "urllib3")}
    return ({"slipway": slipway} if slipway else {}) | {"python": platform.python_version()} | others


def _hardware(stack: DeployedStack, resolution: Resolution) -> tuple[Placement, float | None]:
    """The most frequent placement of the running instances, and USD an hour of all; the first placement if none
    runs.
    """
    running = hosting_of(stack).running
    placements = {each.instance.type: each for each in resolution.placements}
    if others := running.keys() - placements.keys():
        problem = f"{stack.name} runs on {', '.join(sorted(others))}, which its file does not name"
        raise LoadTestError(f"{problem}: deploy the file, or use the file that was deployed.")
    most = max(placements.values(), key=lambda each: running[each.instance.type])
    prices = {name: each.instance.usd_per_hour or each.instance.ec2_usd_per_hour for name, each in placements.items()}
    costs = [(prices[name] or 0) * count for name, count in (running or {most.instance.type: 1}).items()]
    return most, sum(costs) if all(costs) else None


@contextmanager
def _ended_by_hand(stop: Stop) -> Iterator[None]:
    """On Ctrl-C, end the load at once; its answers count. A second Ctrl-C has no further effect."""
    before = signal.signal(signal.SIGINT, lambda *_: stop(BY_HAND))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
