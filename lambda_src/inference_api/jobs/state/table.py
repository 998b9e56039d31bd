"""The result table. Each change of a job is one conditional write, or one transaction if counts change with it."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from inference_api.http.answer import Answer
from inference_api.jobs.state import items
from inference_api.jobs.state.job import Job, Output
from inference_api.keys.usage_row import RefusedUpdateError, Update
from inference_api.shared.attributes import number
from inference_api.shared.conditional_writes import MOST_TRIES, ConditionalWrites, Reason, TableBusyError, Write, pause
from inference_api.shared.runtime import Runtime

_DAY_IN_SECONDS = 86_400


class LimitReachedError(Exception):
    """The owner has reached a limit: "open_jobs" or "answer_tokens_per_day"."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class KeyTakenError(Exception):
    """The idempotency key already belongs to a job."""


class JobExistsError(Exception):
    """Another call has accepted a job with this id."""


class Accepted(NamedTuple):
    """The job of an idempotency key. fingerprint: the hash of its request's body."""

    job_id: str
    fingerprint: str


class Reservation(NamedTuple):
    """An idempotency key for a new job.

    keep_until: when the key is free again, later than the job's row goes. replaces: the id of an expired job with this
    key.
    """

    key: str
    fingerprint: str
    keep_until: int
    replaces: str | None


@dataclass(frozen=True)
class OwnerCharge:
    """The part of its owner's limits that a new job takes.

    open_jobs, tokens_per_day: the limits; None = no budget. tokens: the most that the job's answers may have. day: in
    UTC.
    """

    open_jobs: int
    tokens_per_day: int | None
    tokens: int
    day: str


class JobTable:
    """Reads and writes rows of jobs. Raises botocore's errors if DynamoDB fails for longer than the client retries."""

    def __init__(self, client: Any, name: str, runtime: Runtime) -> None:
        self._client, self._name, self._runtime = client, name, runtime
        self._writes = ConditionalWrites(client, name, runtime)

    def get(self, job_id: str, *, consistent: bool = True) -> Job | None:
        """Return a job; None if it does not exist, or has expired but is not deleted yet."""
        item = self._get(items.job_key(job_id), consistent=consistent)
        return self._alive(items.from_item(item)) if item else None

    def add(
        self, job: Job, charge: OwnerCharge, reservation: Reservation | None, account: Update | None = None
    ) -> None:
        """Add a job with its limits and its key, in one transaction. account: the owner's charge, in another table.

        Raises LimitReachedError, KeyTakenError, JobExistsError or RefusedUpdateError; then nothing was written.
        """
        writes = {
            "job": self._writes.put(items.to_item(job), "attribute_not_exists(pk)"),
            "open_jobs": self._writes.add(items.slots_key(job.owner), "open", 1, most=charge.open_jobs),
        }
        if charge.tokens_per_day is not None:
            writes["answer_tokens_per_day"] = self._charge_tokens(job, charge, charge.tokens_per_day)
        if reservation:
            writes["key"] = self._reserve(job, reservation)
        if account:
            writes["account"] = {"Update": account}
        # Each call has its own token: the same job may be tried with another account, or by another driver.
        refused = self._writes.together(list(writes.values()), token=self._runtime.new_id())
        reasons = {name: reason for name, reason in zip(writes, refused, strict=False) if reason}
        if "job" in reasons:
            found = reasons["job"].get("Item")
            if found and items.from_item(found).writer != job.writer:
                raise JobExistsError
            return  # this call's own earlier try was written after all
        if "key" in reasons:
            raise KeyTakenError
        if "account" in reasons:
            raise RefusedUpdateError(reasons["account"].get("Item") or {})
        if reasons:
            raise LimitReachedError(next(iter(reasons)))

    def find_key(self, owner: str, key: str) -> Accepted | None:
        """Return the job that was accepted under the caller's idempotency key."""
        item = self._get(items.idempotency_key(owner, key), consistent=True)
        if not item or int(item["expires_at"]["N"]) <= self._runtime.now():
            return None
        return Accepted(item["job_id"]["S"], item["fingerprint"]["S"])

    def change(
        self, job: Job, decide: Callable[[Job], Job | None], account: Callable[[Job], list[Update]] | None = None
    ) -> tuple[Job, bool]:
        """Write `decide(row)` in place of the row. Return the row and whether this call has changed it.

        account: returns updates of the owner's usage for a job that ends. One is written with the row, the first that
        is not refused. After a lost race, `decide` is called again with the winner's row. Raises TableBusyError.
        """
        current: Job | None = job
        for turn in range(MOST_TRIES):
            if current is None:
                return job, False  # it has expired in between
            wanted = decide(current)
            if wanted is None:
                return current, False
            wanted = replace(wanted, version=current.version + 1, writer=f"{self._runtime.random.getrandbits(32):08x}")
            try:
                ends = current.is_open and not wanted.is_open
                written, found = self._write(wanted, current, account(wanted) if account and ends else [])
            except TableBusyError:
                pause(self._runtime, turn)
                found = self.get(job.id)
            else:
                if written:
                    return wanted, True
            current = self._alive(found)
        raise TableBusyError

    def put_answer(self, job: Job, output: Output, answer: Answer, expires_at: int) -> None:
        """Store a copy of an answer. This comes before the row points to it."""
        item = _text_item(items.output_key(job.id, output.attempt), answer, expires_at)
        self._client.put_item(TableName=self._name, Item=item | {"etag": {"S": output.etag}})

    def put_error(self, job: Job, attempt: int, error: dict[str, str], expires_at: int) -> None:
        """Store the error of an attempt; only the first one is kept. error: `code`, `message`, perhaps `field`."""
        text = Answer(json.dumps(error).encode(), "application/json")
        item = _text_item(items.error_key(job.id, attempt), text, expires_at)
        self._writes.alone(self._writes.put(item, "attribute_not_exists(pk)"))

    def get_answer(self, job: Job, output: Output) -> Answer | None:
        """Return the copy of the output's answer; None if there is none of this version."""
        item = self._get(items.output_key(job.id, output.attempt), consistent=True)
        return _answer_of(item, output)

    def get_answers(self, jobs: Iterable[Job]) -> dict[str, Answer]:
        """Return the copies of the answers of at most 100 jobs, as far as there are any, by the job's id."""
        outputs = [(job.id, job.output) for job in jobs if job.output and job.output.in_table]
        keys = {job_id: items.output_key(job_id, output.attempt) for job_id, output in outputs}
        found = {item["pk"]["S"]: item for item in self._get_all(list(keys.values()))}
        answers = {job_id: _answer_of(found.get(keys[job_id]["pk"]["S"]), output) for job_id, output in outputs}
        return {job_id: answer for job_id, answer in answers.items() if answer}

    def get_error(self, job: Job, attempt: int) -> dict[str, str] | None:
        """Return why an attempt failed: `code`, `message`, perhaps `field`."""
        item = self._get(items.error_key(job.id, attempt), consistent=True)
        error: dict[str, str] | None = json.loads(item["body"]["B"]) if item and "body" in item else None
        return error

    def get_all(self, job_ids: list[str]) -> dict[str, Job]:
        """Return those of at most 100 jobs that exist and have not expired, by id."""
        found = map(items.from_item, self._get_all([items.job_key(job_id) for job_id in job_ids]))
        return {job.id: job for job in found if self._alive(job)}

    def jobs_of(self, owner: str, limit: int, after: str | None) -> tuple[list[Job], str | None]:
        """Return a page of an owner's jobs, newest first, and the `listed_at` after which the next page begins."""
        start = {}
        if after:
            key = items.job_key(after.partition("#")[2]) | {"owner": {"S": owner}, "listed_at": {"S": after}}
            start = {"ExclusiveStartKey": key}
        page = self._client.query(
            TableName=self._name,
            IndexName="by_owner",
            KeyConditionExpression="#owner = :owner",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":owner": {"S": owner}},
            ScanIndexForward=False,
            Limit=limit,
            **start,
        )
        # The index lags. It holds only keys, so that a change of a job's state does not write to it.
        jobs = map(items.from_item, self._get_all([{"pk": item["pk"]} for item in page["Items"]]))
        mine = [job for job in jobs if job.owner == owner and self._alive(job)]
        last = page.get("LastEvaluatedKey")
        return sorted(mine, key=lambda job: (job.accepted_at, job.id), reverse=True), last and last["listed_at"]["S"]

    def due(self, shard: int, within: float = 0) -> Iterator[tuple[float, str]]:
        """Yield time and id of the jobs in a shard that are due within `within` seconds, the longest overdue first."""
        start: dict[str, Any] = {}
        while True:
            page = self._client.query(
                TableName=self._name,
                IndexName="by_due",
                KeyConditionExpression="due_shard = :shard AND due_at <= :now",
                ExpressionAttributeValues={
                    ":shard": {"S": items.due_shard(shard)},
                    ":now": number(self._runtime.now() + within),
                },
                **start,
            )
            for item in page["Items"]:
                yield float(item["due_at"]["N"]), item["pk"]["S"].removeprefix("job#")
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _charge_tokens(self, job: Job, charge: OwnerCharge, most: int) -> Write:
        row, expires_at = items.tokens_key(job.owner, charge.day), int(job.accepted_at) + 2 * _DAY_IN_SECONDS
        return self._writes.add(row, "tokens", charge.tokens, most=most, expires_at=expires_at)

    def _reserve(self, job: Job, reservation: Reservation) -> Write:
        key, fingerprint, keep_until, replaces = reservation
        item = items.idempotency_key(job.owner, key) | {
            "job_id": {"S": job.id},
            "fingerprint": {"S": fingerprint},
            "expires_at": number(keep_until),
        }
        # DynamoDB deletes late. A key whose time is over is free, and so is one whose job is gone.
        free = "attribute_not_exists(pk) OR expires_at <= :now OR job_id = :gone"
        values = {":now": number(int(self._runtime.now())), ":gone": {"S": replaces or "none"}}
        return self._writes.put(item, free, values)

    def _write(self, wanted: Job, current: Job, accounts: list[Update]) -> tuple[bool, Job | None]:
        """Write `wanted` in place of `current`. Return whether it was written; if not, also the row that was found.

        Raises TableBusyError.
        """
        held = {":version": number(current.version)}
        writes = [self._writes.put(items.to_item(wanted), "version = :version", held)]
        if current.holds_slot and not wanted.holds_slot:
            writes.append(self._writes.add(items.slots_key(wanted.owner), "open", -1))
            if current.is_open and wanted.expires_at is not None:
                # Errors of attempts expire with the row. A key without an item gets an empty one, which expires, too.
                keys = [items.error_key(wanted.id, attempt) for attempt in sorted(wanted.ended)]
                writes += [self._writes.keep_until(key, wanted.expires_at) for key in keys]
        if accounts:
            reason = self._with_account(writes, accounts)
        elif len(writes) > 1:
            reason = next(iter(self._writes.together(writes, token=self._runtime.new_id())), None)
        else:
            reason = self._writes.alone(writes[0])
        if reason is None:
            return True, None
        found = items.from_item(reason["Item"]) if reason.get("Item") else None
        # A repeated request finds what its own first try wrote.
        return found is not None and found.writer == wanted.writer, found

    def _with_account(self, writes: list[Write], accounts: list[Update]) -> Reason | None:
        """Write with the first account that is not refused. Return why the job's row is refused, or None."""
        for account in accounts:
            reasons = self._writes.together([*writes, {"Update": account}], token=self._runtime.new_id())
            if not reasons or reasons[0]:
                return next(iter(reasons), None)
        raise TableBusyError

    def _get(self, key: dict[str, Any], *, consistent: bool) -> dict[str, Any] | None:
        item: dict[str, Any] | None
        item = self._client.get_item(TableName=self._name, Key=key, ConsistentRead=consistent).get("Item")
        return item

    def _get_all(self, keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        wanted = keys
        for turn in range(MOST_TRIES):
            if not wanted:
                return found
            if turn:
                pause(self._runtime, turn)
            page = self._client.batch_get_item(RequestItems={self._name: {"Keys": wanted, "ConsistentRead": True}})
            found += page["Responses"].get(self._name, [])
            wanted = page.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
        raise TableBusyError

    def _alive(self, job: Job | None) -> Job | None:
        return None if job and job.expires_at is not None and job.expires_at <= self._runtime.now() else job


def _answer_of(item: dict[str, Any] | None, output: Output) -> Answer | None:
    if not item or item["etag"]["S"] != output.etag:
        return None
    return Answer(item["body"]["B"], item["content_type"]["S"])


def _text_item(key: dict[str, Any], text: Answer, expires_at: int) -> dict[str, Any]:
    values = {"body": {"B": text.body}, "content_type": {"S": text.content_type}}
    return key | values | {"expires_at": number(expires_at)}
