"""The hooks into the emulator; only the modules here whose name ends in `hooks` touch its internals."""

import asyncio
import contextlib
import importlib
import importlib.metadata
import json
import operator
import socket
from collections.abc import Callable
from typing import Any

MADE_FOR = "1.5.33"

Answer = tuple[int, dict[str, str], bytes]


class EmulatorMismatchError(Exception):
    """The installed emulator is not the one these hooks were made for."""


def internals(module: str, *names: str) -> Any:
    """A module of the emulator; `names` are all that is used of it, dotted for a member of a member.

    Raises EmulatorMismatchError when one is missing, or when the installed version is another.
    """
    installed, imported = importlib.metadata.version("ministack"), importlib.import_module(module)
    missing = ""
    for name in names:
        try:
            operator.attrgetter(name)(imported)
        except AttributeError:
            missing = f" and {module}.{name} is missing there"
    if missing or installed != MADE_FOR:
        raise EmulatorMismatchError(
            f"The local cloud was made for ministack {MADE_FOR}, {installed} is installed{missing}; "
            "install local_cloud/requirements.txt again."
        )
    return imported


_app = internals("ministack.app", "_handle_pre_body_request", "_resolve_port", "app")
_concurrency = internals("ministack.core.concurrency", "run_reentrant", "spawn_background")
_responses = internals(
    "ministack.core.responses",
    "AccountRegionScopedDict",
    "get_account_id",
    "get_region",
    "get_request_client_ip",
    "request_scope",
)


async def serve(listener: socket.socket) -> None:
    """Answer HTTP on the listener until cancelled."""
    config: Any = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    server: Any = importlib.import_module("hypercorn.asyncio")
    await server.serve(_app.app, config, shutdown_trigger=asyncio.Event().wait)


def own_endpoint_url() -> str:
    return f"http://127.0.0.1:{_app._resolve_port()}"


def account_id() -> str:
    """The account of the current request."""
    return str(_responses.get_account_id())


def region() -> str:
    """The region of the current request."""
    return str(_responses.get_region())


def scope(account: str, region_name: str) -> contextlib.AbstractContextManager[None]:
    """Act for an account and a region in code that runs outside a request."""
    context: contextlib.AbstractContextManager[None] = _responses.request_scope(account, region_name)
    return context


def scoped_store() -> Any:
    """A dict whose content is separate for each account and region."""
    return _responses.AccountRegionScopedDict()


async def off_loop(function: Callable[..., Any], *args: Any) -> Any:
    """Run blocking work on a thread of its own, in the request's account and region."""
    return await _concurrency.run_reentrant(function, *args)


def in_background(function: Callable[..., Any], *args: Any, name: str) -> None:
    """Start work on a thread of its own, in the current account and region; what it raises is logged."""
    _concurrency.spawn_background(function, *args, thread_name=name)


_views: dict[str, Callable[[], Any]] = {}


def register_view(path: str, view: Callable[[], Any]) -> None:
    """Answer GET `path`, which is outside AWS, with the view's value as JSON, to callers on this machine only."""
    _views[path] = view


def _serve_views() -> None:
    handle = _app._handle_pre_body_request

    async def handle_pre_body_request(method: str, path: str, *rest: Any) -> Any:
        if method == "GET" and path in _views and _responses.get_request_client_ip() == "127.0.0.1":
            return 200, {"Content-Type": "application/json"}, json.dumps(_views[path]()).encode()
        return await handle(method, path, *rest)

    _app._handle_pre_body_request = handle_pre_body_request


_serve_views()
