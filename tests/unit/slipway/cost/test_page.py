"""What the page of `slipway cost` says beside its figures."""

from typing import Any

from slipway.cost.page import lines_of

FOUND: dict[str, Any] = {
    "name": "chat",
    "region": "eu-central-1",
    "local_cloud": None,
    "shares_endpoint": False,
    "month": "2026-11",
    "created": "2026-11-02 08:00",
    "until": "2026-11-28 23:00",
    "usd": 12.0,
    "instances": [],
    "beside": [],
    "left_out": ["taxes"],
    "requests": None,
    "budget": None,
    "bill": None,
    "callers": [],
    "uncounted": "",
    "models": [],
    "ways_to_idle": [],
}
LOGS = {"name": "logs written", "amount": 2.0, "unit": "GB", "price": None, "as_of": "", "usd": None}


def page(**changes: Any) -> str:
    return "\n".join(lines_of(FOUND | changes))


def test_a_sum_without_some_prices_says_so() -> None:
    said = "Lines without a price count as 0: write those of eu-central-1 into catalog/prices.json."
    assert said in page(beside=[LOGS])
    assert said not in page(beside=[LOGS | {"price": 0.5, "usd": 1.0}])


def test_a_service_on_a_shared_endpoint_says_who_has_the_instances() -> None:
    said = "The instances are those of the shared endpoint"
    assert (said in page(shares_endpoint=True), said in page()) == (True, False)


def test_a_month_before_the_stack_says_so() -> None:
    said = "The stack was made after this month, on 2026-12-05 10:00."
    assert (said in page(created="2026-12-05 10:00"), said in page()) == (True, False)


def test_models_without_calls_have_no_share() -> None:
    models = [{"model": name, "calls": 0, "usd": None} for name in ("base", "adapter")]
    assert "not known" not in page(models=models)


def test_a_budget_that_may_not_be_read_is_not_known() -> None:
    refused = {"limit": None, "spent": None, "forecast": None, "refused": "not authorized"}
    assert "budget  not known: not authorized" in page(budget=refused)
