"""The history of a trial: every committed write, every request and its response."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from simulation.aws.expressions import Item
from simulation.aws.table import Write
from simulation.runtime.gateway import Reply

OPEN_STATES = ("ACCEPTED", "SUBMITTED")


class Exchange(NamedTuple):
    """One request and its response. job: the id in the path. prompt, key: those of a submission."""

    started_at: float
    ended_at: float
    principal: str
    action: str
    job: str | None
    prompt: str | None
    key: str | None
    reply: Reply

    @property
    def shown(self) -> dict[str, Any]:
        """Return the job in the response; empty if there is none."""
        body = self.reply.body
        return body if self.reply.status in (200, 202) and isinstance(body, dict) and "id" in body else {}


class Row(NamedTuple):
    """A version of a job's row, written at `at`. item: None after the row's deletion."""

    at: float
    item: Item | None
    size: int

    def text(self, name: str) -> str:
        return str(self.item[name]["S"]) if self.item and name in self.item else ""

    def number(self, name: str) -> float:
        return float(self.item[name]["N"]) if self.item and name in self.item else 0.0

    @property
    def state(self) -> str:
        return self.text("state")

    def has(self, name: str) -> bool:
        return self.item is not None and name in self.item

    def value(self, name: str) -> Any:
        return (self.item or {}).get(name)

    def flag(self, name: str) -> bool:
        return bool((self.value(name) or {}).get("BOOL", False))

    @property
    def attempts(self) -> int:
        return int(self.number("attempts"))

    @property
    def ended(self) -> set[int]:
        """Return the attempts that can bring no output any more."""
        return set(map(int, (self.value("ended") or {"NS": []})["NS"]))

    @property
    def output_attempt(self) -> int:
        """Return the attempt of the pinned output; 0 for none."""
        return int(self.value("output")["M"]["attempt"]["N"]) if self.has("output") else 0

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def holds_slot(self) -> bool:
        """Whether the job holds a slot. The default, True, is not stored."""
        return self.item is not None and bool(self.item.get("holds_slot", {"BOOL": True})["BOOL"])


def account_of(row: Row) -> str:
    """Return the key of the owner's row in the table of usage."""
    return f"{datetime.fromtimestamp(row.number('accepted_at'), UTC):%Y-%m}#{row.text('owner')}"


@dataclass
class History:
    """The history of a trial, which the invariants read afterwards. texts: copies of outputs, and errors, by key."""

    exchanges: list[Exchange] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    texts: dict[str, list[tuple[float, Item | None]]] = field(default_factory=dict)
    writes_of_others: list[Write] = field(default_factory=list)
    accounts: dict[str, Counter[str]] = field(default_factory=dict)
    accounts_of_calls: set[str] = field(default_factory=set)
    account_mismatches: list[str] = field(default_factory=list)
    charges_of_jobs: Counter[str] = field(default_factory=Counter)
    slots: dict[str, int] = field(default_factory=dict)
    slot_mismatches: list[str] = field(default_factory=list)
    holders: dict[str, int] = field(default_factory=dict)
    latest_deadline: float = 0.0
    _ends: dict[str, Row] = field(default_factory=dict)

    def observe(self, writes: list[Write]) -> None:
        """Add one committed request: a single write, or all writes of a transaction."""
        touched: set[str] = set()
        for write in writes:
            kind, _, name = write.pk.partition("#")
            if kind == "job":
                touched |= self._observe_job(name, write)
            elif kind in ("output", "error"):
                self.texts.setdefault(write.pk, []).append((write.at, write.new))
            else:
                self.writes_of_others.append(write)
                if kind == "owner" and "#" not in name:
                    self.slots[name] = int((write.new or {}).get("open", {"N": "0"})["N"])
                    touched.add(name)
        for owner in touched:
            if self.slots.get(owner, 0) != self.holders.get(owner, 0):
                taken, held = self.slots.get(owner, 0), self.holders.get(owner, 0)
                self.slot_mismatches.append(f"owner {owner} counts {taken} slots, {held} jobs hold one")

    def observe_accounts(self, writes: list[Write]) -> None:
        """Add writes of the table of usage. Those of the jobs in the same transaction are known."""
        for account, item in ((write.pk, write.new) for write in writes if write.new):
            counted = Counter({name: int(value["N"]) for name, value in item.items() if "N" in value})
            texts = [value["S"] for name, value in item.items() if name.startswith("open:")]
            calls = sum(int(tokens) for text in texts for tokens in text.split()[1:])
            jobs = self.charges_of_jobs[account]
            self.accounts[account] = counted
            if texts:
                self.accounts_of_calls.add(account)
            if counted["charged"] != counted["tokens_in"] + counted["tokens_out"] + calls + jobs:
                self.account_mismatches.append(f"{account}: {counted}; {calls} open for calls, {jobs} for jobs")

    def _observe_job(self, job: str, write: Write) -> set[str]:
        before, after = Row(write.at, write.old, 0), Row(write.at, write.new, write.size)
        self.rows.setdefault(job, []).append(after)
        self.latest_deadline = max(self.latest_deadline, after.number("deadline"))
        if write.new and job not in self._ends and not after.is_open:
            self._ends[job] = after
        for row, sign in ((before, -1), (after, 1)):
            if row.is_open:
                self.charges_of_jobs[account_of(row)] += sign * int(row.number("tokens_in") + row.number("tokens_out"))
        owner = after.text("owner") or before.text("owner")
        self.holders[owner] = self.holders.get(owner, 0) + after.holds_slot - before.holds_slot
        return {owner}

    def final_row(self, job: str) -> Row:
        """Return the job's last row before its deletion."""
        return next(row for row in reversed(self.rows[job]) if row.item)

    def end_of(self, job: str) -> Row | None:
        """Return the write that ended the job."""
        return self._ends.get(job)
