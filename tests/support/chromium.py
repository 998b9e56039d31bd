"""The Chromium that tests/browser drives; `python -m support.chromium` installs Debian's where there is none."""

import os
import shutil
import subprocess
import sys

PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")  # without a font, texts are boxes
_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_MISSING = (
    f"The tests in a browser need Chromium: install Debian's {' and '.join(PACKAGES)}, or name one by CHROMIUM=<path>."
)


def find() -> str | None:
    """Path of the browser that the variable CHROMIUM names, else of the first that is installed."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in _NAMES if (path := shutil.which(name))), None)


def demand() -> str:
    """The browser's path. Raises RuntimeError with advice."""
    if (path := find()) is None:
        raise RuntimeError(_MISSING)
    return path


def arguments() -> list[str]:
    """Chromium refuses to run as root with its sandbox."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


def install() -> None:
    """By apt-get, as root or by sudo without a password. Exits with a sentence where that is not possible."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (sudo and not shutil.which("sudo")):
        sys.exit(_MISSING)
    print("installing Chromium", file=sys.stderr)
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        if subprocess.run([*sudo, *quiet, *command], stdout=subprocess.DEVNULL).returncode:
            sys.exit(_MISSING)


if __name__ == "__main__" and find() is None:
    install()
