"""Draws the diagrams of docs/pictures/ (`make pictures`), or records commands and the playground."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Source roots, like `src/`.
sys.path += [str(ROOT / "constructs"), str(ROOT / "lambda_src"), str(ROOT / "tests")]

from local_cloud.assembly import read_stacks, synthesize
from tools.pictures import job_life, load_test, memory, playground, recording, stack

STACK = "qwen3-4b"


def main() -> None:
    """Write the pictures that are asked for; without names, those that need no run of anything but a synth."""
    pictures: dict[str, Callable[[], str | bytes]] = {
        "stack": lambda: stack.picture(STACK, read_stacks(synthesize([STACK]))[0].template),
        "job-life": job_life.picture,
        "memory": memory.picture,
        "make-local": lambda: recording.local(ROOT),
        "make-test": lambda: recording.test(ROOT),
        "report": load_test.screenshot,
        "playground-light": lambda: playground.screenshot(ROOT, "light", 1120, 820),
        "playground-dark": lambda: playground.screenshot(ROOT, "dark", 360, 780),
    }
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*pictures, []], metavar="name", help=", ".join(pictures))
    for name in parser.parse_args().names or ("stack", "job-life", "memory"):
        picture = pictures[name]()
        path = ROOT / "docs" / "pictures" / f"{name}.{'svg' if isinstance(picture, str) else 'png'}"
        path.write_bytes(picture.encode() if isinstance(picture, str) else picture)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
