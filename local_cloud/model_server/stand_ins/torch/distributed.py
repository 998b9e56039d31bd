"""Collectives between the ranks of one machine, over the loopback. All ranks must take part."""

import os
import time
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

_KEY = b"slipway"
_peers: list[Connection] = []  # rank 0 has a connection to each other rank; the others have one to rank 0
_rank: int | None = None


def init_process_group(backend: str | None = None) -> None:
    """Connect the ranks; waits for all of them. Raises KeyError outside a launcher."""
    global _rank
    _rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if _rank:
        _peers.append(_connect(address))
    else:
        with Listener(address, backlog=world, authkey=_KEY) as listener:
            _peers.extend(listener.accept() for _ in range(world - 1))


def _connect(address: tuple[str, int]) -> Any:
    while True:
        try:
            return Client(address, authkey=_KEY)
        except ConnectionRefusedError:
            time.sleep(0.05)  # rank 0 does not listen yet


def barrier() -> None:
    """Wait until every rank calls this."""
    _demand_group()
    if _rank == 0:
        for peer in _peers:
            peer.recv()
        broadcast_object_list([None])
    else:
        _peers[0].send(None)
        broadcast_object_list([None])


def broadcast_object_list(objects: list[Any], src: int = 0) -> None:
    """Replace the objects in every rank's list by those of rank 0."""
    _demand_group()
    assert src == 0, "only rank 0 sends here"
    if _rank == 0:
        for peer in _peers:
            peer.send(list(objects))
    else:
        objects[:] = _peers[0].recv()


def _demand_group() -> None:
    if _rank is None:
        raise RuntimeError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
