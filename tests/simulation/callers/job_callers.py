"""Callers of the API: they submit, repeat, poll, wait, list and cancel jobs, and try the ids of others."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from random import Random
from typing import Any

from simulation.callers.history import Exchange, History
from simulation.runtime.gateway import Gateway, Reply
from simulation.runtime.model import REFUSED, body_for
from simulation.runtime.scheduler import Scheduler

LONGEST_PAUSE_IN_SECONDS = 900
FINAL = ("succeeded", "failed", "expired", "cancelled")


@dataclass(frozen=True)
class Habits:
    """How often callers do something: shares of all submissions, from 0 to 1."""

    with_key: float = 0.6
    repeated: float = 0.1
    repeated_at_once: float = 0.05
    key_with_other_body: float = 0.05
    refused: float = 0.03
    waiting: float = 0.03
    absent: float = 0.25
    cancelled: float = 0.06
    intruded: float = 0.1
    listed: float = 0.03
    generated: float = 0.0
    follow: float = 1.0

    @classmethod
    def only_submit(cls) -> "Habits":
        """Return habits without any request after the submission."""
        return cls(**{each.name: 0.0 for each in fields(cls)})


@dataclass
class Callers:
    """All callers of one deployment's API. Every exchange goes into the history."""

    scheduler: Scheduler
    random: Random
    gateway: Gateway
    history: History
    habits: Habits
    owners: int
    unfinished: int = 0
    ids: list[tuple[str, str]] = field(default_factory=list)
    prompts_with_key: set[str] = field(default_factory=set)

    def submit_all(self, jobs: int, within_seconds: float) -> None:
        """Start `jobs` submissions at random moments."""
        for number in range(jobs):
            principal = f"AROAOWNER{self.random.randrange(self.owners)}"
            delay = self.random.uniform(0, within_seconds)
            self._begin(partial(self._journey, number, principal), delay)

    def _begin(self, work: Callable[[], object], delay: float = 0) -> None:
        self.unfinished += 1

        def run() -> None:
            work()
            self.unfinished -= 1

        self.scheduler.spawn(run, delay)

    def _journey(self, number: int, principal: str) -> None:
        """Make one submission, and the later requests of its caller."""
        habits, chance = self.habits, self.random.random
        prompt = f"prompt {number}" + (f", {REFUSED}" if chance() < habits.refused else "")
        key = f"key-{number}" if chance() < habits.with_key else None
        if key:
            self.prompts_with_key.add(prompt)
            if chance() < habits.repeated_at_once:
                self._begin(lambda: self._submit(principal, prompt, key))
        job = self._submit(principal, prompt, key)
        if job is None:
            return
        self.ids.append((job, principal))
        if key and chance() < habits.repeated:
            self._begin(lambda: self._submit(principal, prompt, key), self.random.expovariate(1 / 120))
        if key and chance() < habits.key_with_other_body:
            self._begin(lambda: self._submit(principal, f"other {prompt}", key), self.random.expovariate(1 / 60))
        if chance() < habits.cancelled:
            self._begin(lambda: self._cancel(principal, job), self.random.expovariate(1 / 15))
        if chance() < habits.intruded:
            self._begin(lambda: self._intrude(principal, job), self.random.expovariate(1 / 60))
        if chance() < habits.listed:
            self._begin(lambda: self._list(principal), self.random.expovariate(1 / 60))
        if chance() < habits.follow:
            self._follow(principal, job)

    def _submit(self, principal: str, prompt: str, key: str | None) -> str | None:
        """Submit a job. Return its id; None if the caller gave up or was refused."""
        headers = {"Idempotency-Key": key} if key else {}
        for turn in range(12):
            by_generate = self.random.random() < self.habits.generated
            query = {"wait": "0"} if by_generate else None
            if self.random.random() < self.habits.waiting:
                query = {"wait": str(self.random.choice((0, 1, 20)))}
            reply = self._ask(
                "generate" if by_generate else "submit",
                "POST",
                "/generate" if by_generate else "/jobs",
                principal,
                query=query,
                headers=headers,
                body=body_for(prompt),
                prompt=prompt,
                key=key,
            )
            if reply.status in (200, 202):
                return str(reply.body["id"]) if "id" in reply.body else None
            if reply.status < 500 and reply.status != 429:
                return None
            pause = float(reply.headers.get("retry-after", 1))
            if pause > LONGEST_PAUSE_IN_SECONDS:
                return None
            self.scheduler.sleep(pause + self.random.uniform(0, min(2**turn, 60)))
        return None

    def _follow(self, principal: str, job: str) -> None:
        """Poll until the job ends, then a few times more."""
        waiting = self.random.random() < self.habits.waiting
        if not waiting and self.random.random() < self.habits.absent:
            self.scheduler.sleep(self.random.expovariate(1 / 600))
        for _ in range(500):
            query = {"wait": str(self.random.randrange(1, 26))} if waiting else None
            reply = self._ask("poll", "GET", "/jobs/{id}", principal, job=job, query=query)
            if reply.status == 404 or reply.body.get("status") in FINAL:
                break
            pause = float(reply.headers.get("retry-after", 2))
            self.scheduler.sleep(max(pause, 0.1) * self.random.uniform(1, 5))
        for _ in range(self.random.randrange(3)):
            self.scheduler.sleep(self.random.expovariate(1 / 400))
            self._ask("poll", "GET", "/jobs/{id}", principal, job=job)

    def look_again(self, share: float) -> None:
        """Let the owners of a share of the jobs read them once more."""
        for job, principal in self.ids:
            if self.random.random() < share:
                poll = partial(self._ask, "poll", "GET", "/jobs/{id}", principal, job=job)
                self._begin(poll, self.random.uniform(0, 60))

    def _cancel(self, principal: str, job: str) -> None:
        for _ in range(3):
            reply = self._ask("cancel", "DELETE", "/jobs/{id}", principal, job=job)
            if reply.status < 500:
                return
            self.scheduler.sleep(self.random.uniform(1, 5))

    def _intrude(self, principal: str, job: str) -> None:
        """Let another caller try the id, a guessed id and malformed ids."""
        other = f"{principal}X"
        guessed = f"{self.random.getrandbits(128):032x}"
        for wanted in (job, guessed, job.upper(), "../" + job, job[:-1], ""):
            self._ask("intrude", self.random.choice(("GET", "DELETE")), "/jobs/{id}", other, job=wanted)

    def _list(self, principal: str) -> None:
        position: str | None = None
        for _ in range(10):
            query = {"limit": str(self.random.choice((1, 5, 25, 100)))} | ({"next": position} if position else {})
            reply = self._ask("list", "GET", "/jobs", principal, query=query)
            position = reply.body.get("next") if reply.status == 200 else None
            if not position:
                return

    def _ask(
        self,
        action: str,
        method: str,
        resource: str,
        principal: str,
        *,
        prompt: str | None = None,
        key: str | None = None,
        **call: Any,
    ) -> Reply:
        started_at = self.scheduler.now
        reply = self.gateway.call(method, resource, principal, **call)
        exchange = Exchange(started_at, self.scheduler.now, principal, action, call.get("job"), prompt, key, reply)
        self.history.exchanges.append(exchange)
        return reply
