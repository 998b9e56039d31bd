"""Regions: the account that holds AWS's deep learning containers in each, and where which images are."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def container_accounts() -> dict[str, str]:
    """Account id by region; the CDK's own table lacks 13 of these regions."""
    accounts: dict[str, str] = _data()["deep_learning_container_accounts"]
    return accounts


@cache
def image_regions(set_name: str) -> frozenset[str]:
    """The regions of a set that images name.

    Raises KeyError for a set that does not exist.
    """
    return frozenset(_data()["image_region_sets"][set_name])


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("regions.json").read_text())
    return data
