"""`slipway catalog prices`: writes the prices of AWS's price lists into the catalog."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm_hosting.catalog.instances import InstanceType, ec2_instances, instances
from slipway.refreshing.price_list import PriceList, price_list
from slipway.refreshing.source import SourceError


def run(sources: Sequence[str], catalog: Path) -> int:
    """Write the prices that differ, and the date of each kind, into the file of instance types.

    The file is made if it is missing.

    Returns the exit status: 0 if the prices are written, 2 if a list can't be read; then nothing is written.
    """
    try:
        lists = [price_list(source) for source in sources]
    except SourceError as error:
        print(error, file=sys.stderr)
        return 2
    new = {"source": "AWS's price lists of us-east-1", "as_of": min(each.published for each in lists)}
    content: dict[str, Any] = json.loads(catalog.read_text()) if catalog.exists() else new
    for source, each in zip(sources, lists, strict=True):
        print(f"{source}: {_write(content, each)} prices changed, as of {each.published}")
    catalog.parent.mkdir(exist_ok=True)
    content |= {"prices_as_of" if each.is_endpoints else "ec2_prices_as_of": each.published for each in lists}
    catalog.write_text(written(content))
    return 0


def run_for_region(sources: Sequence[str], catalog: Path, region: str) -> int:
    """Write the prices of one region, and their date, into the file of the regions' prices.

    The lists replace all prices of their kinds. The date is that of the oldest prices. The file is made if it is
    missing. Returns the exit status: 0 if the prices are written, 2 if a list can't be read; then nothing is written.
    """
    try:
        lists = [price_list(source, region) for source in sources]
    except SourceError as error:
        print(error, file=sys.stderr)
        return 2
    read = min(each.published for each in lists)
    new = {"source": "AWS's price lists", "as_of": read, "services": {}, "instances": {}}
    content: dict[str, Any] = json.loads(catalog.read_text()) if catalog.exists() else new
    known = {**instances(), **ec2_instances()}
    prices = {name: usd for each in lists for name, usd in each.prices.items() if name in known}
    kinds = {each.is_endpoints for each in lists}
    row = content.setdefault("instances", {}).get(region, {})
    kept = {name: usd for name, usd in row.items() if name != "as_of" and name.startswith("ml.") not in kinds}
    published = min(read, row["as_of"]) if kept else read
    content["instances"][region] = {**kept, **prices, "as_of": published}
    catalog.parent.mkdir(exist_ok=True)
    catalog.write_text(written(content))
    print(f"{region}: {len(prices)} prices, as of {read}")
    return 0


def written(content: dict[str, Any]) -> str:
    """The text of instances.json: a line for each row."""
    return "{\n" + ",\n".join(f"  {json.dumps(name)}: {_section(value)}" for name, value in content.items()) + "\n}\n"


def _section(value: Any) -> str:
    if not isinstance(value, dict) or not all(isinstance(row, dict) for row in value.values()):
        return json.dumps(value, ensure_ascii=False)
    rows = (f"    {json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in value.items())
    return "{\n" + ",\n".join(rows) + "\n  }"


def _write(content: dict[str, Any], found: PriceList) -> int:
    """Lay the list's prices over the rows, and return how many differ. A type that the list lacks gets null.

    EC2's list is read for the prices that the catalog has; SageMaker's list also brings new ones.
    """
    endpoints, changed = instances(), 0
    of_ec2_alone = {name: each for name, each in ec2_instances().items() if f"ml.{name}" not in endpoints}
    places: list[tuple[str, str, dict[str, InstanceType]]] = [("instances", "usd_per_hour", endpoints)]
    if not found.is_endpoints:
        places = [("instances", "ec2_usd_per_hour", endpoints), ("of_ec2_alone", "usd_per_hour", of_ec2_alone)]
    for section, column, types in places:
        for name, instance in types.items():
            known = getattr(instance, column)
            price = found.prices.get(name if found.is_endpoints else name.removeprefix("ml."))
            if price != known and (known or found.is_endpoints):
                content.setdefault(section, {}).setdefault(name, {})[column] = price
                changed += 1
    return changed
