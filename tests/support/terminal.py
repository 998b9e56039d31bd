"""Runs `slipway` in a terminal, and reads what it shows."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from support.patience import PATIENCE_IN_SECONDS
from support.repository import ROOT

_LINES_AND_COLUMNS = 50, 120
_FIRST_LINE = "\x1b[H"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A process of `slipway` on a terminal of its own. text: what it has shown, without control sequences."""

    def __init__(self, *arguments: str, environment: Mapping[str, str]) -> None:
        self.text = ""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *_LINES_AND_COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "slipway", *arguments],
            cwd=ROOT,
            env={**os.environ, **environment, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # Ctrl-C goes to the process of this terminal
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def wait_for(self, text: str) -> None:
        """Read until the text was shown; fails if it never comes."""
        self.wait_until(lambda shown: text in shown, repr(text))

    def wait_until(self, is_there: Callable[[str], bool], awaited: str) -> None:
        """Read until that is true of all that was shown; fails if it never is. awaited: in words."""
        deadline = time.monotonic() + PATIENCE_IN_SECONDS
        while not is_there(self.text):
            assert self._read(), f"it ended without {awaited}: {self.text[-3000:]}"
            assert time.monotonic() < deadline, f"{awaited} never came: {self.text[-3000:]}"

    def forget(self) -> None:
        """Forget what was shown until now."""
        while select.select([self._ours], [], [], 0)[0] and self._read():
            pass
        self.text = ""

    def end_with_ctrl_c(self) -> int:
        """Type Ctrl-C and return the exit status."""
        os.write(self._ours, b"\x03")
        return self._end()

    def end_with_sigterm(self) -> int:
        """Send SIGTERM and return the exit status."""
        self._process.terminate()
        return self._end()

    def _end(self) -> int:
        while self._read():
            pass
        return self._process.wait(PATIENCE_IN_SECONDS)

    def _read(self) -> bool:
        """Read what is there; False = the process has closed the terminal."""
        if select.select([self._ours], [], [], 1)[0]:
            with contextlib.suppress(OSError):  # Linux reports a closed terminal so
                if part := os.read(self._ours, 65536):
                    shown = part.decode(errors="replace").replace(_FIRST_LINE, "\n").replace("\r", "")
                    self.text += _CONTROL.sub("", shown)
                    return True
            return False
        return True
