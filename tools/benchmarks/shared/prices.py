"""List prices of us-east-1 on 2026-11-21, and the cost of a usage."""

from collections.abc import Mapping

# Dollars per million. DynamoDB: on-demand units, a read unit is 4 kB. Functions: arm64.
PER_MILLION = {
    "API requests": 3.50,
    "function calls": 0.20,
    "GB-seconds": 13.3334,
    "writes": 0.625,
    "reads": 0.125,
    "S3 PUT or LIST": 5.00,
    "S3 GET": 0.40,
    "SQS": 0.40,
    "SQS, fair": 0.50,
    "SNS": 0.50,
    "EventBridge": 1.00,
}


def dollars_per_million(used: Mapping[str, float]) -> float:
    """Dollars per million of a usage. Raises KeyError for an item without a price."""
    return sum(PER_MILLION[item] * number for item, number in used.items())
