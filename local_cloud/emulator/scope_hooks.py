"""The hooks into the emulator's stores that keep accounts and regions apart."""

from typing import Any

from local_cloud.emulator import hooks

_responses = hooks.internals("ministack.core.responses", "AccountRegionScopedDict.all_items")


def in_all_scopes(store: Any) -> list[tuple[str, str, Any]]:
    """Every value of a scoped store with its account and region."""
    return [(account, region, value) for (account, region, _), value in store.all_items()]
