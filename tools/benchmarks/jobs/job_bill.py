"""Measures the AWS usage of one job and the cost of a million, by counting the calls of the shipped handlers."""

from collections.abc import Iterable, Iterator
from random import Random
from statistics import median

from simulation.runtime.gateway import Gateway
from simulation.runtime.model import body_for
from tools.benchmarks.jobs import backlog
from tools.benchmarks.jobs.metered_deployment import MeteredDeployment, Used, nothing_used
from tools.benchmarks.shared.pairs import Figure, work
from tools.benchmarks.shared.prices import dollars_per_million

MODES = ("async", "realtime")  # machines are billed by the hour
SAMPLE = work(21)  # jobs; the figure is the median, because the simulated model sometimes gives a long answer
FETCHED_AFTER_IN_SECONDS = 40
LONGEST_IN_SECONDS = 60
PROMPT = "la " * 650  # the answer repeats it and has 2 kB


class OneJob(MeteredDeployment):
    """A deployment with one job: its caller submits it with an idempotency key and fetches the answer once."""

    def __init__(self, mode: str, seed: int) -> None:
        super().__init__(mode, seed)
        self.async_endpoint.wake_up_in_seconds = 0
        self._gateway = Gateway(self.scheduler, Random(seed), self.functions, self.faults)
        self._fetched = False
        self.run(self._live, LONGEST_IN_SECONDS)
        assert self._fetched
        self._count_what_services_do()

    def _live(self) -> None:
        reply = self._gateway.call("POST", "/jobs", "caller", headers={"Idempotency-Key": "1"}, body=body_for(PROMPT))
        self.scheduler.sleep(FETCHED_AFTER_IN_SECONDS)
        reply = self._gateway.call("GET", "/jobs/{id}", "caller", job=reply.body["id"])
        self._fetched = reply.body["status"] == "succeeded"

    def _count_what_services_do(self) -> None:
        """Add what the services themselves use, and subtract the model's time from that of the functions."""
        for function in ("submit_job", "poll_job"):
            self.used[function]["API requests"] += 1
        consumer = self.event_source.function.name
        self.used[consumer]["SQS, fair" if consumer == "run_job" else "SQS"] += 2  # receive, delete
        for _ in self.requests:  # SageMaker reads the input, writes the output and publishes to a topic
            for item in ("S3 GET", "S3 PUT or LIST", "SNS", "SQS"):
                self.used[consumer][item] += 1
        if consumer == "run_job":
            self.seconds[consumer] -= sum(run.ended_at - run.started_at for run in self.model.runs)
        for function, used in self.used.items():
            used["GB-seconds"] = self.gigabyte_seconds(function)


def used_by_a_job(mode: str) -> dict[str, Used]:
    """The median usage of a job, by function."""
    jobs = [OneJob(mode, seed) for seed in range(1, SAMPLE + 1)]
    return {function: _median(job.used[function] for job in jobs) for function in jobs[0].used}


def figures(_rounds: int) -> Iterator[Figure]:
    """Usage and cost in each mode. Raises AssertionError if a job does not succeed."""
    for mode in MODES:
        whole = nothing_used()
        for function, used in used_by_a_job(mode).items():
            yield Figure(f"{mode} job, {function}", "shown", _in_words(used))
            for item, number in used.items():
                whole[item] += number
        yield Figure(f"{mode} job", "shown", f"{_in_words(whole)}: ${dollars_per_million(whole):.2f}/M")
    yield from backlog.figures()


def _median(counts: Iterable[Used]) -> Used:
    found, all_counts = nothing_used(), list(counts)
    for item in all_counts[0]:
        found[item] = median(each[item] for each in all_counts)
    return found


def _in_words(used: Used) -> str:
    return ", ".join(f"{number:.3g} {item}" for item, number in used.items())
