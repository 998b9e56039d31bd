"""Asks advisory services for known faults of every locked package: PyPI's by pip-audit, npm's by `npm audit`."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .locks import ROOT, SHIPPED, TESTED_WITH, TOOLS, packages

# Packages with known faults that stay, each with the reason.
ACCEPTED = {
    ("urllib3", "1.26.20"): "the last one for Python 3.8 of old images; only boto3 uses it there, for weights in S3",
}


class NotAskedError(Exception):
    """A service gave no answer, so nothing is known; the message says which and why."""


def audit(pip_audit: Sequence[str] = (), npm: Sequence[str] = ()) -> int:
    """Print what is known. Returns 0 without findings, 1 with some, 2 if a service could not be asked.

    pip_audit, npm: more arguments of the two programs.
    """
    status = 0
    for findings in (of_python(pip_audit), of_npm(npm)):
        try:
            for finding in findings:
                print(finding)
                status = 1
        except NotAskedError as error:
            print(f"NOT CHECKED: {error}", file=sys.stderr)
            status = status or 2
    if not status:
        print("No package of the locks has a known fault, beside the accepted ones.")
    return status


def of_python(arguments: Sequence[str]) -> Iterator[str]:
    """Yield a line for each known fault of a Python package. Raises NotAskedError."""
    locks: dict[tuple[str, str], list[str]] = {}
    for lock in (each for each in SHIPPED + TOOLS + TESTED_WITH if each.endswith(".txt")):
        for package in packages(lock):
            locks.setdefault((package.name, package.version.partition("+")[0]), []).append(lock)
    for asked in _rounds(locks):
        for each in _pip_audit(asked, arguments):
            for fault in each["vulns"] if (each["name"], each["version"]) not in ACCEPTED else ():
                mended, used_in = fault["fix_versions"] or ["none yet"], locks[each["name"], each["version"]]
                yield (
                    f"{each['name']} {each['version']} has {fault['id']}; "
                    f"fixed in: {', '.join(mended)}; in {', '.join(used_in)}"
                )


def _rounds(versions: Iterable[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Yield the versions by name; a name with several versions is in as many rounds, for pip-audit takes it once."""
    left = list(versions)
    while left:
        yield (once := dict(left))
        left = [(name, version) for name, version in left if once[name] != version]


def _pip_audit(asked: Mapping[str, str], arguments: Sequence[str]) -> list[dict[str, Any]]:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"{name}=={version}\n" for name, version in asked.items())
        file.flush()
        command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner", "off"]
        command += ["--format", "json", "--requirement", file.name, *arguments]
        said = subprocess.run(command, capture_output=True, text=True)
    found: list[dict[str, Any]] = _json(said, "pip-audit")["dependencies"]
    if skipped := [each["skip_reason"] for each in found if "skip_reason" in each]:
        raise NotAskedError(f"pip-audit got no answer for {len(skipped)} of {len(found)} packages: {skipped[0]}.")
    return found


def of_npm(arguments: Sequence[str]) -> Iterator[str]:
    """Yield a line for each package of npm with a known fault. Raises NotAskedError."""
    for lock in (each for each in SHIPPED + TESTED_WITH if each.endswith(".json")):
        command = ["npm", "audit", "--json", "--package-lock-only", *arguments]
        found = _json(subprocess.run(command, cwd=(ROOT / lock).parent, capture_output=True, text=True), "npm audit")
        if "vulnerabilities" not in found:
            raise NotAskedError(f"npm audit got no answer: {found.get('message', found)}.")
        for name, each in found["vulnerabilities"].items():
            yield f"{name} {each['range']}: {each['severity']} ({lock})"


def _json(said: subprocess.CompletedProcess[str], program: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(said.stdout)
    except ValueError:
        last = (said.stderr.strip().splitlines() or ["no output"])[-1]
        raise NotAskedError(f"{program} got no answer: {last}.") from None
    return found
