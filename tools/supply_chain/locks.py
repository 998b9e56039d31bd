"""The locks of the repository: every package that is installed anywhere, with its version and its hashes."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHIPPED = (  # installed by users, in their containers and on their machines
    *("requirements.txt", "package-lock.json", "constructs/llm_hosting/api/layer/requirements.txt"),
    *("local_cloud/requirements.txt", "local_cloud/requirements-models.txt"),
    *("model_src/machine/requirements.txt", "model_src/machine/torch.txt"),
    *(f"model_src/{handler}/requirements.txt" for handler in ("deepspeed", "fastertransformer", "transformers")),
)
TOOLS = ("requirements-dev.txt", "docs/requirements.txt", "tools/supply_chain/requirements.txt")
TESTED_WITH = (  # programs that call the API in tests, and engines that tests compare with
    *("tests/clients/requirements.txt", "tests/clients/requirements-litellm.txt", "tests/clients/package-lock.json"),
    *("tests/models/requirements.txt", "tests/security/requirements.txt"),
)


@dataclass(frozen=True)
class Package:
    """One package at one version.

    kind: `pypi` or `npm`. hashes: SHA-256 of each file of a Python package, or SHA-512 of an npm package, in hex.
    needed_by: names of the packages that need it. is_direct: we ask for it ourselves. licence: as npm's lock states it.
    """

    kind: str
    name: str
    version: str
    hashes: tuple[str, ...]
    needed_by: tuple[str, ...] = ()
    is_direct: bool = True
    licence: str | None = None


def packages(lock: str) -> list[Package]:
    """Return the packages of a lock, by its path in the repository."""
    return list(_of_npm(lock) if lock.endswith(".json") else _of_python(lock))


def plain_name(name: str) -> str:
    """Return the one spelling of a Python package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _of_python(lock: str) -> Iterator[Package]:
    """Read what `uv pip compile` wrote: a line for each package, then its hashes, then who needs it."""
    text = (ROOT / lock).read_text()
    for entry in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]:
        name, version = re.match(r"([\w.-]+)(?:\[[\w,-]*\])?==([^\s;\\]+)", entry).groups()  # type: ignore[union-attr]
        needed_by = re.findall(r"^ +# (?:via)? *([\w.-]+)(?:\[[\w,-]*\])?$", entry, re.MULTILINE)
        yield Package(
            "pypi",
            plain_name(name),
            version,
            tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)),
            tuple(plain_name(each) for each in needed_by),
            is_direct=not needed_by or bool(re.search(r"^ +# .*(-r |\(pyproject\.toml\))", entry, re.MULTILINE)),
        )


def _of_npm(lock: str) -> Iterator[Package]:
    for path, found in json.loads((ROOT / lock).read_text())["packages"].items():
        if path:
            digest = base64.b64decode(found["integrity"].removeprefix("sha512-")).hex()
            yield Package(
                "npm", path.rpartition("node_modules/")[2], found["version"], (digest,), licence=found["license"]
            )
