"""List prices of us-east-1 as known on 2026-11-21, and what a count of things used comes to."""

from collections.abc import Mapping

# In dollars per million. Units of DynamoDB on demand, a read being one of 4 kB; functions on arm64.
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
    """What a million of that costs. Raises KeyError for what has no price."""
    return sum(PER_MILLION[thing] * number for thing, number in used.items())
