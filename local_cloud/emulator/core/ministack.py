"""The adapter to MiniStack: access to its internals, scopes and threads, the cloud's clock, views outside AWS."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import importlib
import importlib.metadata
import inspect
import json
import operator
import socket
import time
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from typing import Any

from local_cloud.emulator.core import clock

MADE_FOR = "1.5.33"

Answer = tuple[int, dict[str, str], bytes]


class EmulatorMismatchError(Exception):
    """The installed MiniStack is another version than this package was made for."""


def internals(module: str, *names: str) -> Any:
    """Import a module of MiniStack; `names` must list every member in use, dotted for a member of a member.

    Raises EmulatorMismatchError if a member is missing or another version is installed.
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


_app = internals("ministack.app", "_handle_post_body_shortcuts", "_resolve_port", "app", "formatdate")
_http1 = internals("hypercorn.protocol.h11", "H11Protocol._check_protocol")
_streams = internals("hypercorn.protocol.http_stream", "HTTPStream.app_send", "StreamClosed")
_connections = internals("hypercorn.asyncio.tcp_server", "TCPServer._read_data")
_concurrency = internals("ministack.core.concurrency", "esm_wake", "run_reentrant", "spawn_background")
_responses = internals(
    "ministack.core.responses",
    "AccountRegionScopedDict.all_items",
    "get_account_id",
    "get_region",
    "get_request_client_ip",
    "request_scope",
)


class _CloudTime:
    """The module `time`, except that `time()` is the cloud's."""

    @staticmethod
    def time() -> float:
        return clock.now()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def follow_clock(module: Any) -> None:
    """Make a module of MiniStack read the cloud's clock."""
    module.time = _CloudTime()


_loop: asyncio.AbstractEventLoop


async def serve(listener: socket.socket) -> None:
    """Answer HTTP on the listener until cancelled."""
    global _loop
    _loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        group.create_task(clock.run())
        await _serve(listener)


async def _serve(listener: socket.socket) -> None:
    config: Any = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    server: Any = importlib.import_module("hypercorn.asyncio")
    await server.serve(_app.app, config, shutdown_trigger=asyncio.Event().wait)


def _stay_with_http1() -> None:
    """Ignore `Upgrade: h2c`, as AWS does: a client that does not switch would wait for ever."""
    check = _http1.H11Protocol._check_protocol

    async def check_protocol(self: Any, request: Any) -> None:
        upgrades = [value.strip().lower() for name, value in request.headers if name.lower() == b"upgrade"]
        if b"h2c" not in upgrades:
            await check(self, request)

    _http1.H11Protocol._check_protocol = check_protocol


def _close_with_clients() -> None:
    """Close a connection when its client does: Hypercorn would keep it for the whole keep-alive time."""
    read = _connections.TCPServer._read_data

    async def read_data(self: Any) -> None:
        await read(self)
        await self.idle_task.stop()

    _connections.TCPServer._read_data = read_data


UNREACHABLE: Answer = (503, {"x-slipway-unreachable": "true"}, b"")  # closes the connection, without an answer


def _close_what_is_unreachable() -> None:
    """Close the connection of a request that is answered by UNREACHABLE: its caller has no way to the service."""
    send = _streams.HTTPStream.app_send

    async def app_send(self: Any, message: Any) -> None:
        starts = message is not None and message["type"] == "http.response.start"
        if starts and any(name.lower() == b"x-slipway-unreachable" for name, _ in message["headers"]):
            self.closed = self.is_cut = True
            await self.send(_streams.StreamClosed(stream_id=self.stream_id))
        elif not getattr(self, "is_cut", False):
            await send(self, message)

    _streams.HTTPStream.app_send = app_send


_stay_with_http1()
_close_with_clients()
_close_what_is_unreachable()


def own_endpoint_url() -> str:
    return f"http://127.0.0.1:{_app._resolve_port()}"


def account_id() -> str:
    """The account of the current request."""
    return str(_responses.get_account_id())


def region() -> str:
    """The region of the current request."""
    return str(_responses.get_region())


def scope(account: str, region_name: str) -> contextlib.AbstractContextManager[None]:
    """A context in which code outside a request acts for an account and a region."""
    context: contextlib.AbstractContextManager[None] = _responses.request_scope(account, region_name)
    return context


def scoped_store() -> Any:
    """A dict with separate content for each account and region."""
    return _responses.AccountRegionScopedDict()


def in_all_scopes(store: Any) -> list[tuple[str, str, Any]]:
    """Every value of a scoped store with its account and region."""
    return [(account, region, value) for (account, region, _), value in store.all_items()]


async def off_loop(function: Callable[..., Any], *args: Any) -> Any:
    """Run blocking work on its own thread, in the request's account and region."""
    return await _concurrency.run_reentrant(function, *args)


def in_background(function: Callable[..., Any], *args: Any, name: str) -> None:
    """Start work on its own thread, in the current account and region; exceptions are logged."""
    _concurrency.spawn_background(function, *args, thread_name=name)


def on_loop(work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
    """Run a coroutine on the event loop, outside the context of the current request, its account and its stack."""
    return contextvars.Context().run(asyncio.run_coroutine_threadsafe, work, _loop)


_commands: dict[tuple[str, str], Callable[[Any], Any]] = {}


def register_view(path: str, view: Callable[[], Any]) -> None:
    """Answer GET `path`, which AWS does not have, with the view's value as JSON, to callers on this machine only."""
    register_command("GET", path, lambda _: view())


def register_command(method: str, path: str, command: Callable[[Any], Any]) -> None:
    """Like `register_view`; the command, which may be a coroutine function, gets the JSON of the body, or None.

    A ValueError becomes a 400.
    """
    _commands[method, path] = command


def _serve_commands() -> None:
    handle = _app._handle_post_body_shortcuts

    async def handle_post_body_shortcuts(method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        if (method, path) in _commands and _responses.get_request_client_ip() == "127.0.0.1":
            status, answer = await _answer_command(_commands[method, path], body)
            return status, {"Content-Type": "application/json"}, json.dumps(answer).encode()
        return await handle(method, path, headers, body, *rest)

    _app._handle_post_body_shortcuts = handle_post_body_shortcuts


async def _answer_command(command: Callable[[Any], Any], body: bytes) -> tuple[int, Any]:
    try:
        answer = command(json.loads(body) if body else None)
        return 200, await answer if inspect.isawaitable(answer) else answer
    except ValueError as error:
        return 400, {"message": str(error)}


_serve_commands()


async def _advance(request: dict[str, float]) -> dict[str, float]:
    """Put the cloud's clock forward by `seconds`."""
    await clock.advance(float(request["seconds"]))
    _concurrency.esm_wake.set()
    return {"now": clock.now()}


def _keep_credentials_on_the_clock_of_the_machine() -> None:
    for module in ("ministack.core.iam_evaluator", "ministack.core.lambda_runtime", "ministack.services.sts"):
        internals(module, "time").time = clock.MACHINE


def _date_answers_by_the_clock_of_the_machine() -> None:
    """Date answers by the machine's clock: AWS's JavaScript SDK, which the CDK uses, signs by the Date it receives."""
    _app.formatdate = lambda usegmt: formatdate(clock.MACHINE.time(), usegmt=usegmt)


_keep_credentials_on_the_clock_of_the_machine()
_date_answers_by_the_clock_of_the_machine()
register_command("POST", "/_slipway/clock", _advance)
register_view("/_slipway/clock", lambda: {"now": clock.now(), "is_awaited": clock.is_awaited()})
