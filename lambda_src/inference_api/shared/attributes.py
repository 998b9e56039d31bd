"""Values of DynamoDB attributes."""


def number(value: float) -> dict[str, str]:
    """To the millisecond."""
    return {"N": str(value) if isinstance(value, int) else f"{value:.3f}"}
