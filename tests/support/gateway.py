"""Deployments behind a gateway, for tests."""

from typing import Any

from slipway.gateway.backend import Backend
from slipway.gateway.pools import Pool, pools

TEXT = frozenset({"chat", "completions", "responses"})


def backend(name: str, *names: str, **fields: Any) -> Backend:
    """Return a deployment with a key whose model is called like itself, unless `names` say otherwise."""
    url = f"https://{name}.execute-api.eu-west-1.amazonaws.com/v1/"
    return Backend(name, **{"names": names or (name,), "url": url, "routes": TEXT, "auth": "api-key"} | fields)


def pools_of(*backends: Backend, even: bool = False, fallbacks: Any = None, **weights: int) -> list[Pool]:
    return pools(backends, weights, fallbacks or {}, even=even)
