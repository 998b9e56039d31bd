"""Values of DynamoDB attributes."""


def number(value: float) -> dict[str, str]:
    """Return a DynamoDB number. A float keeps three decimals, which is a millisecond for times."""
    return {"N": str(value) if isinstance(value, int) else f"{value:.3f}"}
