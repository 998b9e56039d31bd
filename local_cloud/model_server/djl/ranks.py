"""The processes of one handler: starts, asks and ends them together, as mpirun does for DJL."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from local_cloud.interpreters.start import command
from local_cloud.model_server.djl.messages import RankReply, RankRequest

_LAST_WORDS_IN_SECONDS = 3


class LoadError(Exception):
    """A rank could not load the model; the message says which one and why."""


class LostError(Exception):
    """A rank ended, or did not answer in time."""


class Ranks:
    """One process for each rank; one process without a rank if `count` is None."""

    def __init__(self, folder: Path, environment: Mapping[str, str], count: int | None) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self._connections: list[Connection] = []
        port = _free_port()
        for rank in range(count or 1):
            launcher = _launcher_variables(rank, count, port) if count else {}
            self._start(folder, {**environment, **launcher})

    def _start(self, folder: Path, environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                command("local_cloud.model_server.djl.rank_process", str(folder), str(theirs.fileno())),
                env=environment,
                stdin=subprocess.PIPE,  # it closes when the server ends
                pass_fds=[theirs.fileno()],
            )
        self.processes.append(process)
        self._connections.append(Connection(ours.detach()))

    def load(self, properties: dict[str, Any], timeout_in_seconds: float) -> None:
        """Make the warm-up call in every rank. Raises LoadError with the first failure, once all ranks have ended."""
        try:
            replies = self._call(RankRequest(properties), timeout_in_seconds, until_failure=True)
        except LostError as error:
            self.stop()
            raise LoadError(str(error)) from error
        failed = [(rank, reply.error) for rank, reply in replies.items() if reply.status >= 300]
        if failed:
            self._wait_for_ends(_LAST_WORDS_IN_SECONDS)
            self.stop()
            rank, reason = failed[0]
            raise LoadError(f"rank {rank}: {reason}" if len(self.processes) > 1 else reason)

    def ask(self, properties: dict[str, Any], content: bytes, timeout_in_seconds: float) -> RankReply:
        """The first rank's answer, after all have answered. Raises LostError after ending the ranks."""
        try:
            return self._call(RankRequest(properties, content), timeout_in_seconds)[0]
        except LostError:
            self.stop()
            raise

    def _call(
        self, request: RankRequest, timeout_in_seconds: float, *, until_failure: bool = False
    ) -> dict[int, RankReply]:
        """The replies by rank; with `until_failure`, only those up to the first failure."""
        deadline = time.monotonic() + timeout_in_seconds
        replies: dict[int, RankReply] = {}
        try:
            for connection in self._connections:
                connection.send(request)
            while len(replies) < len(self._connections):
                awaited = {each: rank for rank, each in enumerate(self._connections) if rank not in replies}
                ready = set(wait(list(awaited), max(deadline - time.monotonic(), 0)))
                if not ready:
                    raise LostError(f"no answer within {timeout_in_seconds:g} s")
                replies |= {rank: each.recv() for each, rank in awaited.items() if each in ready}
                if until_failure and any(reply.status >= 300 for reply in replies.values()):
                    break
        except (EOFError, OSError) as error:
            raise LostError("Python worker disconnected.") from error
        return replies

    def stop(self) -> None:
        """End every rank that has not ended."""
        for process, connection in zip(self.processes, self._connections, strict=True):
            connection.close()
            process.terminate()
        self._wait_for_ends(2)
        for process in self.processes:
            process.kill()
            process.wait()
            assert process.stdin
            process.stdin.close()

    def _wait_for_ends(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0))


def _launcher_variables(rank: int, count: int, port: int) -> dict[str, str]:
    """The variables that mpirun and DJL's Connection.java set for each process."""
    return {
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
        "OMPI_COMM_WORLD_SIZE": str(count),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
