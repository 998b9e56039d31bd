"""Downloads the model and tries a short answer: setup.sh runs `python -m generation.prepare`.

It reads the variables that weights.py and __main__.py name.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from .language_model import load
from .warm_up import warm_up
from .weights import fetch


def main() -> None:
    """Prints how long each step took. Exits with status 1 and one line if a step fails."""
    home = Path(os.environ.get("SLIPWAY_HOME") or "/opt/slipway")
    model_id = os.environ.get("MODEL_ID", "")
    started = time.monotonic()
    try:
        folder = fetch(home, os.environ)
        fetched = time.monotonic()
        model = load(folder, model_id, int(os.environ.get("MAX_MODEL_LEN") or 0) or None)
        loaded = time.monotonic()
        text, most_tokens = warm_up(model)
    except Exception as error:
        reason = " ".join(str(error).split()) or "no reason given"
        sys.exit(f"The model {model_id} can't be prepared: {type(error).__name__}: {reason}")
    print(f"downloaded in {fetched - started:.1f} s, loaded in {loaded - fetched:.1f} s")
    print(f"answered in {time.monotonic() - loaded:.1f} s: {text!r}; the cache can hold {most_tokens:,.0f} tokens")


if __name__ == "__main__":
    main()
