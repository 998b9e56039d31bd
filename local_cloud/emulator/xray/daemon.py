"""X-Ray's daemon beside each traced function: takes datagrams, and sends them by the function's role and network.

Each function has a socket of its own, because a datagram does not tell who sent it. What the sockets hold is read at
the end of each invocation.
"""

import json
import socket
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import iam
from local_cloud.emulator.xray import segments

_runtime = ministack.internals("ministack.core.lambda_runtime", "execution_credentials")
_lambda = ministack.internals("ministack.services.lambda_svc", "execution_credentials")

_HEADER = {"format": "json", "version": 1}
# What the daemon calls; the second tells X-Ray how it fares.
_ACTIONS = ("PutTraceSegments", "PutTelemetryRecords")

# Says whether the network of a function lets an action of X-Ray through.
Way = Callable[[dict[str, Any], str], bool]
_ways: list[Way] = []
_daemons: dict[str, tuple[socket.socket, dict[str, Any]]] = {}


def _address_for(config: dict[str, Any]) -> str:
    arn = config["FunctionArn"]
    if arn not in _daemons:
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        _daemons[arn] = listener, config
    listener = _daemons[arn][0]
    _daemons[arn] = listener, config
    return f"127.0.0.1:{listener.getsockname()[1]}"


def is_traced(config: dict[str, Any]) -> bool:
    """Whether a function traces the requests that are sampled."""
    return (config.get("TracingConfig") or {}).get("Mode") == "Active"


def may_send(config: dict[str, Any]) -> bool:
    """Whether a function's role and network let its traces through. Otherwise AWS drops them, and says nothing."""
    role_may = all(iam.role_may(config["Role"], f"xray:{action}", "*") for action in _ACTIONS)
    return role_may and all(leads(config, f"xray:{_ACTIONS[0]}") for leads in _ways)


def demand_way(leads: Way) -> None:
    """Let traces through only if this says so, too."""
    _ways.append(leads)


def send_all() -> None:
    """Send what the daemons hold."""
    for arn, (listener, config) in [*_daemons.items()]:
        account, region = arn.split(":")[4], arn.split(":")[3]
        while True:
            try:
                header, _, text = listener.recv(1 << 16).decode().partition("\n")
            except BlockingIOError:
                break
            with ministack.scope(account, region):
                if json.loads(header) == _HEADER and may_send(config):
                    segments.keep(text)


def install() -> None:
    credentials = _runtime.execution_credentials

    def with_daemon(config: dict[str, Any]) -> dict[str, str]:
        address = {"AWS_XRAY_DAEMON_ADDRESS": _address_for(config)} if is_traced(config) else {}
        return {**credentials(config), **address}

    _runtime.execution_credentials = _lambda.execution_credentials = with_daemon
