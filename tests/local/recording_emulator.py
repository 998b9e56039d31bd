"""The emulator with a record of what its provisioners read of each type, answered at GET /_slipway/property-reads."""

import importlib
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

emulator: Any = importlib.import_module("local_cloud.emulator.__main__")
reads: defaultdict[str, set[str]] = defaultdict(set)


class RecordedProperties(dict[str, Any]):
    """The properties of one resource; reading one leaves its name in the record."""

    def __init__(self, resource_type: str, properties: dict[str, Any]) -> None:
        super().__init__(properties)
        self._type = resource_type

    def __getitem__(self, name: str) -> Any:
        reads[self._type].add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        reads[self._type].add(name)
        return super().get(name, default)

    def __or__(self, other: dict[str, Any]) -> Any:  # type: ignore[override]
        return RecordedProperties(self._type, super().__or__(other))

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def record_reads() -> None:
    hooks = importlib.import_module("local_cloud.emulator.hooks")
    stacks: Any = importlib.import_module("ministack.services.cloudformation.stacks")
    provision = stacks._provision_resource

    def provision_recorded(name: str, logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        return provision(name, logical_id, RecordedProperties(name, properties), stack)

    stacks._provision_resource = provision_recorded
    hooks.register_view("/_slipway/property-reads", lambda: {name: sorted(names) for name, names in reads.items()})


serve = emulator._serve_until_stopped


async def serve_with_record(*arguments: Any) -> None:
    record_reads()
    await serve(*arguments)


emulator._serve_until_stopped = serve_with_record
emulator.main()
