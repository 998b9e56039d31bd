"""Fills the tables of engines, rules, deployments, idle time, fields and a report in docs/, between marks."""

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import yaml
from rich.console import Console

from inference_api.responses.fields import FIELDS
from llm_hosting.catalog.engines import ENGINES, Engine, engine
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import build_report
from llm_hosting.preflight.rules.rule import RULES
from llm_hosting.preflight.validation import validate
from llm_hosting.resolution import resolve
from slipway.checking.check_result import CheckResult
from slipway.checking.readable_report import text
from slipway.checking.rule_sentences import rule_sentences
from slipway.reference.deployment_table import deployment_table
from slipway.reference.idle_table import idle_table
from slipway.reference.security_tables import permissions_table, scanners_table, standards_table

_BLOCK = re.compile(r"<!-- made by `make reference`: (?P<name>\w+) -->\n.*?<!-- end -->", re.DOTALL)
_KINDS = {"gpu": "GPU", "cpu": "CPU", "neuron": "Neuron"}
_LEVELS = {"error": "refused", "warning": "warning", "unknown": "unknown", "note": "note"}
_EXAMPLE = """\
model:
  id: Qwen/Qwen2.5-72B-Instruct
serving:
  max_model_len: 16384
  max_new_tokens: 300
hosting:
  instance_type: ml.g6.12xlarge       # 4 x NVIDIA L4
  volume_size_in_gb: 256
"""
_WIDTH = 96
# Settings that have another name in the catalog: their paths in the deployment file.
_SETTINGS = {
    "model": "model.id",
    "served_model_name": "model.id` as the `model` of requests, without `serving.handler",
    "revision": "model.revision",
    "weights": "model.weights",
    "hub_token": "model.hub_token_secret_arn",
    "dtype": "model.dtype",
    "quantization": "model.quantization",
    "task": "model.task",
    "pooling": "model.pooling",
    "tensor_parallel_degree": "serving.tensor_parallel_degree",
    "max_model_len": "serving.max_model_len",
    "max_batch_size": "serving.max_batch_size",
    "max_batch_tokens": "serving.max_batch_tokens",
    "max_batch_delay_in_ms": "serving.max_batch_delay_in_ms",
    "startup_timeout_in_seconds": "hosting.startup_timeout_in_seconds",
    "invocation_timeout_in_seconds": "jobs.invocation_timeout_in_seconds",
}


def filled(page: str, root: Path) -> str:
    """Return the page with every table filled in.

    root: the project. Raises KeyError for a mark that names no table.
    """
    tables = _TABLES | {"deployments": partial(deployment_table, root), "idle": partial(idle_table, root)}

    def block(found: re.Match[str]) -> str:
        lines = "\n".join(tables[found["name"]]())
        return f"<!-- made by `make reference`: {found['name']} -->\n{lines}\n<!-- end -->"

    return _BLOCK.sub(block, page)


def _engines() -> Iterator[str]:
    yield "| Engine | What it is | Runs on | Bodies of requests, and other tasks | |"
    yield "| --- | --- | --- | --- | --- |"
    for known in map(engine, ENGINES):
        versions = known.versions.values()
        runs_on = " or ".join(
            name for kind, name in _KINDS.items() if any(version.platform == kind for version in versions)
        )
        default = known.versions[known.default_version]
        bodies = ", ".join([*(f"`{body}`" for body in default.bodies), *(f"{task}" for task in default.tasks)])
        cells = (f"`{known.name}`", known.title, runs_on or "what yours is built for", bodies, _legacy(known))
        yield f"| {' | '.join(cells)} |"


def _legacy(known: Engine) -> str:
    if known.legacy is None:
        return ""
    reason = known.legacy.reason.rstrip(".")
    return f"**Legacy** since {known.legacy.since}: {reason}. Use `{known.legacy.successor}`."


def _versions() -> Iterator[str]:
    yield "| Engine | Versions, the default in bold, one for each kind of machine |"
    yield "| --- | --- |"
    for known in map(engine, ENGINES):
        if known.name != "custom":
            defaults = (known.default_version, *known.other_defaults)
            labels = (f"**`{label}`**" if label in defaults else f"`{label}`" for label in known.versions)
            yield f"| `{known.name}` | {', '.join(labels)} |"


def _variables() -> Iterator[str]:
    yield "| Setting | Variables of the container |"
    yield "| --- | --- |"
    for name, setting in _SETTINGS.items():
        cells = [f"`{variable}`: {', '.join(readers)}" for variable, readers in _readers(name).items()]
        yield f"| `{setting}` | {'<br>'.join(cells)} |"


def _readers(setting: str) -> dict[str, list[str]]:
    """The engines that read each variable, with the versions if not all of them do."""
    readers: dict[str, list[str]] = {}
    for known in map(engine, ENGINES):
        labels: dict[str, list[str]] = {}
        for label, version in known.versions.items():
            if variable := version.variables.get(setting):
                labels.setdefault(variable.name, []).append(label)
        for name, having in labels.items():
            some = f" ({_range(having, list(known.versions))})" if len(having) < len(known.versions) else ""
            readers.setdefault(name, []).append(f"{known.name}{some}")
    return readers


def _range(having: list[str], labels: list[str]) -> str:
    """A range of versions, such as "to 0.23.0". The catalog lists versions by age, and those of another publisher
    apart.
    """
    first, last = labels.index(having[0]), labels.index(having[-1])
    if last - first + 1 != len(having):
        missing = [label for label in labels if label not in having]
        return f"not {', '.join(missing)}" if len(missing) < len(having) else ", ".join(having)
    if first == 0:
        return f"to {having[-1]}"
    return f"from {having[0]}" if last == len(labels) - 1 else f"{having[0]} to {having[-1]}"


def _formats() -> Iterator[str]:
    yield "| Engine, in its default version | `model.dtype` | `model.quantization` |"
    yield "| --- | --- | --- |"
    for known in map(engine, ENGINES):
        version = known.versions[known.default_version]
        dtypes, quantizations = (
            ", ".join(f"`{value}`" for value in values) or "none" for values in (version.dtypes, version.quantizations)
        )
        yield f"| `{known.name}` | {dtypes} | {quantizations} |"


def _rules() -> Iterator[str]:
    yield "| Rule | Finds | Why |"
    yield "| --- | --- | --- |"
    levels = {rule.id: _LEVELS[rule.level] for rule in RULES}
    for rule, sentence in rule_sentences().items():
        why = sentence.replace("|", "\\|")
        yield f"| `{rule}` | {levels.get(rule, 'by `doctor`')} | {why} |"


def _responses() -> Iterator[str]:
    yield "| Field | Is | |"
    yield "| --- | --- | --- |"
    for name, field in FIELDS.items():
        yield f"| `{name}` | {field.fate} | {field.meaning} |"


def _report() -> Iterator[str]:
    """A file with two mistakes, and the report of `check` on it."""
    resolution = resolve(Deployment.model_validate(yaml.safe_load(_EXAMPLE)))
    result = CheckResult(build_report("chat", resolution, validate(resolution)), resolution)
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, legacy_windows=False)
    yield from ("```yaml", *_EXAMPLE.splitlines(), "```", "", "```console", "$ slipway check chat")
    yield from (*text([result], console).rstrip().splitlines(), "```")


_TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "permissions": permissions_table,
    "scanners": scanners_table,
    "standards": standards_table,
    "engines": _engines,
    "versions": _versions,
    "variables": _variables,
    "formats": _formats,
    "report": _report,
    "responses": _responses,
    "rules": _rules,
}
