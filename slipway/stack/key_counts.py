"""Reads the usage of a deployed API's callers, as the functions count it (`inference_api.keys.usage_row`)."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from inference_api.keys.named_key import caller_of_key, hash_of_caller
from inference_api.keys.usage_row import Row, group_in, month_prefix, number, owner_in
from slipway.stack.deployed_stack import DeployedStack


class Counts(NamedTuple):
    """Counts of one month. charged: tokens that count against limits. last_used: seconds since the epoch; 0 = never."""

    requests: int = 0
    errors: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    charged: int = 0
    last_used: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def open(self) -> int:
        """The tokens that are charged for calls and jobs whose use is not counted yet."""
        return self.charged - self.tokens

    def plus(self, other: "Counts") -> "Counts":
        sums = Counts(*(one + more for one, more in zip(self, other, strict=True)))
        return sums._replace(last_used=max(self.last_used, other.last_used))


def owner_of_key(name: str) -> str:
    """Return the hash by which the functions identify the callers with a named key."""
    return hash_of_caller(caller_of_key(name))


def counts_of(stack: DeployedStack, month: datetime) -> dict[str, Counts]:
    """Read the counts of a month (UTC), by owner."""
    return {owner_in(row): _counts(row) for row in _rows(stack, month)}


def all_counts(stack: DeployedStack, month: datetime) -> Counts:
    """Add up the counts of all callers of a month (UTC)."""
    total = Counts()
    for row in _rows(stack, month):
        total = total.plus(_counts(row))
    return total


def callers_of(stack: DeployedStack, month: datetime) -> list[tuple[str, str, Counts]]:
    """Read the hash, the group and the counts of each caller with a token in a month (UTC), the busiest first."""
    found = [(owner_in(row), group_in(row), _counts(row)) for row in _rows(stack, month)]
    return sorted(found, key=lambda each: (-each[2].tokens, each[0]))


def _rows(stack: DeployedStack, month: datetime) -> Iterator[Row]:
    pages = (
        stack.clients("dynamodb")
        .get_paginator("scan")
        .paginate(
            TableName=stack.outputs["UsageTable"],
            FilterExpression="begins_with(pk, :month)",
            ExpressionAttributeValues={":month": {"S": month_prefix(month)}},
        )
    )
    return (row for page in pages for row in page["Items"])


def _counts(row: Row) -> Counts:
    return Counts._make(number(row, name) for name in Counts._fields)
