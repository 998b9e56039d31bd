"""The proof of least privilege fails for a planted permission that nobody uses, and for one that is missing."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from support.permissions import Run, problems, read

ROLE = "ApiRouteRoleB9EC8556"
PLACE = "the queue of jobs"
ARN = {"Fn::GetAtt": ["WorkQueueAD162499", "Arn"]}
STATEMENT = {"Effect": "Allow", "Action": ["sqs:SendMessage", "sqs:GetQueueAttributes"], "Resource": ARN}
TEMPLATE: dict[str, Any] = {
    "Resources": {
        ROLE: {"Type": "AWS::IAM::Role", "Properties": {}},
        "WorkQueueAD162499": {"Type": "AWS::SQS::Queue", "Properties": {}},
        "Policy": {
            "Type": "AWS::IAM::Policy",
            "Properties": {
                "PolicyName": "Policy",
                "Roles": [{"Ref": ROLE}],
                "PolicyDocument": {"Statement": [STATEMENT]},
            },
        },
    }
}
NONE: dict[str, Any] = {"unused": [], "denied": []}


def call(action: str, **more: Any) -> dict[str, Any]:
    """Return a line of the record: a call that the only statement allowed."""
    allowed = {"policy": "Policy", "statement": 0, "resource": 0}
    return {"template": "t", "stack": "s", "role": ROLE, "action": action} | (more or allowed)


def run_with(folder: Path, *calls: dict[str, Any], template: dict[str, Any] = TEMPLATE) -> Run:
    """Return the run that these lines record."""
    (folder / "t.template.json").write_text(json.dumps(template))
    (folder / "1.jsonl").write_text("".join(json.dumps(each) + "\n" for each in calls))
    return read(folder, folder / "no-assembly")


def test_a_run_that_uses_each_permission_has_no_problem(tmp_path: Path) -> None:
    run = run_with(tmp_path, call("sqs:SendMessage"), call("sqs:GetQueueAttributes"))
    assert list(problems(run, NONE)) == []


def test_a_permission_that_no_test_uses_is_a_problem(tmp_path: Path) -> None:
    (problem,) = problems(run_with(tmp_path, call("sqs:SendMessage")), NONE)
    assert problem.startswith(f"route: no test uses sqs:GetQueueAttributes on {PLACE};")


def test_a_call_that_was_denied_is_a_problem(tmp_path: Path) -> None:
    used = call("sqs:SendMessage"), call("sqs:GetQueueAttributes")
    (problem,) = problems(run_with(tmp_path, *used, call("sqs:PurgeQueue", denied="arn:x")), NONE)
    assert problem.startswith("route: sqs:PurgeQueue was denied in the stack s;")


def test_accepted_exceptions_are_no_problem(tmp_path: Path) -> None:
    run = run_with(tmp_path, call("sqs:SendMessage"), call("sqs:PurgeQueue", denied="arn:x"))
    unused = {"by": ["route"], "at": PLACE, "actions": ["sqs:GetQueueAttributes"], "reason": "..."}
    denied = {"by": ["route"], "at": "s", "actions": ["sqs:PurgeQueue"], "reason": "..."}
    assert list(problems(run, {"unused": [unused], "denied": [denied]})) == []


@pytest.mark.parametrize(("more", "expected"), [({}, 1), ({"in_some_runs": True}, 0)])
def test_an_exception_that_is_not_needed_is_a_problem(tmp_path: Path, more: dict[str, Any], expected: int) -> None:
    run = run_with(tmp_path, call("sqs:SendMessage"), call("sqs:GetQueueAttributes"))
    unused = {"by": ["route"], "at": PLACE, "actions": ["sqs:SendMessage"], "reason": "...", **more}
    assert len(list(problems(run, {**NONE, "unused": [unused]}))) == expected


def test_a_rendered_template_and_a_role_of_somebody_else_are_not_judged(tmp_path: Path) -> None:
    rendered = {**TEMPLATE, "Conditions": {"Wanted": {"Fn::Equals": ["a", "a"]}}}
    assert run_with(tmp_path, call("sqs:SendMessage"), template=rendered) == Run()
    others = copy.deepcopy(TEMPLATE)
    others["Resources"]["Mine"] = others["Resources"].pop(ROLE)
    others["Resources"]["Policy"]["Properties"]["Roles"] = [{"Ref": "Mine"}]
    assert run_with(tmp_path, {**call("sqs:SendMessage"), "role": "Mine"}, template=others) == Run()
