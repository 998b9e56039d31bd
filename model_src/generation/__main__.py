"""Serves the model in $SLIPWAY_HOME/model on loopback.

Variables: MODEL_PORT (default 8080), MODEL_ID (the name in answers), MAX_BATCH_SIZE (requests at once, default 4),
MAX_MODEL_LEN (a shorter context than the model's own).
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from pathlib import Path

from .batching import Batching
from .language_model import load
from .server import Server
from .warm_up import warm_up


def main() -> None:
    """Load the model and serve it. Exits with status 1 and one line if the model cannot be loaded."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    server = Server(int(os.environ.get("MODEL_PORT") or 8080))
    threading.Thread(target=server.serve_forever, daemon=True).start()  # /ping says 503 while the model loads
    logging.info("listening on port %d", server.server_port)
    started = time.monotonic()
    folder = Path(os.environ.get("SLIPWAY_HOME") or "/opt/slipway") / "model"
    try:
        model = load(folder, os.environ.get("MODEL_ID", ""), int(os.environ.get("MAX_MODEL_LEN") or 0) or None)
        _, most_tokens = warm_up(model)
    except Exception as error:
        sys.exit(f"The model in {folder} can't be served: {type(error).__name__}: {error}")
    server.serve(Batching(model, int(os.environ.get("MAX_BATCH_SIZE") or 4), most_tokens), model.defaults)
    logging.info("ready after %.1f s; the cache can hold %.0f tokens", time.monotonic() - started, most_tokens)
    threading.Event().wait()


if __name__ == "__main__":
    main()
