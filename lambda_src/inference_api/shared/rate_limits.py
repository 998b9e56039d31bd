"""The headers in which OpenAI's API tells a key's limit on tokens."""


def token_headers(limit: int, left: int, seconds: int) -> dict[str, str]:
    """Return the headers of a limit. left: the tokens left; below 0 = none. seconds: until the limit renews."""
    return {
        "x-ratelimit-limit-tokens": str(limit),
        "x-ratelimit-remaining-tokens": str(max(0, left)),
        "x-ratelimit-reset-tokens": duration(seconds),
    }


def duration(seconds: int) -> str:
    """Return a time as OpenAI writes it: `59s`, `6m0s`, `28h0m1s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
