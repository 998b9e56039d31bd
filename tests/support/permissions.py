"""Least privilege, proved: compares the permissions of our roles with those that a whole run of the tests has used.

`make test` lets the local clouds record into a folder and calls `python -m support.permissions FOLDER` at its end. A
run of single tests records nothing, so it is not judged.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slipway.changes.access.attachments import policies
from slipway.changes.access.policies import grants_of, statements_of
from slipway.changes.template.resources import Resources, resources_of
from slipway.changes.template.values import as_list, logical_id_in, shown
from slipway.evidence.names import plain
from slipway.evidence.reasons import place_of, role_of
from support.repository import ROOT

ACCEPTED = ROOT / "tests" / "unused_permissions.yaml"
Permission = tuple[str, str, str]
"""The name of a role, an action, and the kind of resource; for a denied call the name of the stack instead."""


@dataclass
class Run:
    """What a run of the tests shows: the permissions that roles have, those they used, and calls that were denied."""

    held: set[Permission] = field(default_factory=set)
    used: set[Permission] = field(default_factory=set)
    denied: set[Permission] = field(default_factory=set)


def read(folder: Path, assembly: Path) -> Run:
    """Read the records of a run. assembly: its templates count, too, whether a test has deployed them or not."""
    run = Run()
    for path in [*assembly.glob("*.template.json"), *folder.glob("*.template.json")]:
        if not _has_conditions(path):
            run.held |= set(_held(_resources(path)))
    for line in {line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()}:
        record = json.loads(line)
        path, role = folder / f"{record['template']}.template.json", role_of(record["role"])
        if role is None or _has_conditions(path):
            continue
        if "denied" in record:
            run.denied.add((role.name, record["action"], record["stack"]))
        else:
            for resource in _resource(_resources(path), record):
                run.used.add((role.name, record["action"], place_of(resource)))
    return run


def problems(run: Run, accepted: dict[str, Any]) -> Iterator[str]:
    """The unused permissions, the denied calls, and the accepted ones that the run has no longer; a sentence each."""
    unused = run.held - run.used
    expected = _accepted(accepted["unused"])
    for role, action, place in sorted(unused - expected.keys()):
        yield f"{role}: no test uses {action} on {place}; remove the permission, or say why it stays in {ACCEPTED.name}"
    for role, action, place in sorted(each for each, is_sure in expected.items() if is_sure and each not in unused):
        yield f"{role}: {action} on {place} is used, or gone; remove it from {ACCEPTED.name}"
    refused = _accepted(accepted["denied"])
    for role, action, stack in sorted(run.denied - refused.keys()):
        yield f"{role}: {action} was denied in the stack {stack}; grant it, or say why in {ACCEPTED.name}"
    for role, action, stack in sorted(each for each, is_sure in refused.items() if is_sure and each not in run.denied):
        yield f"{role}: {action} is denied no more in the stack {stack}; remove it from {ACCEPTED.name}"


def _accepted(rows: Iterable[dict[str, Any]]) -> dict[Permission, bool]:
    """Return the accepted permissions; False for one that some runs use and others do not."""
    return {
        (role, action, row["at"]): "in_some_runs" not in row
        for row in rows
        for role in row["by"]
        for action in row["actions"]
    }


def _held(resources: Resources) -> Iterator[Permission]:
    for resource in resources.values():
        for subject, document, _ in policies(resource, resources):
            role = role_of(logical_id_in(subject[3:])) if subject.startswith("by ") else None
            if role:
                for grant in grants_of(document):
                    yield role.name, grant.action, place_of(plain(grant.resource))


def _resource(resources: Resources, record: dict[str, Any]) -> Iterator[str]:
    """Yield the resource of the statement that a record names, as the template spells it.

    None while an update is under way: the stack has the new template, and still a policy of the old one.
    """
    for policy in resources.values():
        if policy.type == "AWS::IAM::Policy" and policy.properties["PolicyName"] == record["policy"]:
            statements = statements_of(policy.properties["PolicyDocument"])
            statement = statements[record["statement"]] if record["statement"] < len(statements) else {}
            named = as_list(statement.get("Resource", []))
            if record["action"] in as_list(statement.get("Action")) and record["resource"] < len(named):
                yield plain(shown(named[record["resource"]]))


@cache
def _resources(path: Path) -> Resources:
    return resources_of(json.loads(path.read_text()), {}, "us-east-1")


@cache
def _has_conditions(path: Path) -> bool:
    """Whether the template is a rendered one: the same permissions, numbered by what its parameters say."""
    return bool(json.loads(path.read_text()).get("Conditions"))


def main(folder: Path) -> int:
    """Judge a run, and return the exit status."""
    run = read(folder, ROOT / "cdk.out" / "tests")
    if not run.used:
        print(f"{folder} has no record of a run: use `make test`.", file=sys.stderr)
        return 1
    found = list(problems(run, yaml.safe_load(ACCEPTED.read_text())))
    print(*found, sep="\n", end="\n" if found else "")
    if not found:
        print(f"Least privilege: {len(run.used)} of {len(run.held)} permissions were used; the others have a reason.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
