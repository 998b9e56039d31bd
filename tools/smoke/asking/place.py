"""The account and region of the run: AWS, or the local cloud."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slipway.shared.aws_clients import Clients, clients_in, local_cloud

_READS = ("Describe", "Get", "List", "Head", "Filter", "Query", "Scan", "Assume", "Put")
_LOOK_INTERVAL_IN_SECONDS, _LOCAL_LOOK_INTERVAL_IN_SECONDS = 10, 0.5


@dataclass(frozen=True)
class Place:
    """look_interval: seconds between two looks at AWS."""

    region: str
    account: str
    is_local: bool

    @property
    def look_interval(self) -> float:
        return _LOCAL_LOOK_INTERVAL_IN_SECONDS if self.is_local else _LOOK_INTERVAL_IN_SECONDS

    def __str__(self) -> str:
        return f"{self.region} of account {self.account}" + (", the local cloud" if self.is_local else "")

    def clients(self, saw: Callable[[str], None] | None = None) -> Clients:
        """Clients for one thread. saw: is told the request id of each call that changes something."""
        clients, noted = clients_in(self.region), set[str]()

        def client(service: str) -> Any:
            made = clients(service)
            if saw and service not in noted:
                noted.add(service)
                made.meta.events.register("after-call", _teller(service, saw))
            return made

        return client


def this_place(region: str | None) -> Place:
    """The place of the environment's credentials. Raises boto3's errors."""
    clients = clients_in(region)
    account = clients("sts").get_caller_identity()["Account"]
    return Place(str(clients("sts").meta.region_name), account, local_cloud(clients) is not None)


def _teller(service: str, saw: Callable[[str], None]) -> Callable[..., None]:
    def tell(model: Any, parsed: dict[str, Any], **_: Any) -> None:
        if model.name.startswith(_READS):
            return
        refused = parsed.get("Error", {}).get("Code")
        request = parsed.get("ResponseMetadata", {}).get("RequestId")
        saw(f"{service} {model.name}: request {request}" + (f", refused: {refused}" if refused else ""))

    return tell
