"""A price list in the form that AWS documents."""

import json
from collections.abc import Mapping
from pathlib import Path


def price_list(
    folder: Path, offer: str, prices: Mapping[str, object], region: str = "us-east-1", **changes: object
) -> Path:
    """Write a price list in the documented form, with these prices of a region, and return its path."""
    products, terms = {}, {}
    for number, (name, price) in enumerate(prices.items()):
        hosting = {"component": "Hosting", "instanceName": name}
        machine = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}
        attributes = hosting if offer == "AmazonSageMaker" else {**machine, "instanceType": name}
        sku = f"SKU{number}"
        products[sku] = {"sku": sku, "attributes": {**attributes, "regionCode": region}}
        terms[sku] = {f"{sku}.T": {"priceDimensions": {"R": {"unit": "Hrs", "pricePerUnit": {"USD": price}}}}}
    products["OTHER"] = {"sku": "OTHER", "attributes": {"component": "Training", "regionCode": "us-east-1"}}
    content = {
        "formatVersion": "v1.0",
        "offerCode": offer,
        "publicationDate": "2026-11-20T08:15:30Z",
        "products": products,
        "terms": {"OnDemand": terms},
        **changes,
    }
    (folder / "index.json").write_text(json.dumps(content))
    return folder / "index.json"
