"""How many calls of functions run at once: the account's quota, and what a template reserves for a function."""

from collections import Counter
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack

_lambda = ministack.internals(
    "ministack.services.lambda_svc",
    "_ACCOUNT_CONCURRENCY_CAP",
    "_acquire_execution_slot",
    "_functions",
    "_inflight",
    "_inflight_key",
    "_inflight_lock",
    "_release_execution_slot",
    "_reserved_concurrency",
)

PATH = "/_slipway/concurrency"
_QUOTA = 1000  # AWS's default
_LEAST_UNRESERVED = 100  # Lambda Developer Guide, "Configuring reserved concurrency"
_PROPERTY = "ReservedConcurrentExecutions"

_machine_limit = _lambda._ACCOUNT_CONCURRENCY_CAP  # what this machine can run, whatever the account may
_without_reservation: Counter[str] = Counter()  # calls that run, by account and region
_of_others = 0  # calls of functions that this cloud does not know


def _acquire(function: dict[str, Any], config: dict[str, Any]) -> tuple[tuple[str, bool] | None, str | None]:
    """Take a place for a call. A function with a reservation has places of its own; the others share the rest."""
    reserved, key = _lambda._reserved_concurrency(function, config), _lambda._inflight_key(config)
    place = key.rpartition(":")[0]
    with _lambda._inflight_lock:
        if reserved is not None and _lambda._inflight.get(key, 0) >= reserved:
            return None, "function"
        if reserved is None and _without_reservation[place] + _of_others >= _QUOTA - _reserved_in_all():
            return None, "account"
        if _machine_limit and sum(_lambda._inflight.values()) >= _machine_limit:
            return None, "account"
        _lambda._inflight[key] = _lambda._inflight.get(key, 0) + 1
        _without_reservation[place] += reserved is None
    return (key, reserved is None), None


def _release(slot: tuple[str, bool]) -> None:
    key, is_shared = slot
    with _lambda._inflight_lock:
        _lambda._inflight[key] -= 1
        _without_reservation[key.rpartition(":")[0]] -= is_shared


def _reserved_in_all(but: str = "") -> int:
    """What the functions of this account and region reserve together."""
    functions = _lambda._functions
    return sum(int(functions[name].get("concurrency") or 0) for name in list(functions.keys()) if name != but)


def _demand_room(properties: dict[str, Any], name: str = "") -> None:
    wanted = int(properties.get(_PROPERTY) or 0)
    if wanted and _QUOTA - _reserved_in_all(but=name) - wanted < _LEAST_UNRESERVED:
        raise ValueError(
            "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution "
            f"below its minimum value of [{_LEAST_UNRESERVED}]."
        )


def _reserve(name: str, properties: dict[str, Any]) -> None:
    _demand_room(properties, name)
    value = properties.get(_PROPERTY)
    _lambda._functions[name]["concurrency"] = None if value is None else int(value)


def _occupy(request: Any) -> dict[str, int]:
    """Let other functions run so many calls, and answer how many calls of this cloud's functions share with them."""
    global _of_others
    _of_others = int(request["others"])
    return {"others": _of_others, "running": _without_reservation.total()}


def install() -> None:
    _lambda._ACCOUNT_CONCURRENCY_CAP = _QUOTA  # GetAccountSettings tells it
    _lambda._acquire_execution_slot, _lambda._release_execution_slot = _acquire, _release
    extend_resource_type("AWS::Lambda::Function", check_new=_demand_room, complete=_reserve)
    ministack.register_command("POST", PATH, _occupy)
