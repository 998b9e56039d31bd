"""The constructs behind `hosting.mode`: the only place that chooses one by the mode."""

from collections.abc import Callable

from ..jobs.hosting_mode import HostingMode
from .async_hosting import AsyncHosting
from .ec2_hosting import Ec2Hosting
from .realtime_hosting import RealtimeHosting

HOSTING_MODES: dict[str, Callable[..., HostingMode]] = {
    "realtime": RealtimeHosting,
    "async": AsyncHosting,
    "ec2": Ec2Hosting,
}
