"""The resources of Envoy AI Gateway (aigateway.envoyproxy.io/v1beta1) for Kubernetes."""

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from slipway.gateway.backend import Backend, GatewayError
from slipway.gateway.pools import Pool

GATEWAY = "slipway"  # the Gateway to which the routes belong, and the beginning of all names
_MOST_RULES = 15  # of one AIGatewayRoute
_GONE_OVER = [429, 503]
_LONGEST_ANSWER = "900s"  # API Gateway ends a stream after 15 minutes
_GROUPS = {
    "Gateway": "gateway.networking.k8s.io",
    "HTTPRoute": "gateway.networking.k8s.io",
    "Backend": "gateway.envoyproxy.io",
    "AIServiceBackend": "aigateway.envoyproxy.io",
}


def resources(pools: Sequence[Pool]) -> list[dict[str, Any]]:
    """Return the resources, one for each YAML document. Raises GatewayError."""
    first = {pool.name: pool.shares for pool in pools}
    backends = {each.name: each for pool in pools for each, _ in pool.shares}
    found = [part for each in backends.values() for part in _backend(each)]
    for start in range(0, len(pools), _MOST_RULES):
        name, part = f"{GATEWAY}-{start // _MOST_RULES + 1}", pools[start : start + _MOST_RULES]
        found += [_route(name, part, first), _retries(name, part)]
    return found


def secret_name(backend: Backend) -> str:
    """The Secret with the backend's key, under `apiKey`."""
    return _name(backend)


def _route(name: str, pools: Sequence[Pool], first: dict[str, Any]) -> dict[str, Any]:
    rules = [
        {
            "matches": [{"headers": [{"type": "Exact", "name": "x-ai-eg-model", "value": pool.name}]}],
            "backendRefs": list(_references(pool, first)),
            "timeouts": {"request": _LONGEST_ANSWER},
        }
        for pool in pools
    ]
    return _resource("AIGatewayRoute", name, {"parentRefs": [_reference("Gateway", GATEWAY)], "rules": rules})


def _references(pool: Pool, first: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the backends of a public name, then those that answer instead: the lowest priority is asked first."""
    for backend, weight in pool.shares:
        yield {"name": _name(backend), "weight": weight or 1}
    for priority, name in enumerate(pool.fallbacks, 1):
        for backend, weight in first[name]:
            yield {
                "name": _name(backend),
                "weight": weight or 1,
                "priority": priority,
                "modelNameOverride": name,
            }


def _retries(route: str, pools: Sequence[Pool]) -> dict[str, Any]:
    """Go over to the next priority before the first byte. The HTTPRoute has the name of the AIGatewayRoute."""
    spec = {
        "targetRefs": [_reference("HTTPRoute", route)],
        "retry": {
            "numRetries": max(len(pool.shares) + len(pool.fallbacks) - 1 for pool in pools),
            "numAttemptsPerPriority": 1,
            "retryOn": {"httpStatusCodes": _GONE_OVER, "triggers": ["connect-failure", "retriable-status-codes"]},
        },
    }
    return _resource("BackendTrafficPolicy", route, spec)


def _backend(backend: Backend) -> Iterator[dict[str, Any]]:
    if not backend.url:
        raise GatewayError(
            f"{backend.name}: its URL is not known here, and Envoy reads none from its environment; deploy the fleet's "
            "gateway by LiteLLM, or name the deployments in the account itself."
        )
    name, url = _name(backend), urlsplit(backend.url)
    endpoint = {"fqdn": {"hostname": url.hostname, "port": url.port or (443 if url.scheme == "https" else 80)}}
    schema = {"name": "OpenAI", "prefix": url.path.rstrip("/") or "/"}
    yield _resource("AIServiceBackend", name, {"schema": schema, "backendRef": _reference("Backend", name)})
    if backend.key_variable:
        spec = {
            "targetRefs": [_reference("AIServiceBackend", name)],
            "type": "APIKey",
            "apiKey": {"secretRef": {"name": secret_name(backend)}},
        }
        yield _resource("BackendSecurityPolicy", name, spec)
    yield _resource("Backend", name, {"endpoints": [endpoint]})
    if url.scheme == "https":
        validation = {"wellKnownCACertificates": "System", "hostname": url.hostname}
        yield _resource(
            "BackendTLSPolicy", name, {"targetRefs": [_reference("Backend", name)], "validation": validation}
        )


def _resource(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    versions = {
        "BackendTLSPolicy": "gateway.networking.k8s.io/v1",
        "Backend": "gateway.envoyproxy.io/v1alpha1",
        "BackendTrafficPolicy": "gateway.envoyproxy.io/v1alpha1",
    }
    version = versions.get(kind, "aigateway.envoyproxy.io/v1beta1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _reference(kind: str, name: str) -> dict[str, str]:
    return {"group": _GROUPS[kind], "kind": kind, "name": name}


def _name(backend: Backend) -> str:
    """A name for Kubernetes: lower-case letters, digits and hyphens."""
    return f"{GATEWAY}-{re.sub('[^a-z0-9]+', '-', backend.name.lower()).strip('-')}"
