"""Reads the usage of a deployed API's callers, as the functions count it (`inference_api.keys.usage_row`)."""

from datetime import datetime
from typing import NamedTuple

from inference_api.keys.named_key import caller_of_key, hash_of_caller
from inference_api.keys.usage_row import Row, month_prefix, number, owner_in
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
    pages = (
        stack.clients("dynamodb")
        .get_paginator("scan")
        .paginate(
            TableName=stack.outputs["UsageTable"],
            FilterExpression="begins_with(pk, :month)",
            ExpressionAttributeValues={":month": {"S": month_prefix(month)}},
        )
    )
    rows = (row for page in pages for row in page["Items"])
    return {owner_in(row): _counts(row) for row in rows}


def _counts(row: Row) -> Counts:
    return Counts._make(number(row, name) for name in Counts._fields)
