"""Tells what the next deploy means, compared with a commit, a template or the deployed stack."""

import contextlib
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError, base_of, find
from llm_hosting.installed_version import installed_version
from llm_hosting.preflight.validation import load
from llm_hosting.resolution.estimates import start_in_seconds
from llm_hosting.sources import handler_names
from llm_hosting.stack_label import versions_in
from slipway.changes import Change, classify
from slipway.changes.gate import AcceptedChangesError, acknowledgements, judge
from slipway.changes.report import ChangeReport, as_json, markdown, page
from slipway.changes.template.reading import NoTemplateError, parse_template, read_template
from slipway.changes.template.synthesis import Synthesized, checked_out, demand_project, repository_of, synthesize
from slipway.shared.output import reader_may_leave
from slipway.shared.steps import Steps

_ANY_REGION = "us-east-1"  # resource schemas are this region's if no region is named


@dataclass(frozen=True)
class DiffOptions:
    """What to compare, and how to print it.

    against: `stack`, a template's file or a git ref. accepted: None = accepted-changes/<name>.yaml in the file's
    repository, if it exists. form: text, json or markdown. python: the interpreter that synthesizes the commit.
    """

    against: str = "HEAD"
    region: str | None = None
    accepted: Path | None = None
    form: str = "text"  # json | markdown
    python: str = sys.executable


@dataclass(frozen=True)
class Before:
    """The template before the deploy, and its parameters' values. region: None = any, or not known."""

    template: dict[str, Any]
    words: str
    values: dict[str, str] = field(default_factory=dict)
    region: str | None = None


def run(name: str, root: Path, options: DiffOptions) -> int:
    """Print the changes.

    root: the folder with `app.py` and `deployments/`. Returns the exit status: 0, 1 if a change must be acknowledged
    and is not, 2 if there is nothing to compare with.
    """
    steps = Steps()
    try:
        with _ended_by_sigterm():
            report = _report(name, root, options, steps)
    except KeyboardInterrupt:
        return 130
    except (NoTemplateError, AcceptedChangesError, UnknownDeploymentError) as error:
        steps.end()
        print(error, file=sys.stderr)
        return 2
    finally:
        steps.end()
    shown = {"json": lambda: json.dumps(as_json(report), indent=2), "markdown": lambda: markdown(report)}
    with reader_may_leave():
        print(shown.get(options.form, lambda: page(report))())
    if report.gate.stopping:
        said = f"If they are intended, acknowledge them in {report.accepted}, by resource, kind and reason."
        print(said, file=sys.stderr)
    return 1 if report.gate.stopping else 0


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that the checkout of the other commit is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _report(name: str, root: Path, options: DiffOptions, steps: Steps) -> ChangeReport:
    demand_project(root)
    asked = _asked(name, root)
    accepted = options.accepted or asked.accepted
    acknowledged = acknowledgements(accepted) if options.accepted or accepted.is_file() else []
    steps(f"synthesizing {name}" + ("" if _has_template(options.against) else f", now and at {options.against}"))
    if options.against == "stack":
        after = synthesize(asked.name, root)
        steps(f"reading the stack {after.stack}")
        before = _of_stack(after, options.region)
    elif os.path.isfile(options.against):
        before = Before(read_template(Path(options.against)), options.against)
        after = synthesize(asked.name, root)
    else:
        before, after = _of_commit(asked, root, options)
    for warning in after.warnings:
        steps.end()
        print(f"warning: {warning}", file=sys.stderr)
    steps("comparing")
    kept = {key: value for key, value in before.values.items() if key in after.template.get("Parameters", {})}
    region = options.region or after.region or _ANY_REGION
    changes = classify(
        before.template,
        after.template,
        before_values=before.values,
        after_values=kept,
        region=region,
        start_in_seconds=_usual_start(find(name, root / "deployments"), root) if asked.file else None,
    )
    if before.region != after.region and before.region and after.region:
        changes.insert(0, _moved(after, before.region))
    shown = accepted.relative_to(root) if accepted.is_relative_to(root) else accepted
    return ChangeReport(name, before.words, changes, judge(changes, acknowledged), str(shown))


def _moved(after: Synthesized, region: str) -> Change:
    said = f"{region} -> {after.region}: a new stack there; the one in {region} stays, with its data and its bill"
    return Change(after.stack, "AWS::CloudFormation::Stack", "replaced", "region", said, gated=True)


def _usual_start(path: Path, root: Path) -> float | None:
    """Seconds that a start of the model takes; None = not known."""
    try:
        resolution, _ = load(path, handler_names(root))
    except DeploymentError:
        return None
    return start_in_seconds(resolution.placements[0]).likely


def _has_template(against: str) -> bool:
    return against == "stack" or os.path.isfile(against)


@dataclass(frozen=True)
class _Asked:
    """A deployment, or another stack of the app, to synthesize.

    file: relative to `folder`; None = a stack without one. folder: `root`, or the repository of a file outside of
    `root`'s repository. accepted: the file with its acknowledgements.
    """

    name: str
    file: Path | None
    folder: Path
    accepted: Path


def _asked(name: str, root: Path) -> _Asked:
    try:
        found = find(name, root / "deployments")
    except UnknownDeploymentError:
        if not re.fullmatch("[A-Za-z][A-Za-z0-9-]*", name):
            raise
        return _Asked(name, None, root, root / "accepted-changes" / f"{name}.yaml")  # the app knows its stacks
    path, base = found.resolve(), base_of(found.resolve())
    folder = base.parent if base else path.parent
    accepted = Path("accepted-changes") / path.relative_to(folder).with_suffix(".yaml")
    if path.is_relative_to(root.resolve()) and repository_of(folder) == repository_of(root):
        file = path.relative_to(root.resolve())
        by_name = file.parts[0] == "deployments" and not name.endswith((".yaml", ".yml"))
        return _Asked(name if by_name else str(file), file, root, root / accepted)
    home = repository_of(folder) or folder
    return _Asked(os.path.abspath(found), path.relative_to(folder), folder, home / accepted)


def _of_commit(asked: _Asked, root: Path, options: DiffOptions) -> tuple[Before, Synthesized]:
    """The template at the commit and the template now, synthesized side by side because each takes seconds.

    Raises NoTemplateError.
    """
    ref = options.against
    words = ref[:12] if re.fullmatch("[0-9a-f]{40}", ref) else ref
    with contextlib.ExitStack() as copies, ThreadPoolExecutor(2) as threads:
        home = repository_of(asked.folder)
        if home is None and asked.folder != root:
            raise NoTemplateError(
                f"{asked.name} is in no git repository, so it has no {ref}; use --against stack or a template's file, "
                "or commit it to a repository."
            )
        app = root if home != repository_of(root) else copies.enter_context(checked_out(ref, root))
        files = app if asked.folder == root else copies.enter_context(checked_out(ref, asked.folder))
        after = threads.submit(synthesize, asked.name, root)
        name = asked.name
        if asked.file is not None and not (files / asked.file).is_file():
            return Before({"Resources": {}}, f"{words}, which does not have it"), after.result()
        if asked.file is not None and files != app:
            earlier = files / asked.file
            name = str(earlier.rename(earlier.with_name(Path(name).name)))  # `asked` may be a link of another name
        if options.python == sys.executable and _pins(app) != _pins(root):
            said = f"requirements.txt differs at {words}, but the packages of this Python synthesize both sides"
            print(f"{said}; name an environment with the other packages by --python.", file=sys.stderr)
        before = threads.submit(synthesize, name, app, options.python)
        result = after.result()
        try:
            return Before(before.result().template, words, region=before.result().region), result
        except NoTemplateError as error:
            raise NoTemplateError(f"At {ref}, {str(error).replace(f'{files}{os.sep}', '')}") from error


def _pins(project: Path) -> str | None:
    """The packages that the project pins; None if it pins none."""
    file = project / "requirements.txt"
    return file.read_text(errors="replace") if file.is_file() else None


def _of_stack(after: Synthesized, region: str | None) -> Before:
    """The template of the deployed stack; without resources if there is no stack. Raises NoTemplateError."""
    from botocore.exceptions import BotoCoreError, ClientError  # takes its time to import

    from slipway.shared.aws_clients import clients_in
    from slipway.shared.aws_errors import sentence

    try:
        return deployed_template(after.stack, clients_in(region or after.region))
    except (BotoCoreError, ClientError) as error:
        raise NoTemplateError(sentence(error)) from error


def deployed_template(name: str, clients: Callable[[str], Any]) -> Before:
    """The template that CloudFormation holds for the stack; without resources if there is no stack."""
    from slipway.stack.deployed_stack import described_stack

    described = described_stack(name, clients)
    if described is None:
        return Before({"Resources": {}}, f"the account, which has no stack {name}")
    body = clients("cloudformation").get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    template = parse_template(body if isinstance(body, str) else json.dumps(body), f"the stack {name}")
    values = {each["ParameterKey"]: each["ParameterValue"] for each in described.get("Parameters", [])}
    return Before(template, f"the stack {name}{_made_by(template)}", values)


def _made_by(template: dict[str, Any]) -> str:
    """The version of Slipway that made the template, in words; empty = the template does not tell it."""
    made, here = versions_in(template.get("Metadata", {})), installed_version()
    if not made:
        return ""
    return f" of Slipway {' and '.join(made)}" + ("" if made == [here] else f" (installed: {here})")
