"""The process of one rank of a handler.

`python -m local_cloud.model_server.djl.rank_process <folder> <socket>` does as djl_python_engine.py of djl-serving
does: it imports the handler, gives it properties and requests, and reports its failures.
"""

import importlib.util
import logging
import os
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from local_cloud.model_server.djl.messages import RankReply, RankRequest

STAND_INS = Path(__file__).parents[1] / "stand_ins"


def main(folder: str, descriptor: int) -> None:
    """Serve until the server closes the connection. Exits with 1 if the handler cannot be imported or warmed up."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    rank = f"[rank {os.environ['RANK']}] " if "RANK" in os.environ else ""
    logging.basicConfig(stream=sys.stdout, format=f"{rank}%(message)s", level=logging.INFO)
    # If transformers is installed, the real libraries come before the stand-ins.
    sys.path.insert(0 if importlib.util.find_spec("transformers") is None else len(sys.path), str(STAND_INS))
    sys.path.insert(0, folder)
    connection = Connection(descriptor)
    try:
        handler = importlib.import_module("model")
    except Exception as error:
        logging.exception("Python engine process died")
        connection.send(RankReply(424, error=f"{type(error).__name__}: {error}"))
        sys.exit(1)
    while True:
        try:
            request: RankRequest = connection.recv()
        except EOFError:
            return
        reply = _reply(handler, request, folder)
        connection.send(reply)
        if request.content is None and reply.status >= 300:
            sys.exit(1)


def _reply(handler: Any, request: RankRequest, folder: str) -> RankReply:
    from djl_python import Input, Output

    inputs = Input({**request.properties, "model_dir": folder}, request.content)
    reason = ""
    try:
        output = handler.handle(inputs)
    except Exception as error:
        logging.exception("Failed invoke service.invoke_handler()")
        status = 507 if type(error).__name__ in ("OutOfMemoryError", "MemoryError") else 424
        output = Output().error(str(error), code=status)
        reason = f"{type(error).__name__}: {error}"
    if output is None:
        return RankReply(204)
    if not isinstance(output, Output):
        output = Output().error(f"Invalid output type: {type(output)}")
    body = b"".join(content for _, content in output.content)
    if output.code >= 300:
        reason = reason or " ".join(body.decode("utf-8", errors="replace").split())
    return RankReply(output.code, body, output.properties, reason)


def _exit_with_parent() -> None:
    # The server holds the other end of standard input; a rank that waits in a collective notices nothing else.
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
