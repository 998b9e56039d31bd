"""Measures jobs on the local cloud in real time: a submit, jobs per second, the delay of a held caller."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import yaml

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack, read_stacks, synthesize
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from tools.benchmarks.shared.pairs import QUICK, ROOT, Figure, work

ACCOUNT_SETTINGS = "slipway-account-settings"
FILES = {"realtime": ROOT / "deployments" / "gpt2.yaml", "async": ROOT / "tests" / "deployments" / "async.yaml"}
MODES = ("realtime",) if QUICK else tuple(FILES)
CONCURRENCY, BURST = work(32), work(320)
# On two cores, 32 functions that start at once do not answer in time: the callers grow step by step.
WARM_UP = [each for each in (2, 4, 8, 16, 24, 32) if each <= CONCURRENCY]
SUBMITS = work(100)
WAITERS_AT_ONCE, WAITERS = work(4), work(80)
TOKENS_OF_A_WAIT = 20
SECONDS_PER_TOKEN = 0.1
LATEST_FIRST_BYTE_IN_SECONDS = 0.4
MOST_REPEATS = 10
FINAL = ("succeeded", "failed", "expired", "cancelled")


def figures(_rounds: int) -> Iterator[Figure]:
    """Figures in each mode. Raises SystemExit if a job does not succeed."""
    with TemporaryDirectory() as folder, LocalCloud(port=free_port()) as cloud:
        stacks = {stack.name: stack for stack in _synthesized(Path(folder))}
        cloud.wait_until_ready()
        deploy(cloud, stacks[ACCOUNT_SETTINGS])
        for mode in MODES:
            yield from _of_mode(cloud, stacks, mode)


def _synthesized(folder: Path) -> list[Stack]:
    """The account settings, and two stacks per mode: one with an instant model, one with a slow model."""
    files = []
    for mode in MODES:
        for speed, seconds in (("instant", 0.0), ("slow", SECONDS_PER_TOKEN)):
            files.append(folder / f"{mode}-{speed}.yaml")
            files[-1].write_text(yaml.safe_dump(_without_limits(yaml.safe_load(FILES[mode].read_text()), seconds)))
    return read_stacks(synthesize([*map(str, files), ACCOUNT_SETTINGS], folder / "assembly"))


def _without_limits(deployment: dict[str, Any], seconds_per_token: float) -> dict[str, Any]:
    """The deployment with a running instance and a throttle that nobody reaches: neither is measured here."""
    deployment["serving"]["environment"] = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN": str(seconds_per_token)}
    deployment["hosting"]["instance_count"] = {"min": 1, "max": 1}
    for section, name in (("hosting", "scaling"), ("hosting", "update_wait_in_seconds"), ("alarms", "topic_arn")):
        deployment.get(section, {}).pop(name, None)
    deployment["api"] = {"throttle": {"rate": 1000, "burst": 2000}}
    deployment.setdefault("jobs", {})["max_waiting"] = 200
    return deployment


def _of_mode(cloud: LocalCloud, stacks: dict[str, Stack], mode: str) -> Iterator[Figure]:
    instant, slow = (_deployed(cloud, stacks[f"{mode}-{speed}"]) for speed in ("instant", "slow"))
    for callers in WARM_UP:
        _at_once(callers, 2 * callers, instant)
    alone = _at_once(1, SUBMITS, instant)
    yield Figure(f"{mode}: submit, one caller, p50/p99", "shown", _percentiles([life.submit for life in alone]))
    started = time.monotonic()
    lives = _at_once(CONCURRENCY, BURST, instant)
    rate = BURST / (time.monotonic() - started)
    repeated = sum(life.repeated for life in lives)
    measured = f"{rate:.1f} per second, {repeated} requests repeated"
    yield Figure(f"{mode}: jobs end to end, {CONCURRENCY} callers", "shown", measured)
    yield Figure("submit meanwhile, p50/p99", "shown", _percentiles([life.submit for life in lives]))
    _at_once(WAITERS_AT_ONCE, 2 * WAITERS_AT_ONCE, slow, TOKENS_OF_A_WAIT)
    delays = [life.delay for life in _at_once(WAITERS_AT_ONCE, WAITERS, slow, TOKENS_OF_A_WAIT)]
    verdict = "met" if _p99(delays) <= LATEST_FIRST_BYTE_IN_SECONDS else "MISSED"
    target = f"p99 <= {1000 * LATEST_FIRST_BYTE_IN_SECONDS:.0f} ms"
    seconds = TOKENS_OF_A_WAIT * SECONDS_PER_TOKEN
    yield Figure(
        f"{mode}: {seconds:g} s job, its end to held caller, p50/p99", target, _percentiles(delays), "", verdict
    )


def _deployed(cloud: LocalCloud, stack: Stack) -> ApiClient:
    return connect(cloud, deploy(cloud, stack), stack.region)


class Life(NamedTuple):
    """One job, in seconds. submit: until it is accepted. delay: from its end until its held caller has the answer."""

    submit: float
    delay: float
    repeated: int


def _at_once(callers: int, jobs: int, api: ApiClient, tokens: int = 1) -> list[Life]:
    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(lambda _: _live(api, tokens), range(jobs)))


def _live(api: ApiClient, tokens: int) -> Life:
    started, key = time.monotonic(), uuid4().hex
    body = {"inputs": "The sea", "parameters": {"max_new_tokens": tokens}}
    job, repeated = _ask(api, "POST", "/jobs", body, {"Idempotency-Key": key})
    submit = time.monotonic() - started
    while job["status"] not in FINAL:
        job, more = _ask(api, "GET", f"/jobs/{job['id']}?wait=25")
        repeated += more
    if job["status"] != "succeeded":
        raise SystemExit(f"The job has not succeeded: {job}")
    return Life(submit, time.time() - datetime.fromisoformat(job["ended_at"]).timestamp(), repeated)


def _ask(
    api: ApiClient, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[dict[str, Any], int]:
    """The job, and how often the request had to be repeated because the API was overloaded."""
    for repeated in range(MOST_REPEATS):
        status, answered, job = api.call(method, path, body, headers=headers)
        if status in (200, 202):
            return job, repeated
        time.sleep(float(answered.get("retry-after", 1)))
    raise SystemExit(f"{method} {path}: {status}: {job}")


def _p99(seconds: list[float]) -> float:
    return quantiles(seconds, n=100, method="inclusive")[98]


def _percentiles(seconds: list[float]) -> str:
    return f"{1000 * median(seconds):.0f}/{1000 * _p99(seconds):.0f} ms"
