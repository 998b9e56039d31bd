"""Reads AWS's price list, the JSON file of AmazonSageMaker or AmazonEC2, and compares the catalog's prices with it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from llm_hosting.catalog.instances import InstanceType, ec2_instances, instances
from llm_hosting.catalog.left_out import left_out_types
from llm_hosting.catalog.prices import HOME_REGION
from slipway.refreshing.difference import Change, Difference
from slipway.refreshing.source import other_form, read_json

_FORM = "v1.0"
_DATE = re.compile(r"20\d\d-\d\d-\d\d(?=T|$)")
_HOURS = {"Hrs", "Hours", "hours"}
_ROUNDING = 0.005  # relative: the catalog has rounded prices
# The attributes of the products to compare, and the attribute with the instance type.
_OFFERS: dict[str, tuple[dict[str, str], str]] = {
    "AmazonSageMaker": ({"component": "Hosting"}, "instanceName"),
    "AmazonEC2": (
        {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"},
        "instanceType",
    ),
}


@dataclass(frozen=True)
class PriceList:
    """The prices of one list in USD an hour, by instance type; types of EC2 have EC2's names.

    published: the date of the list.
    """

    is_endpoints: bool
    published: str
    prices: dict[str, float]


def price_list(source: str, region: str = HOME_REGION) -> PriceList:
    """Return the prices of a list, a file or an https URL, in one region. Raises SourceError."""
    content = read_json(source)
    offer = content.get("offerCode") if isinstance(content, dict) else None
    if offer not in list(_OFFERS) or content.get("formatVersion") != _FORM:
        raise other_form(source, f"it is not a price list {_FORM} of {' or '.join(_OFFERS)}")
    published = _DATE.match(str(content.get("publicationDate")))
    if not published:
        raise other_form(source, "it has no date of publication")
    try:
        prices = dict(_prices(content, offer, source, region))
    except (AttributeError, TypeError) as error:
        raise other_form(source, "a product or a term is not an object") from error
    if not prices:
        raise other_form(source, f"it has no prices of instances in {region}")
    return PriceList(offer == "AmazonSageMaker", published[0], prices)


def difference(source: str) -> Difference:
    """Return the differences to a price list. Raises SourceError.

    EC2's list is compared for the prices that the catalog has; SageMaker's list also brings new ones.
    """
    found = price_list(source)
    theirs, is_endpoints = found.prices, found.is_endpoints
    ours: dict[str, InstanceType] = instances() if is_endpoints else ec2_instances()
    priced = {name: each.usd_per_hour for name, each in ours.items() if each.usd_per_hour}
    unknown = theirs.keys() - priced.keys() - left_out_types().keys() if is_endpoints else set()
    return Difference(
        source,
        f"prices in {HOME_REGION}",
        len(theirs),
        new=[f"{name}: {theirs[name]:g} USD an hour" for name in sorted(unknown)],
        gone=sorted(priced.keys() - theirs.keys()),
        changed=[
            Change(name, "USD an hour", f"{priced[name]:g}", f"{theirs[name]:g}")
            for name in sorted(priced.keys() & theirs.keys())
            if abs(theirs[name] - priced[name]) > _ROUNDING * priced[name]
        ],
    )


def _prices(content: dict[str, Any], offer: str, source: str, region: str) -> Iterator[tuple[str, float]]:
    wanted, name = _OFFERS[offer]
    products, terms = content.get("products"), content.get("terms", {}).get("OnDemand")
    if not isinstance(products, dict) or not isinstance(terms, dict):
        raise other_form(source, "it has no `products`, or no `terms.OnDemand`")
    for sku, product in products.items():
        attributes = product.get("attributes", {})
        if attributes.get("regionCode") != region or any(attributes.get(key) != wanted[key] for key in wanted):
            continue
        if not attributes.get(name) or not isinstance(attributes[name], str):
            raise other_form(source, f"product {sku} has no {name}")
        if price := _price(terms.get(sku, {}), sku, source):
            yield attributes[name], price


def _price(terms: Any, sku: str, source: str) -> float:
    """Return the hourly price of a product; 0 = it is free, such as the hours of a free tier."""
    dimensions = [each for term in terms.values() for each in term.get("priceDimensions", {}).values()]
    prices = {each.get("pricePerUnit", {}).get("USD") for each in dimensions if each.get("unit") in _HOURS}
    try:
        (price,) = {float(each) for each in prices}
    except (TypeError, ValueError):
        price = -1
    if not 0 <= price < inf:
        raise other_form(source, f"product {sku} has no price, or several, in USD for an hour")
    return price
