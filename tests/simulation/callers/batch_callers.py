"""Callers of the Files and Batch API: they upload, begin, poll, sometimes cancel, and read the result of each line."""

import json
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from simulation.aws.s3 import Bucket
from simulation.runtime.gateway import Gateway, Reply
from simulation.runtime.model import CANARY, REFUSED
from simulation.runtime.scheduler import Scheduler

ENDED = ("failed", "completed", "expired", "cancelled")
_TURNS = 40


@dataclass
class FollowedBatch:
    """One batch of a caller. prompts: by custom_id, in the order of the input. last: the last view of the batch."""

    principal: str
    prompts: dict[str, str]
    views: list[dict[str, Any]] = field(default_factory=list)
    output: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    asked_to_cancel: bool = False

    @property
    def last(self) -> dict[str, Any]:
        return self.views[-1] if self.views else {}


@dataclass
class BatchCallers:
    """The callers. Each batch has an owner of its own or shares one. The invariants read what callers saw."""

    scheduler: Scheduler
    random: Random
    gateway: Gateway
    bucket: Bucket
    followed: list[FollowedBatch] = field(default_factory=list)
    unfinished: int = 0

    def begin(self, batches: int, within_seconds: float, most_lines: int) -> None:
        for number in range(batches):
            lines = self.random.randrange(1, most_lines + 1)
            prompts = {f"line {line}": self._prompt(number, line) for line in range(lines)}
            batch = FollowedBatch(f"AROABATCH{number % 3}", prompts)
            self.followed.append(batch)
            self.unfinished += 1
            self.scheduler.spawn(partial(self._journey, batch), self.random.uniform(0, within_seconds))

    def _prompt(self, batch: int, line: int) -> str:
        refused = f", {REFUSED}" if self.random.random() < 0.03 else ""
        return "" if self.random.random() < 0.02 else f"batch {batch} line {line}{refused}"

    def _journey(self, batch: FollowedBatch) -> None:
        file = self._ask(batch, "POST", "/files", body=_form(batch), headers={"Content-Type": _FORM})
        if file is None:
            self.unfinished -= 1
            return
        wanted = {"input_file_id": file["id"], "endpoint": "/v1/completions", "completion_window": "24h"}
        key = {"Idempotency-Key": file["id"]}  # the request is repeated if its answer is lost
        begun = self._ask(batch, "POST", "/batches", body=json.dumps(wanted).encode(), headers=key)
        if begun is None:
            self.unfinished -= 1
            return
        batch.views.append(begun)
        if self.random.random() < 0.2:
            self._ask(batch, "DELETE", "/files/{id}", job=file["id"])  # the batch goes on without it
        cancels = self.random.random() < 0.3
        at_once = self.random.random() < 0.3  # while it is validated
        cancel_at = self.scheduler.now + (0 if at_once else self.random.expovariate(1 / 300))
        while batch.last["status"] not in ENDED:
            if cancels and self.scheduler.now >= cancel_at and not batch.asked_to_cancel:
                batch.asked_to_cancel = True
                self._ask(batch, "POST", "/batches/{id}/cancel", job=begun["id"])
            self.scheduler.sleep(self.random.uniform(20, 60))
            batch.views.append(self._ask(batch, "GET", "/batches/{id}", job=begun["id"]) or batch.last)
        for kind, found in (("output_file_id", batch.output), ("error_file_id", batch.errors)):
            if batch.last[kind]:
                found += self._content(batch, batch.last[kind])
        self.unfinished -= 1

    def _content(self, batch: FollowedBatch, file: str) -> list[dict[str, Any]]:
        text = self._ask(batch, "GET", "/files/{id}/content", job=file)
        return [json.loads(line) for line in str(text).splitlines()]

    def _ask(self, batch: FollowedBatch, method: str, resource: str, **call: Any) -> Any:
        for turn in range(_TURNS):
            reply: Reply = self.gateway.call(method, resource, batch.principal, **call)
            if reply.status == 302:
                key = reply.headers["location"].partition(".amazonaws.com/")[2].partition("?")[0]
                return self.bucket.objects[key][-1].body.decode()
            if reply.status < 500 and reply.status != 429:
                return reply.body if reply.status == 200 else None
            self.scheduler.sleep(self.random.uniform(0, min(2**turn, 60)))
        return None


_FORM = "multipart/form-data; boundary=line-between"


def _form(batch: FollowedBatch) -> bytes:
    lines = [
        json.dumps(
            {
                "custom_id": custom_id,
                "method": "POST",
                "url": "/v1/completions",
                "body": {"model": "simulated", "prompt": f"{CANARY} {prompt}" if prompt else "", "max_tokens": 20},
            }
        )
        for custom_id, prompt in batch.prompts.items()
    ]
    parts = [
        'Content-Disposition: form-data; name="purpose"\r\n\r\nbatch',
        'Content-Disposition: form-data; name="file"; filename="in.jsonl"\r\n\r\n' + "\n".join(lines),
    ]
    return "".join(f"--line-between\r\n{part}\r\n" for part in parts).encode() + b"--line-between--\r\n"
