"""Reads systemd's unit files, as far as the services of a machine use them."""

import os
import re
import shlex
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_SPAN = re.compile(r"([0-9.]+)\s*(ms|s|sec|min|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, None: 1.0}


class UnitError(Exception):
    """A unit that cannot be read or started; the message is for the caller of systemctl."""


@dataclass(frozen=True)
class UnitFile:
    """The settings of a unit: (section, key) -> values in the file's order."""

    path: Path
    settings: dict[tuple[str, str], list[str]]

    @classmethod
    def read(cls, path: Path) -> "UnitFile":
        """Read a unit file. Raises UnitError for a line that systemd cannot read."""
        settings: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        section = ""
        for line in re.sub(r"\\\n\s*", " ", path.read_text()).splitlines():
            line = line.strip()
            if line.startswith("[") and line.endswith("]"):
                section = line[1:-1]
            elif line and line[0] not in "#;":
                key, separator, value = line.partition("=")
                if not separator or not section:
                    raise UnitError(f"{path.name}: not a setting: {line}")
                settings[section, key.strip()].append(value.strip())
        return cls(path, dict(settings))

    def text(self, section: str, key: str, default: str = "") -> str:
        """The last value of a setting."""
        return self.settings.get((section, key), [default])[-1]

    def seconds(self, section: str, key: str, default: float) -> float:
        given = self.text(section, key)
        if not given:
            return default
        return sum(float(number) * _SECONDS[unit or None] for number, unit in _SPAN.findall(given))

    @property
    def is_enabled_by_target(self) -> bool:
        return bool(self.text("Install", "WantedBy"))

    def environment(self, outer: dict[str, str]) -> dict[str, str]:
        """The service's variables: the machine's, Environment=, EnvironmentFile= (one with `-` may be missing)."""
        found = dict(outer)
        for line in self.settings.get(("Service", "Environment"), []):
            found |= dict(word.split("=", 1) for word in shlex.split(line))
        for name in self.settings.get(("Service", "EnvironmentFile"), []):
            file = Path(name.removeprefix("-"))
            if file.is_file():
                found |= _variables(file.read_text())
            elif not name.startswith("-"):
                raise UnitError(f"{self.path.name}: Failed to load environment files: no file {file}")
        return found

    def commands(self, key: str, environment: dict[str, str]) -> list[list[str]]:
        """The command lines of a setting such as ExecStart=, with variables filled in, without prefix `-` or `+`."""
        lines = []
        for line in self.settings.get(("Service", key), []):
            words = [_filled(word, environment) for word in shlex.split(line.lstrip("-+"))]
            if not words or not os.path.isabs(words[0]):
                raise UnitError(f"{self.path.name}: {key} needs the absolute path of a program: {line}")
            lines.append(words)
        return lines


def _variables(text: str) -> dict[str, str]:
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.split("=", 1) for line in lines if "=" in line and line[0] not in "#;")
    return {name.strip(): "".join(shlex.split(value)) if value[:1] in "'\"" else value for name, value in pairs}


def _filled(word: str, environment: dict[str, str]) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda match: environment.get(match[1], ""), word)
