"""Regions and the account that holds AWS's deep learning containers in each."""

import json
from functools import cache
from pathlib import Path


@cache
def container_accounts() -> dict[str, str]:
    """Account id by region; the CDK's own table lacks 13 of these regions."""
    accounts: dict[str, str] = json.loads(Path(__file__).with_name("regions.json").read_text())[
        "deep_learning_container_accounts"
    ]
    return accounts
