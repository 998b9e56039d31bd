"""Regions: AWS's account with deep learning containers in each, the regions of each image, those without components."""

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any


@cache
def container_accounts(repository: str = "") -> dict[str, str]:
    """Return the account id of each region that has this repository; the CDK's own table lacks 13 of the regions.

    repository: some images are in the registries of SageMaker's algorithms; those of all others are one table.
    """
    algorithms = _data()["algorithm_accounts"]
    of_algorithm = repository in algorithms["repositories"]
    accounts: dict[str, str] = algorithms["accounts"] if of_algorithm else _data()["deep_learning_container_accounts"]
    return accounts


@cache
def all_container_accounts() -> frozenset[str]:
    """Return AWS's accounts that hold images."""
    return frozenset((*container_accounts().values(), *_data()["algorithm_accounts"]["accounts"].values()))


def regions_without_components() -> Collection[str]:
    """Return the regions whose CloudFormation makes no inference components."""
    found: list[str] = _data()["without_inference_components"]["regions"]
    return found


def regions_without_budgets() -> Collection[str]:
    """Return the regions whose CloudFormation makes no budgets."""
    found: list[str] = _data()["without_budgets"]["regions"]
    return found


def image_region_sets() -> Collection[str]:
    """Return the names of the sets to which images refer."""
    return set(_data()["image_region_sets"])


@cache
def image_regions(set_name: str) -> frozenset[str]:
    """Return the regions of a set to which images refer.

    Raises KeyError for a set that does not exist.
    """
    return frozenset(_data()["image_region_sets"][set_name])


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("regions.json").read_text())
    return data
