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

from inference_api.keys.key_usage import MOST_ABANDONED, KeyUsage
from inference_api.keys.named_key import AuthorizedKey
from inference_api.keys.usage_row import LONGEST_CALL_IN_SECONDS, KeyCharge
from inference_api.shared.errors import ApiError
from inference_api.shared.runtime import Runtime
from simulation.aws.dynamodb import DynamoDb
from simulation.aws.errors import Refusal
from simulation.aws.table import Table
from simulation.aws.transactions import Transactions
from simulation.runtime.scheduler import Scheduler

NEW_YEARS_EVE = 1_798_761_540.0  # 2026-12-31T23:59:00Z


class LosingTable:
    """DynamoDB in memory.

    lose: the next write fails "before" it is made, or "after" it; its caller sees the same. "twice": its answer is
    lost, and botocore repeats it.
    """

    def __init__(self) -> None:
        scheduler = Scheduler(NEW_YEARS_EVE)
        table = Table("usage", [], scheduler, Random(1))
        self._database = DynamoDb(table, Transactions(scheduler, Random(1)))
        self.items: Any = table.items
        self.lose = ""
        self.written = 0

    def update_item(self, **request: Any) -> Any:
        lost, self.lose = self.lose, ""
        for _ in range({"before": 0, "twice": 2}.get(lost, 1)):
            try:
                answer = self._database.update_item(**request)
            except Refusal as refusal:
                raise refusal.for_caller("UpdateItem") from None
            self.written += 1
        if lost in ("before", "after"):
            raise ReadTimeoutError(endpoint_url="dynamodb")
        return answer

    def count(self, name: str) -> int:
        return sum(int(item[name]["N"]) for item in self.items.values() if name in item)


class Clock:
    now = NEW_YEARS_EVE


def counter(clock: Clock) -> tuple[KeyUsage, LosingTable]:
    table = LosingTable()
    return KeyUsage(table, "usage", Runtime(now=lambda: clock.now)), table


def refusal(usage: KeyUsage, key: AuthorizedKey, tokens: int = 1) -> ApiError:
    with pytest.raises(ApiError) as raised:
        usage.admit("owner", key, tokens, 0)
    return raised.value


def test_a_key_at_its_minute_is_refused_until_the_next_one() -> None:
    clock = Clock()
    usage, _ = counter(clock)
    key = AuthorizedKey("a", tokens_per_minute=100)
    usage.settle(usage.admit("owner", key, 10, 90)[0], 10, 90)
    error = refusal(usage, key)
    assert (error.status, error.code, error.retry_after_in_seconds) == (429, "tokens_per_minute_exceeded", 60)
    assert "2027-01-01T00:00:00Z" in error.message
    clock.now += 60
    assert usage.admit("owner", key, 10, 90)


def test_a_key_at_its_month_is_refused_until_the_next_one() -> None:
    clock = Clock()
    clock.now -= 86_400
    usage, _ = counter(clock)
    key = AuthorizedKey("a", tokens_per_month=100)
    usage.settle(usage.admit("owner", key, 10, 10)[0], 60, 40)
    clock.now += 3600
    error = refusal(usage, key)
    assert (error.code, error.retry_after_in_seconds) == ("tokens_per_month_exceeded", 86_460 - 3600)
    clock.now += 86_460 - 3600
    assert usage.admit("owner", key, 10, 90)


def test_what_a_call_did_not_take_is_given_back_within_its_minute() -> None:
    usage, _ = counter(Clock())
    key = AuthorizedKey("a", tokens_per_minute=100, tokens_per_month=100)
    charge = usage.admit("owner", key, 10, 4096)[0]
    refusal(usage, key)
    usage.settle(charge, 8, 20)
    assert usage.admit("owner", key, 10, 10)


def test_a_call_that_was_not_made_is_not_counted() -> None:
    usage, table = counter(Clock())
    key = AuthorizedKey("a", tokens_per_minute=100, tokens_per_month=100)
    usage.withdraw(usage.admit("owner", key, 10, 4096)[0])
    assert [table.count(name) for name in ("requests", "errors", "charged", "minute_charged")] == [0, 0, 0, 0]
    assert usage.admit("owner", key, 10, 10)


def test_what_a_long_answer_took_on_top_counts_in_the_minute_of_its_end() -> None:
    clock = Clock()
    clock.now += 3600
    usage, _ = counter(clock)
    key = AuthorizedKey("a", tokens_per_minute=100)
    long_one = usage.admit("owner", key, 10, 20)[0]
    clock.now += 60
    usage.settle(usage.admit("owner", key, 10, 0)[0], 10, 0)
    usage.settle(long_one, 10, 110)
    assert refusal(usage, key).code == "tokens_per_minute_exceeded"


def test_another_owner_has_limits_of_its_own() -> None:
    usage, _ = counter(Clock())
    key = AuthorizedKey("a", tokens_per_minute=1)
    usage.admit("owner", key, 10, 10)
    assert usage.admit("another", key, 10, 10)


def test_a_failing_table_refuses_calls_and_loses_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    usage, table = counter(Clock())
    table.lose = "before"
    with pytest.raises(ReadTimeoutError):  # a 503 of the route
        usage.admit("owner", AuthorizedKey("a", tokens_per_minute=5), 10, 10)
    charge, _ = usage.admit("owner", AuthorizedKey("a", tokens_per_minute=5), 10, 10)
    table.lose = "before"
    usage.settle(charge, 1, 1)
    assert "ReadTimeoutError at counting tokens" in json.loads(capsys.readouterr().out)["cause"]
    refusal(usage, AuthorizedKey("a", tokens_per_minute=5))  # the charge stays


@pytest.mark.parametrize("how", ["settle", "withdraw"])
def test_a_write_that_botocore_repeats_counts_once(how: str) -> None:
    usage, table = counter(Clock())
    usage.admit("owner", None, 0, 0)
    table.lose = "twice"
    charge = usage.admit("owner", None, 10, 90)[0]
    assert [table.count(name) for name in ("requests", "charged")] == [2, 100]
    table.lose = "twice"
    usage.settle(charge, 10, 5) if how == "settle" else usage.withdraw(charge)
    counted = [2, 15, 5] if how == "settle" else [1, 0, 0]
    assert [table.count(name) for name in ("requests", "charged", "tokens_out")] == counted


def test_an_admission_whose_answer_is_lost_leaves_no_charge() -> None:
    usage, table = counter(Clock())
    usage.admit("owner", None, 0, 0)
    table.lose = "after"
    with pytest.raises(ReadTimeoutError):
        usage.admit("owner", None, 10, 90)
    assert [table.count(name) for name in ("requests", "charged")] == [1, 0]


def test_a_call_whose_function_died_costs_its_prompt_and_no_longer_weighs_on_the_limit() -> None:
    clock = Clock()
    clock.now -= 86_400
    usage, table = counter(clock)
    key = AuthorizedKey("a", tokens_per_month=100)
    usage.admit("owner", key, 10, 4096)
    clock.now += LONGEST_CALL_IN_SECONDS - 60
    refusal(usage, key)
    clock.now += 60
    usage.admit("owner", key, 10, 10)
    assert {name: table.count(name) for name in ("requests", "errors", "tokens_in", "charged")} == {
        "requests": 2,
        "errors": 1,
        "tokens_in": 10,
        "charged": 10 + 20,
    }


def test_a_call_that_ends_after_it_was_taken_for_dead_is_not_counted_again() -> None:
    clock = Clock()
    clock.now -= 86_400
    usage, table = counter(clock)
    late = usage.admit("owner", None, 10, 4096)[0]
    clock.now += LONGEST_CALL_IN_SECONDS
    usage.withdraw(usage.admit("owner", None, 10, 10)[0])
    usage.settle(late, 10, 50)
    assert [table.count(name) for name in ("tokens_in", "tokens_out", "charged")] == [10, 0, 10]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), st.sampled_from([10, 20, 40])),
        st.tuples(st.just("settle"), st.sampled_from([0, 20, 70])),
        st.tuples(st.just("fail"), st.sampled_from([0, 50])),
        st.tuples(st.just("wait"), st.sampled_from([20, 60, LONGEST_CALL_IN_SECONDS])),
        st.tuples(st.just("lose"), st.sampled_from(["before", "after", "twice"])),
    ),
    min_size=20,
    max_size=40,
)


@settings(deadline=None, max_examples=100)
@given(STEPS, st.sampled_from([None, 50, 200]), st.sampled_from([None, 120]))
def test_no_order_of_calls_and_losses_opens_the_gate_or_counts_twice(
    steps: list[tuple[str, Any]], per_minute: int | None, per_month: int | None
) -> None:
    """The model has the open charges. A charge ends once: by its call, or as abandoned at an admission."""
    clock = Clock()
    usage, table = counter(clock)
    key = AuthorizedKey("a", tokens_per_minute=per_minute, tokens_per_month=per_month)
    under_way: list[KeyCharge] = []
    still_open: list[KeyCharge] = []
    months, minutes = Counter[str](), Counter[int]()
    latest: dict[str, int] = {}  # minute of a month's last admission
    totals = Counter[str]()

    for step, value in steps:
        month, minute, written = month_of(clock.now), int(clock.now // 60), table.written
        if step == "wait":
            clock.now += value
        elif step == "lose":
            table.lose = value
        elif step == "admit" and len(still_open) < MOST_ABANDONED:
            is_full = months[month] >= (per_month or math.inf) or minutes[minute] >= (per_minute or math.inf)
            try:
                charge = usage.admit("owner", key, value, 0)[0]
            except ReadTimeoutError:
                if table.written > written:  # and then withdrawn
                    latest[month] = minute
                continue
            except ApiError:
                assert is_full
            else:
                assert not is_full
                under_way.append(charge)
                months[month] += value
                minutes[minute] += value
                latest[month] = minute
                totals["requests"] += 1
            for each in [each for each in still_open if month_of(each.moment) == month]:
                if int(each.moment) + LONGEST_CALL_IN_SECONDS <= clock.now:
                    still_open.remove(each)
                    totals += Counter(tokens_in=each.tokens_in, errors=1)
            still_open += under_way[len(under_way) - (not is_full) :]
        elif step in ("settle", "fail") and under_way:
            charge = under_way.pop(0)
            usage.settle(charge, value, 0, failed=step == "fail")
            if table.written > written and charge in still_open:
                still_open.remove(charge)
                month, more = month_of(charge.moment), value - charge.tokens
                months[month] += more
                if more > 0 or latest[month] == charge.moment // 60:
                    minutes[latest[month]] += more
                totals += Counter(tokens_in=value, errors=int(step == "fail"))
        assert table.count("charged") == months.total()
        assert table.count("charged") == table.count("tokens_in") + sum(charge.tokens for charge in still_open)
    assert {name: table.count(name) for name in ("requests", "tokens_in", "errors")} == {
        name: totals[name] for name in ("requests", "tokens_in", "errors")
    }


def month_of(moment: float) -> str:
    return "2027-01" if moment >= NEW_YEARS_EVE + 60 else "2026-12"
