"""Formats the numbers of a bench as short texts; `-` = not measured."""

NOTHING = "-"


def milliseconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else number(1000 * seconds)


def seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.1f}"


def number(value: float | None) -> str:
    """About three digits, and all digits of the whole part: 27,564, 37.1, 0.0421."""
    if value is None:
        return NOTHING
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:#.3g}"


def share(value: float) -> str:
    return f"{100 * value:.3g} %"


def dollars(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.2f}" if value >= 1 else f"{value:#.3g}"
