"""`python -m slipway diff`: what the next deploy means, compared with a commit, a template or the deployed stack."""

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

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.deployment_paths import UnknownDeploymentError, find
from slipway.changes import classify
from slipway.changes.gate import AcceptedChangesError, acknowledgements, judge
from slipway.changes.report import Report, as_json, markdown, page
from slipway.changes.synthesis import Synthesized, checked_out, synthesize
from slipway.changes.template_file import TemplateError, parse_template, read_template

_ANY_REGION = "us-east-1"  # whose schemas hold where no region is named


@dataclass(frozen=True)
class Options:
    """against: `stack`, a template's file or a git ref.

    accepted: None = accepted-changes/<name>.yaml, if there is one. form: text, json or markdown.
    """

    against: str = "HEAD"
    region: str | None = None
    accepted: Path | None = None
    form: str = "text"  # json | markdown


@dataclass(frozen=True)
class Before:
    """The template that holds now, and its parameters' values."""

    template: dict[str, Any]
    words: str
    values: dict[str, str] = field(default_factory=dict)


def run(name: str, root: Path, options: Options) -> int:
    """Print what changes.

    root: the folder with `app.py` and `deployments/`. Returns the exit status: 0, 1 where a change has to be
    acknowledged and is not, 2 where there is nothing to compare.
    """
    try:
        with _ended_by_sigterm():
            report = _report(name, root, options)
    except KeyboardInterrupt:
        return 130
    except (TemplateError, AcceptedChangesError, UnknownDeploymentError) as error:
        print(error, file=sys.stderr)
        return 2
    shown = {"json": lambda: json.dumps(as_json(report), indent=2), "markdown": lambda: markdown(report)}
    try:
        print(shown.get(options.form, lambda: page(report))(), flush=True)
    except BrokenPipeError:  # whoever reads has read enough: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if report.gate.stopping:
        file = options.accepted or f"accepted-changes/{name}.yaml"
        print(f"Acknowledge what is meant in {file}, by resource, kind and reason.", file=sys.stderr)
    return 1 if report.gate.stopping else 0


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """As by Ctrl-C, so that the folder of the other commit goes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _report(name: str, root: Path, options: Options) -> Report:
    asked, path = _asked(name, root)
    acknowledged = acknowledgements(accepted) if (accepted := _accepted(name, root, options)) else []
    if options.against == "stack":
        after = synthesize(asked, root)
        before = _of_stack(after, options.region)
    elif os.path.isfile(options.against):
        before = Before(read_template(Path(options.against)), options.against)
        after = synthesize(asked, root)
    else:
        before, after = _of_commit(asked, path, root, options.against)
    kept = {key: value for key, value in before.values.items() if key in after.template.get("Parameters", {})}
    region = options.region or after.region or _ANY_REGION
    changes = classify(before.template, after.template, before_values=before.values, after_values=kept, region=region)
    return Report(name, before.words, changes, judge(changes, acknowledged))


def _asked(name: str, root: Path) -> tuple[str, Path | None]:
    """How the app is asked for it, and its file relative to `root`; None for a stack without a file, or one outside."""
    if name == ACCOUNT_SETTINGS:
        return name, None
    path = find(name, root / "deployments").resolve()
    if not path.is_relative_to(root.resolve()):
        return str(path), None
    relative = path.relative_to(root.resolve())
    return (
        name if relative.parts[0] == "deployments" and not name.endswith((".yaml", ".yml")) else str(relative)
    ), relative


def _accepted(name: str, root: Path, options: Options) -> Path | None:
    usual = root / "accepted-changes" / f"{name}.yaml"
    return options.accepted or (usual if usual.is_file() else None)


def _of_commit(asked: str, path: Path | None, root: Path, ref: str) -> tuple[Before, Synthesized]:
    """Both at once: each synth takes seconds."""
    words = ref[:12] if re.fullmatch("[0-9a-f]{40}", ref) else ref
    with checked_out(ref, root) as folder, ThreadPoolExecutor(2) as threads:
        after = threads.submit(synthesize, asked, root)
        if path is not None and not (folder / path).is_file():
            return Before({"Resources": {}}, f"{words}, which does not have it"), after.result()
        before = threads.submit(synthesize, asked, folder)
        result = after.result()
        try:
            return Before(before.result().template, words), result
        except TemplateError as error:
            raise TemplateError(f"At {ref}, {error}") from error


def _of_stack(after: Synthesized, region: str | None) -> Before:
    """Of the stack that is deployed; no resources where there is none. Raises TemplateError."""
    from botocore.exceptions import BotoCoreError, ClientError  # takes its time to import

    from slipway.aws_clients import clients_in
    from slipway.aws_errors import sentence
    from slipway.deployed_stack import UnknownStackError

    try:
        return deployed_template(after.stack, clients_in(region or after.region))
    except UnknownStackError as error:
        raise TemplateError(str(error)) from error
    except (BotoCoreError, ClientError) as error:
        raise TemplateError(sentence(error)) from error


def deployed_template(name: str, clients: Callable[[str], Any]) -> Before:
    """Of the stack of that name, as it was given to CloudFormation; no resources where there is none."""
    from slipway.deployed_stack import existing_stack

    stack = existing_stack(name, clients)
    if stack is None:
        return Before({"Resources": {}}, f"the account, which has no stack {name}")
    body = clients("cloudformation").get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    template = parse_template(body if isinstance(body, str) else json.dumps(body), f"the stack {name}")
    values = {each["ParameterKey"]: each["ParameterValue"] for each in stack.described.get("Parameters", [])}
    return Before(template, f"the stack {name}", values)
