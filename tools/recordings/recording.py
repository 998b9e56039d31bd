"""Records commands as SVG: each line of their real output appears at the time at which it came."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

COLUMNS, ROWS, LINE, LETTER = 120, 44, 17, 7.83  # characters, lines, pixels of a line, pixels of a letter
BAR, MARGIN = 34, 14
LONGEST_IN_SECONDS = 20
READY = "Ctrl-C stops it."
GOOD = " good"
# Set-up is not recorded: the environments exist already.
MAKE = (
    "make",
    "--no-print-directory",
    *(f"--assume-old={name}/.ready" for name in (".venv", ".venv-cloud", "node_modules")),
)
SECRETS = (
    (re.compile(r"AKIA[0-9A-Z]{8,}"), "AKIA..."),
    (re.compile(r"(AWS_SECRET_ACCESS_KEY=|AWS_SESSION_TOKEN=|--user AKIA\.\.\.:)['\"]?[^\s'\"]+['\"]?"), r"\1..."),
)
STYLE = """\
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.bar { fill: #151b23; } .page { fill: #0d1117; stroke: #3d444d; } text { fill: #d1d7e0; }
.quiet { fill: #9198a1; } .typed { fill: #4493f8; font-weight: 600; } .good { fill: #3fb950; }"""
ANIMATION = """\
@media (prefers-reduced-motion: no-preference) {{
.line {{ animation: appear 1ms step-end both; }}
@keyframes appear {{ from {{ visibility: hidden; }} to {{ visibility: visible; }} }}
.screen {{ animation: scroll {seconds:g}s step-end both; }}
@keyframes scroll {{ {steps} }}
}}"""


class Line(NamedTuple):
    """One row of the screen, the second at which it came, and its CSS class."""

    seconds: float
    text: str
    kind: str


@dataclass
class Recording:
    """The lines of commands, timed from the start of the first command."""

    root: Path
    lines: list[Line] = field(default_factory=list)
    start: float = field(default_factory=time.monotonic)

    @contextmanager
    def command(self, typed: str, *command: str) -> Iterator[Iterator[str]]:
        """Run a command and record each line as it is read. A command that still runs at the end is stopped."""
        self.add(f"$ {typed}")
        environment = os.environ | {"COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout
            try:
                yield map(self.add, process.stdout)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)

    def add(self, line: str) -> str:
        """Record a line without secrets or paths of this machine, folded at the screen's width; return it as it is."""
        text = line.rstrip("\n")
        for secret, shown in SECRETS:
            text = secret.sub(shown, text)
        text = text.replace(str(self.root), "slipway").replace(str(Path.home()), "~")
        seconds = time.monotonic() - self.start
        for first in range(0, max(len(text), 1), COLUMNS):
            self.lines.append(Line(seconds, text[first : first + COLUMNS], _kind(text)))
        return line

    def svg(self, name: str) -> str:
        """The final screen. Where the reader allows animations, the lines appear within 20 seconds at most."""
        whole = self.lines[-1].seconds
        speed = max(whole / LONGEST_IN_SECONDS, 1)
        rows = min(len(self.lines), ROWS)
        width, height = round(COLUMNS * LETTER) + 2 * MARGIN, BAR + rows * LINE + 2 * MARGIN
        top, up = BAR + MARGIN, (len(self.lines) - rows) * LINE
        texts = [
            f'<text class="line{kind}" style="animation-delay:{seconds / speed:.2f}s" x="{MARGIN}"'
            f' y="{BAR + MARGIN + LINE * index + 13}">{escape(text)}</text>'
            for index, (seconds, text, kind) in enumerate(self.lines)
            if text
        ]
        told = f"{whole:.0f} seconds" + (f", shown {speed:.0f} times as fast" if speed > 1.5 else "")
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
                f' height="{height}" xml:space="preserve" role="img" aria-labelledby="name">',
                f'<title id="name">{escape(name)}</title>',
                f"<style>\n{STYLE}\n{self._animation(rows, speed)}\n</style>",
                f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
                f'<rect class="bar" x="1" y="1" width="{width - 2}" height="{BAR - 2}" rx="8"/>',
                f'<text class="quiet" x="{MARGIN}" y="22">{escape(name)}</text>',
                f'<text class="quiet" x="{width - MARGIN}" y="22" text-anchor="end">{told}</text>',
                f'<svg y="{top}" width="{width}" height="{height - top}" viewBox="0 {top} {width} {height - top}">',
                f'<g class="screen" transform="translate(0 {-up})">',
                *texts,
                "</g>\n</svg>\n</svg>\n",
            ]
        )

    def _animation(self, rows: int, speed: float) -> str:
        """CSS that shows each line at its time and scrolls a full screen."""
        seconds = max(self.lines[-1].seconds / speed, 0.01)
        steps = {0.0: 0}
        for index, line in enumerate(self.lines[rows:], 1):
            steps[round(line.seconds / speed / seconds * 100, 1)] = -index * LINE
        steps[100.0] = -(len(self.lines) - rows) * LINE
        moves = " ".join(f"{share:g}% {{ transform: translateY({y}px); }}" for share, y in sorted(steps.items()))
        return ANIMATION.format(seconds=round(seconds, 2), steps=moves)


def _kind(text: str) -> str:
    if text.startswith(("$ ", "# ")):
        return " typed" if text.startswith("$") else " quiet"
    return GOOD if re.search(r"\d passed\b(?!.*failed)|^  answer  ", text) else ""


def local(root: Path) -> str:
    """Record a first `make local`, and the first curl command that it prints."""
    shutil.rmtree(root / "cdk.out" / "local", ignore_errors=True)
    recording = Recording(root)
    with recording.command("make local", *MAKE, "local") as lines:
        printed = list(takewhile(lambda line: line.strip() != READY, lines))
        request = next(line.strip() for line in printed if line.startswith("curl "))
        recording.add("# in another terminal")
        with recording.command(request, "bash", "-c", request) as answer:
            deque(answer, maxlen=0)
    return recording.svg("make local")


def test(root: Path) -> str:
    """Record `make test`. Raises ValueError with the last lines if a test failed."""
    recording = Recording(root)
    chosen = os.environ.get("PYTEST_ADDOPTS")
    typed = f"PYTEST_ADDOPTS={shlex.quote(chosen)} make test" if chosen else "make test"
    with recording.command(typed, *MAKE, "test") as lines:
        deque(lines, maxlen=0)
    if recording.lines[-1].kind != GOOD:
        raise ValueError("\n".join(line.text for line in recording.lines[-ROWS:]))
    return recording.svg(typed)
