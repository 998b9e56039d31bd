"""The emulator, recording which properties of each type it reads; GET /_slipway/property-reads returns the record."""

import importlib
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

emulator: Any = importlib.import_module("local_cloud.emulator.__main__")
reads: defaultdict[str, set[str]] = defaultdict(set)


class Recorded(dict[str, Any]):
    """The properties of one resource, or an object in them; reading a member records its path."""

    def __init__(self, resource_type: str, properties: dict[str, Any], path: str = "") -> None:
        self._type, self._path = resource_type, path
        super().__init__({name: self._recorded(name, value) for name, value in properties.items()})

    def _recorded(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._recorded(name, item) for item in value]
        return Recorded(self._type, value, f"{self._path}{name}.") if isinstance(value, dict) else value

    def __getitem__(self, name: str) -> Any:
        reads[self._type].add(f"{self._path}{name}")
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        reads[self._type].add(f"{self._path}{name}")
        return super().get(name, default)

    def __or__(self, other: dict[str, Any]) -> Any:  # type: ignore[override]
        return Recorded(self._type, super().__or__(other), self._path)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def record_reads() -> None:
    ministack = importlib.import_module("local_cloud.emulator.core.ministack")
    stacks: Any = importlib.import_module("ministack.services.cloudformation.stacks")
    provision, update = stacks._provision_resource, stacks._update_resource

    def provision_recorded(name: str, logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        return provision(name, logical_id, Recorded(name, properties), stack)

    def update_recorded(name: str, physical_id: str, old: dict[str, Any], new: dict[str, Any], *rest: Any) -> Any:
        return update(name, physical_id, old, Recorded(name, new), *rest)

    stacks._provision_resource, stacks._update_resource = provision_recorded, update_recorded
    ministack.register_view("/_slipway/property-reads", lambda: {name: sorted(paths) for name, paths in reads.items()})


serve = emulator._serve_until_stopped


async def serve_with_record(*arguments: Any) -> None:
    record_reads()
    await serve(*arguments)


emulator._serve_until_stopped = serve_with_record
emulator.main()
