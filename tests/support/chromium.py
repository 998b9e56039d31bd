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
    """Return the path of the browser that CHROMIUM names; without that variable, of the first installed one."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in _NAMES if (path := shutil.which(name))), None)


def demand() -> str:
    """Return the browser's path; raise RuntimeError with advice if there is none."""
    if (path := find()) is None:
        raise RuntimeError(_MISSING)
    return path


def arguments() -> list[str]:
    """Return Chromium's arguments: as root it runs only without its sandbox."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


def install() -> None:
    """Install Chromium with apt-get, as root or with a sudo that needs no password; exit with a sentence otherwise."""
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
