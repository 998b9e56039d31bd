"""The counter of tokens, against a model of it: limits, renewals, calls side by side, writes that are lost."""

import json
import math
from collections import Counter
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_api.errors import ApiError
from inference_api.key_usage import Charge, KeyUsage
from inference_api.named_key import NamedKey
from inference_api.runtime import Runtime
from simulation.aws.dynamodb import DynamoDb
from simulation.aws.errors import Refusal
from simulation.aws.table import Table
from simulation.aws.transactions import Transactions
from simulation.scheduler import Scheduler

NEW_YEARS_EVE = 1_798_761_540.0  # 2026-12-31T23:59:00Z


class LosingTable:
    """DynamoDB in memory. lose: the next write fails "before" it is made, or "after" it, for its caller alike."""

    def __init__(self) -> None:
        scheduler = Scheduler(NEW_YEARS_EVE)
        table = Table("usage", [], scheduler, Random(1))
        self._database = DynamoDb(table, Transactions(scheduler, Random(1)))
        self.items: Any = table.items
        self.lose = ""
        self.written = 0

    def update_item(self, **request: Any) -> Any:
        lost, self.lose = self.lose, ""
        if lost != "before":
            try:
                self._database.update_item(**request)
            except Refusal as refusal:
                raise refusal.for_caller("UpdateItem") from None
            self.written += 1
        if lost:
            raise ReadTimeoutError(endpoint_url="dynamodb")

    def count(self, name: str) -> int:
        return sum(int(item[name]["N"]) for item in self.items.values() if name in item)


class Clock:
    now = NEW_YEARS_EVE


def counter(clock: Clock) -> tuple[KeyUsage, LosingTable]:
    table = LosingTable()
    return KeyUsage(table, "usage", Runtime(now=lambda: clock.now)), table


def refusal(usage: KeyUsage, key: NamedKey, tokens: int = 1) -> ApiError:
    with pytest.raises(ApiError) as raised:
        usage.admit("owner", key, tokens, 0)
    return raised.value


def test_a_key_at_its_minute_is_refused_until_the_next_one() -> None:
    clock = Clock()
    usage, _ = counter(clock)
    key = NamedKey("a", tokens_per_minute=100)
    usage.settle(usage.admit("owner", key, 10, 90), 10, 90)
    error = refusal(usage, key)
    assert (error.status, error.code, error.retry_after_in_seconds) == (429, "tokens_per_minute_exceeded", 60)
    assert "2027-01-01T00:00:00Z" in error.message
    clock.now += 60
    assert usage.admit("owner", key, 10, 90)


def test_a_key_at_its_month_is_refused_until_the_next_one() -> None:
    clock = Clock()
    clock.now -= 86_400
    usage, _ = counter(clock)
    key = NamedKey("a", tokens_per_month=100)
    usage.settle(usage.admit("owner", key, 10, 10), 60, 40)
    clock.now += 3600
    error = refusal(usage, key)
    assert (error.code, error.retry_after_in_seconds) == ("tokens_per_month_exceeded", 86_460 - 3600)
    clock.now += 86_460 - 3600
    assert usage.admit("owner", key, 10, 90)


def test_what_a_call_did_not_take_is_given_back_within_its_minute() -> None:
    usage, _ = counter(Clock())
    key = NamedKey("a", tokens_per_minute=100, tokens_per_month=100)
    charge = usage.admit("owner", key, 10, 4096)
    refusal(usage, key)
    usage.settle(charge, 8, 20)
    assert usage.admit("owner", key, 10, 10)


def test_a_call_that_was_not_made_is_not_counted() -> None:
    usage, table = counter(Clock())
    key = NamedKey("a", tokens_per_minute=100, tokens_per_month=100)
    usage.withdraw(usage.admit("owner", key, 10, 4096))
    assert [table.count(name) for name in ("requests", "errors", "charged", "minute_charged")] == [0, 0, 0, 0]
    assert usage.admit("owner", key, 10, 10)


def test_what_a_long_answer_took_on_top_counts_in_the_minute_of_its_end() -> None:
    clock = Clock()
    clock.now += 3600
    usage, _ = counter(clock)
    key = NamedKey("a", tokens_per_minute=100)
    long_one = usage.admit("owner", key, 10, 20)
    clock.now += 60
    usage.settle(usage.admit("owner", key, 10, 0), 10, 0)
    usage.settle(long_one, 10, 110)
    assert refusal(usage, key).code == "tokens_per_minute_exceeded"


def test_another_owner_has_limits_of_its_own() -> None:
    usage, _ = counter(Clock())
    key = NamedKey("a", tokens_per_minute=1)
    usage.admit("owner", key, 10, 10)
    assert usage.admit("another", key, 10, 10)


def test_a_failing_table_refuses_calls_and_loses_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    usage, table = counter(Clock())
    table.lose = "before"
    with pytest.raises(ReadTimeoutError):  # a 503 of the route
        usage.admit("owner", NamedKey("a", tokens_per_minute=5), 10, 10)
    charge = usage.admit("owner", NamedKey("a", tokens_per_minute=5), 10, 10)
    table.lose = "before"
    usage.settle(charge, 1, 1)
    assert "ReadTimeoutError at counting tokens" in json.loads(capsys.readouterr().out)["cause"]
    refusal(usage, NamedKey("a", tokens_per_minute=5))  # the charge stays


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), st.sampled_from([10, 20, 40])),
        st.tuples(st.just("settle"), st.sampled_from([0, 20, 70])),
        st.tuples(st.just("fail"), st.sampled_from([0, 50])),
        st.tuples(st.just("wait"), st.sampled_from([20, 60])),
        st.tuples(st.just("lose"), st.sampled_from(["before", "after"])),
    ),
    min_size=20,
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(STEPS, st.sampled_from([None, 50, 200]), st.sampled_from([None, 120]))
def test_no_order_of_calls_opens_the_gate(
    steps: list[tuple[str, Any]], per_minute: int | None, per_month: int | None
) -> None:
    """The model has each call's charge, in whose place comes what it took unless that write is lost."""
    clock = Clock()
    usage, table = counter(clock)
    key = NamedKey("a", tokens_per_minute=per_minute, tokens_per_month=per_month)
    under_way: list[Charge] = []
    months, minutes = Counter[str](), Counter[int]()
    latest: dict[str, int] = {}  # minute of a month's last admission
    totals = Counter[str]()

    for step, value in steps:
        month, minute, written = month_of(clock.now), int(clock.now // 60), table.written
        if step == "wait":
            clock.now += value
        elif step == "lose":
            table.lose = value
        elif step == "admit":
            is_full = months[month] >= (per_month or math.inf) or minutes[minute] >= (per_minute or math.inf)
            try:
                under_way.append(usage.admit("owner", key, value, 0))
                assert not is_full
            except ApiError:
                assert is_full
            except ReadTimeoutError:
                pass
            if table.written > written:
                months[month] += value
                minutes[minute] += value
                latest[month] = minute
                totals["requests"] += 1
        elif under_way:
            charge = under_way.pop(0)
            usage.settle(charge, value, 0, failed=step == "fail")
            if table.written > written:
                month, more = month_of(charge.moment), value - charge.tokens
                months[month] += more
                if more > 0 or latest[month] == charge.moment // 60:
                    minutes[latest[month]] += more
                totals += Counter(tokens_in=value, errors=int(step == "fail"))
    assert {name: table.count(name) for name in ("requests", "tokens_in", "errors")} == {
        name: totals[name] for name in ("requests", "tokens_in", "errors")
    }
    assert table.count("charged") == months.total()


def month_of(moment: float) -> str:
    return "2027-01" if moment >= NEW_YEARS_EVE + 60 else "2026-12"
