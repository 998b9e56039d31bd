"""Shows the reports of a check to people: verdict, problems and fixes, figures, and open questions."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from llm_hosting.catalog.instances import types_for
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.hosting import Hosting
from llm_hosting.preflight.report import NOT_CHECKED, Figures, Report
from slipway.checking.check_result import CheckResult
from slipway.checking.memory_bar import legend, memory_bar
from slipway.checking.rule_sentences import rule_sentences
from slipway.checking.shown_figures import rows

_LABELS = {"error": "refused", "warning": "warning", "unknown": "unknown", "note": "note"}
_VERDICT_STYLES = {
    "ready": "bold black on green",
    "refused": "bold white on red",
    "not checked": "bold black on yellow",
    "not asked": "bold black on cyan",
}
_STYLES = {"error": "bold red", "warning": "bold yellow", "unknown": "bold cyan", "note": "dim", "ok": "green"}
_LABEL_WIDTH = 10
_ASKED = {line.partition(":")[0] for line in NOT_CHECKED}
_WIDEST_BAR = 48
_WORD = re.compile(r"[\w.-]*\w")  # also the name of an instance type


def page(results: Sequence[CheckResult], *, verbose: bool) -> str:
    """Render the reports for standard output. Uses colour on a terminal only, and only characters that the output can
    show.
    """
    encoding = sys.stdout.encoding or "ascii"
    said = text(results, Console(highlight=False), verbose=verbose)
    return said.encode(encoding, "backslashreplace").decode(encoding)


def text(results: Sequence[CheckResult], console: Console, *, verbose: bool = False) -> str:
    """Render one report after the other, as wide as the console, with a summary line if there are several.

    verbose: list all rules, not only those with a finding.
    """
    with console.capture() as captured:
        for result in results:
            console.print(_report(result, console, verbose=verbose))
        if len(results) > 1:
            console.print(_sum(results))
    # rich pads the last column of a table with blanks.
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _report(result: CheckResult, console: Console, *, verbose: bool) -> RenderableType:
    report, deployment = result.report, result.deployment
    parts: list[RenderableType] = [_title(report, deployment)]
    if deployment:
        parts.append(_grid([*_setting(report, deployment), *_overlay(report, console)]))
    parts += [_grid(_verdicts(report, deployment, console)), Text()]
    if deployment and report.figures:
        parts += [_figures(report, deployment, console), Text()]
    if rest := list(_rest(report, deployment, verbose=verbose)):
        parts += [_grid(rest), Text()]
    return Group(*parts)


def _title(report: Report, deployment: Deployment | None) -> Text:
    verdict = (f" {report.verdict.upper()} ", _VERDICT_STYLES[report.verdict])
    title = Text.assemble(verdict, (f" {report.name}", "bold"))
    if deployment:
        version = report.version or deployment.serving.version or ""
        own = ", own image" if deployment.serving.image_uri else f" {version}"
        title.append(f": {report.model} on {deployment.serving.engine}{own}")
    return title


def _setting(report: Report, deployment: Deployment) -> Iterator[tuple[Text, RenderableType]]:
    hosting = deployment.hosting
    least, most = deployment.least_instances, deployment.instance_count.max
    counts = f"{least} to {most}" if least < most else str(least)
    yield Text("image"), Text(report.image)
    yield Text("facts"), Text(report.facts)
    if report.yours:
        yield Text("yours"), Text(", ".join(report.yours))
    region = deployment.region or (f"only {report.only_in}" if report.only_in else "any region")
    yield Text("instance"), Text(f"{counts} x {', else '.join(hosting.instance_types)}; {hosting.mode}, {region}")
    if report.endpoint:
        yield Text("endpoint"), Text(report.endpoint)
    if report.host_image:
        yield Text("host image"), Text(report.host_image)
    if report.legacy:
        yield Text("legacy"), Text(report.legacy)


def _overlay(report: Report, console: Console) -> Iterator[tuple[Text, RenderableType]]:
    """Yield the settings that an overlay changes, beside the base's values."""
    arrow = "->" if console.options.ascii_only else "→"
    if report.extends:
        yield Text("overlay"), Text(f"of {report.extends}{'' if report.sets else ', and sets nothing'}")
    for each in report.sets:
        base, value = (json.dumps(of, ensure_ascii=False) for of in (each.base, each.value))
        change = f"{value}, as the base" if base == value else f"{base} {arrow} {value}"
        yield Text(), Text(f"{each.field}: {change}")


def _verdicts(report: Report, deployment: Deployment | None, console: Console) -> Iterator[tuple[Text, RenderableType]]:
    """The findings, with a blank line before each; notes are not separated."""
    arrow = "->" if console.options.ascii_only else "→"
    said = [finding for finding in report.findings if finding.level != "note"]
    for finding in said:
        yield Text(), Text()
        yield Text(_LABELS[finding.level], _STYLES[finding.level]), Text(finding.rule, "bold")
        yield Text(), _sentence(finding, arrow)
    fixes = [finding.fix for finding in said if finding.level == "error"]
    if deployment and report.suitable_type and not _names_type(fixes, deployment.hosting):
        yield Text(), Text()
        words = f"{report.suitable_type}: the cheapest type that no rule refuses; --recommend lists others"
        yield Text("instead", _STYLES["ok"]), Text(words)
    for position, finding in enumerate(finding for finding in report.findings if finding.level == "note"):
        if said and position == 0:
            yield Text(), Text()
        words = f"{finding.place}: {finding.message} ({finding.rule})"
        yield Text(_LABELS["note"], _STYLES["note"]), Text(words, _STYLES["note"])


def _names_type(fixes: Iterable[str], hosting: Hosting) -> bool:
    types = types_for(on_machines=hosting.runs_on_machines)
    return any(types.keys() & set(_WORD.findall(fix)) for fix in fixes)


def _sentence(finding: Finding, arrow: str) -> RenderableType:
    """Return the problem, with its fix on a second line."""
    sentence = Text.assemble((finding.place, "bold"), f": {finding.problem}.")
    if not finding.fix:
        return sentence
    return Group(sentence, Padding(Text.assemble((f"{arrow} ", "green"), f"{finding.fix}."), (0, 0, 0, 2)))


def _figures(report: Report, deployment: Deployment, console: Console) -> RenderableType:
    """A table with a row for each figure and a column for each instance type."""
    ascii_only, count = console.options.ascii_only, len(report.figures)
    width = min(_WIDEST_BAR, (console.width - _LABEL_WIDTH) // count - 4)
    table = _table(columns=count)
    if count > 1:
        table.add_row(Text(), *(Text(figures.instance_type, "bold") for figures in report.figures))
    table.add_row(Text("memory"), *(_memory(figures, width, ascii_only=ascii_only) for figures in report.figures))
    for label, cells in rows(report, deployment):
        table.add_row(Text(label), *map(Text, cells))
    return table


def _update(hosting: Hosting, *, of_copies: bool) -> str:
    units = "copies" if of_copies else "instances"
    if hosting.rolling:
        return f"an update starts a batch of {hosting.rolling.batch} beside the {units} that run"
    side_by_side = f"an update runs old and new {units} side by side"
    canary = hosting.canary
    return f"{side_by_side}; {canary.share} % of them get requests first" if canary else side_by_side


def _memory(figures: Figures, width: int, *, ascii_only: bool) -> RenderableType:
    words = legend(figures, ascii_only=ascii_only)
    bar = memory_bar(figures, width, ascii_only=ascii_only)
    return Group(bar, words) if bar else words


def _rest(report: Report, deployment: Deployment | None, *, verbose: bool) -> Iterator[tuple[Text, RenderableType]]:
    if report.account:
        yield Text("account"), Text(report.account)
    if deployment and report.quotas:
        unit = " vCPU" if deployment.hosting.runs_on_machines else ""
        names = ", ".join(f"{quota.instances}{unit} of {quota.name!r}" for quota in report.quotas)
        yield Text("quota"), Text(f"{names}: {_update(deployment.hosting, of_copies=deployment.uses_components)}")
    for rule, reason in report.silenced.items():
        yield Text("silenced"), Text(f"{rule}: {reason}")
    if verbose:
        sentences = rule_sentences()
        for rule in report.passed:
            yield Text("ok", _STYLES["ok"]), Text.assemble((rule, "bold"), f": {sentences.get(rule, '')}")
        for line in report.not_checked:
            yield Text("not asked"), Text(line)
        return
    answered = [rule for rule in report.passed if rule in _ASKED]
    if rules := len(report.passed) - len(answered):
        yield Text("ok", _STYLES["ok"]), Text(f"{rules} rules found nothing; --verbose lists them")
    if answered:
        yield Text("ok", _STYLES["ok"]), Text(f"of the account: {', '.join(answered)}")
    if report.not_checked:
        ids = ", ".join(line.partition(":")[0] for line in report.not_checked)
        was_tried = any(finding.rule == "account" for finding in report.findings)
        yield Text("not asked"), Text(ids if was_tried else f"{ids}; `doctor` asks AWS")


def _sum(results: Sequence[CheckResult]) -> Text:
    names: dict[str, list[str]] = {verdict: [] for verdict in _VERDICT_STYLES}
    for result in results:
        names[result.report.verdict].append(result.report.name)
    ready = f"{len(names.pop('ready'))} ready"
    others = [f"{len(each)} {verdict} ({', '.join(each)})" for verdict, each in names.items() if each]
    return Text(", ".join([ready, *others]), "bold")


def _grid(lines: Iterable[tuple[Text, RenderableType]]) -> RenderableType:
    table = _table(columns=1)
    for label, text in lines:
        table.add_row(label, text)
    return table


def _table(*, columns: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=True)
    table.add_column(width=_LABEL_WIDTH, no_wrap=True)
    for _ in range(columns):
        table.add_column(ratio=1, overflow="fold")
    return table
