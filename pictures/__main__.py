"""Draws the diagrams of docs/pictures/ (`make pictures`), or records the two commands of the README."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "lambda_src"))  # a source root, like `src/`

from local_cloud.assembly import read_stacks, synthesize
from pictures import job_life, recording, stack

STACK = "qwen3-4b"


def main() -> None:
    """Write the pictures that are asked for; without names, those that need no run of anything but a synth."""
    pictures: dict[str, Callable[[], str]] = {
        "stack": lambda: stack.picture(STACK, read_stacks(synthesize([STACK]))[0].template),
        "job-life": job_life.picture,
        "make-local": lambda: recording.local(ROOT),
        "make-test": lambda: recording.test(ROOT),
    }
    parser = argparse.ArgumentParser(prog="python -m pictures", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*pictures, []], metavar="name", help=", ".join(pictures))
    for name in parser.parse_args().names or ("stack", "job-life"):
        path = ROOT / "docs" / "pictures" / f"{name}.svg"
        path.write_text(pictures[name]())
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
