"""Writes the recordings of docs/pictures/ anew (`make recordings`): commands, the playground and a report."""

import argparse
from collections.abc import Callable
from pathlib import Path

from tools.recordings import load_test, playground, recording

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Write the recordings that are named, or all of them."""
    recordings: dict[str, Callable[[], str | bytes]] = {
        "make-local": lambda: recording.local(ROOT),
        "make-test": lambda: recording.test(ROOT),
        "playground-light": lambda: playground.screenshot(ROOT, "light", 1120, 820),
        "playground-dark": lambda: playground.screenshot(ROOT, "dark", 360, 780),
        "report": load_test.screenshot,
    }
    parser = argparse.ArgumentParser(prog="python -m tools.recordings", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*recordings, []], metavar="name", help=", ".join(recordings))
    for name in parser.parse_args().names or recordings:
        made = recordings[name]()
        path = ROOT / "docs" / "pictures" / f"{name}.{'svg' if isinstance(made, str) else 'png'}"
        path.write_bytes(made.encode() if isinstance(made, str) else made)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
