"""The page of `slipway cost`, made of the object that `--json` prints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slipway.cost.callers import table
from slipway.shared.table import table_lines

_RIGHT = ("AMOUNT", "USD", "HOURS", "STARTS", "CALLS", "A UNIT")


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines."""
    where = f"{found['region']}, {found['month']} (UTC) until {found['until']}"
    yield f"{found['name']}: an estimate by CloudWatch's metrics, no bill; {where}"
    if found["local_cloud"]:
        yield "Nothing is spent on the local cloud: these are AWS's prices."
    if found["created"] > found["until"]:
        yield f"The stack was made after this month, on {found['created']}."
    yield from ("", *_sum(found))
    if bill := found["bill"]:
        yield f"bill    {_dollars(bill['usd'])}{_difference(bill['usd'], found['usd'])}: {bill['note']}"
    if budget := found["budget"]:
        told = f": {budget['refused']}" if budget["refused"] else _against(budget, found["usd"])
        yield f"budget  {_dollars(budget['limit'])}{told}"
    yield from _use(found)
    yield from _ways(found)
    yield ""
    yield f"Left out: {'; '.join(found['left_out'])}."


def _sum(found: Mapping[str, Any]) -> Iterator[str]:
    instances = [
        (each["type"], f"{each['hours']:,.1f} h", _price(each["usd_per_hour"]), each["prices_as_of"] or "", each["usd"])
        for each in found["instances"]
    ]
    beside = [
        (each["name"], f"{_count(each['amount'])} {each['unit']}", _price(each["price"]), each["as_of"], each["usd"])
        for each in found["beside"]
    ]
    rows = [*instances, *beside, ("together", "", "", "", found["usd"])]
    shown = [(*cells, _amount(usd)) for *cells, usd in rows]
    yield from table_lines(("WHAT", "AMOUNT", "A UNIT", "PRICE OF", "USD"), shown, right=_RIGHT)
    if found["usd"] is None:
        yield f"The price in {found['region']} is not known: `slipway catalog prices` writes AWS's into the project."
    elif any(each["usd"] is None for each in found["beside"]):
        yield f"Lines without a price count as 0: write those of {found['region']} into catalog/prices.json."
    if found["shares_endpoint"]:
        yield "The instances are those of the shared endpoint: `slipway cost endpoints/<name>` has their cost."


def _use(found: Mapping[str, Any]) -> Iterator[str]:
    if found["requests"] is not None:
        yield f"asked   {found['requests']:,} requests to the API, {_tokens(found)}"
    if found["callers"]:
        yield from ("", *table(found["callers"]))
    elif found["uncounted"]:
        yield f"callers {found['uncounted']}"
    if len(found["models"]) > 1:
        models = [
            (each["model"], f"{each['calls']:,}", "" if each["usd"] is None else _amount(each["usd"]))
            for each in found["models"]
        ]
        yield from ("", *table_lines(("MODEL", "CALLS", "USD"), models, right=_RIGHT))


def _tokens(found: Mapping[str, Any]) -> str:
    if found["tokens_in"] is None:
        return "tokens are not counted without operations.dashboard or keys"
    price = found["usd_per_million_tokens"]
    each = "" if price is None else f": {price:,.2f} USD a million"
    return f"{found['tokens_in']:,} tokens in and {found['tokens_out']:,} out{each}"


def _ways(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["ways_to_idle"]:
        return
    yield ""
    wake = found["wake_in_seconds"]
    starts = f"a wake takes {wake} s" if wake else "the time of a wake is not known"
    yield f"The same requests by each way to be idle; {found['instances_at_once']:g} at once while any runs, {starts}:"
    hours = sum(each["hours"] for each in found["instances"])
    usd = [each["usd"] for each in found["instances"]]
    own = ("as it was", f"{hours:,.1f}", "", _amount(None if None in usd else sum(usd)))
    yield from table_lines(("WAY", "HOURS", "STARTS", "USD"), [own, *map(_way, found["ways_to_idle"])], right=_RIGHT)


def _way(each: Mapping[str, Any]) -> Sequence[str]:
    if each["problem"]:
        return each["way"], "", "", each["problem"]
    return each["way"], f"{each['hours']:,.1f}", f"{each['wakes']:,}", _amount(each["usd"])


def _against(budget: Mapping[str, Any], usd: float | None) -> str:
    share = "" if usd is None else f", of which the estimate is {usd / budget['limit']:.0%}"
    spent = "nothing yet" if budget["spent"] is None else _dollars(budget["spent"])
    forecast = "" if budget["forecast"] is None else f" and expects {_dollars(budget['forecast'])}"
    return f"{share}; AWS Budgets sees {spent} this month{forecast}"


def _difference(bill: float | None, estimate: float | None) -> str:
    return "" if bill is None or estimate is None else f", {bill - estimate:+,.2f} beside the estimate"


def _count(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:,.3f}"


def _dollars(usd: float | None) -> str:
    return "not known" if usd is None else f"{usd:,.2f} USD"


def _amount(usd: float | None) -> str:
    return "not known" if usd is None else f"{usd:,.2f}"


def _price(usd: float | None) -> str:
    return "not known" if usd is None else f"{usd:g}"
