"""Groups deployments by the names under which callers ask for a model, with shares and fallbacks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from llm_hosting.deployment.nearest import nearest
from slipway.gateway.backend import Backend, GatewayError


@dataclass(frozen=True)
class Pool:
    """The backends of one public name.

    shares: the backends with their weights; None = all get the same. fallbacks: public names that answer instead.
    """

    name: str
    shares: tuple[tuple[Backend, int | None], ...]
    fallbacks: tuple[str, ...] = ()


def pools(
    backends: Sequence[Backend], weights: Mapping[str, int], fallbacks: Mapping[str, Sequence[str]], *, even: bool
) -> list[Pool]:
    """Return the pool of each public name. Raises GatewayError.

    weights: by the names of backends. fallbacks: names of backends, by the name of the one that fails.
    even: whether backends of one name share its calls evenly without weights, as those of a fleet do.
    """
    by_name = {each.name: each for each in backends}
    for option, given in (("--weight", weights), ("--fallback", [*fallbacks, *chain(*fallbacks.values())])):
        for name in given:
            if name not in by_name:
                problem = f"{option} {name}: the gateway has no such deployment"
                raise GatewayError(f"{problem}; did you mean {nearest(name, by_name)}?")
    for each in backends:
        _demand_reachable(each)
    members: dict[str, list[Backend]] = {}
    for each in backends:
        for name in each.names:
            members.setdefault(name, []).append(each)
    _demand_weights(members, weights, even=even)
    after = dict(_fallbacks(by_name, fallbacks))
    return [
        Pool(
            name,
            tuple((each, weights.get(each.name)) for each in found),
            tuple(dict.fromkeys(other for each in found for other in after.get(each.name, ()) if other != name)),
        )
        for name, found in members.items()
    ]


def _demand_reachable(backend: Backend) -> None:
    if backend.unreachable:
        raise GatewayError(
            f"{backend.name}: {backend.unreachable}, and gateways can't; set api.auth: api-key in its file and deploy "
            "it."
        )
    if not backend.routes:
        raise GatewayError(
            f"{backend.name} has no routes of OpenAI's API; set api.openai: true in its file and deploy it, or leave "
            "it out."
        )


def _demand_weights(members: Mapping[str, Sequence[Backend]], weights: Mapping[str, int], *, even: bool) -> None:
    shared = {name: found for name, found in members.items() if len(found) > 1}
    for public, found in shared.items():
        if len({each.routes - {"responses"} for each in found}) > 1:  # which a gateway makes of chats
            raise GatewayError(
                f"{_and(found)} serve {public} with different routes; deploy them alike, or leave one out."
            )
        weighted = [each for each in found if each.name in weights]
        if len(weighted) < len(found) and (weighted or not even):
            first, *others = found
            shares = " ".join([f"--weight {first.name}=9", *(f"--weight {each.name}=1" for each in others)])
            raise GatewayError(f"{_and(found)} serve {public}; share its calls, as with {shares}, or leave one out.")
    used = {each.name for each in chain(*shared.values())}
    for name in weights:
        if name not in used:
            raise GatewayError(f"--weight {name}: no other deployment serves the same model; leave the weight out.")


def _and(found: Sequence[Backend]) -> str:
    return " and ".join(each.name for each in found)


def _fallbacks(
    by_name: Mapping[str, Backend], fallbacks: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the public names that answer instead of each backend."""
    for name, others in fallbacks.items():
        backend = by_name[name]
        for other in others:
            if other == name or by_name[other].names[0] == backend.names[0]:
                raise GatewayError(f"--fallback {name}={other}: both serve {backend.names[0]}; name another model.")
            if not backend.routes & by_name[other].routes:
                routes = ", ".join(sorted(by_name[other].routes))
                raise GatewayError(
                    f"--fallback {name}={other}: {other} answers only {routes}, which {name} does not; name another."
                )
        yield name, tuple(by_name[other].names[0] for other in others)
