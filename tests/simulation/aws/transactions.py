"""DynamoDB's transactions: they lock items until the commit; one token commits once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from simulation.aws.errors import Refusal, invalid
from simulation.runtime.scheduler import Scheduler

TOKEN_SECONDS = 600
MAX_WRITES = 100


@dataclass
class _Request:
    """A request that came with a token."""

    text: str
    at: float
    in_progress: bool = True


@dataclass
class Transactions:
    """The transactions. held: the items of transactions in progress; other writes of them are refused."""

    scheduler: Scheduler
    random: Random
    held: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._by_token: dict[str, _Request] = {}

    def run(self, token: str, text: str, keys: list[str], commit: Callable[[], list[dict[str, Any] | None]]) -> None:
        """Run a transaction. commit: writes, or returns the reasons of refused writes. Raises Refusal."""
        if self._is_done(token, text):
            return
        if len(set(keys)) != len(keys) or len(keys) > MAX_WRITES:
            raise invalid("Transaction request cannot include multiple operations on one item, or more than 100")
        cancel_unless([{"Code": "TransactionConflict"} if pk in self.held else None for pk in keys])
        self.held.update(keys)
        self._by_token[token] = _Request(text, self.scheduler.now)
        committed = False
        try:
            self.scheduler.sleep(self.random.uniform(0.004, 0.02))
            cancel_unless(commit())
            committed = True
        finally:
            self.held.difference_update(keys)
            self._by_token[token].in_progress = False
            if not committed:
                del self._by_token[token]

    def _is_done(self, token: str, text: str) -> bool:
        known = self._by_token.get(token)
        if known is None or self.scheduler.now - known.at >= TOKEN_SECONDS:
            return False
        if known.text != text:
            raise Refusal("IdempotentParameterMismatchException", "The token was used for other parameters")
        if known.in_progress:
            raise Refusal("TransactionInProgressException", "The transaction with the given token is in progress")
        return True


def cancel_unless(reasons: list[dict[str, Any] | None]) -> None:
    """Raises Refusal if any write has a reason to be refused."""
    if any(reasons):
        shown = [reason or {"Code": "None"} for reason in reasons]
        words = ", ".join(reason["Code"] for reason in shown)
        message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{words}]"
        raise Refusal("TransactionCanceledException", message, CancellationReasons=shown)
