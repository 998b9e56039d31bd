"""AWS takes the API requests that CloudFormation makes of our templates."""

from pathlib import Path

from local_cloud.assembly import read_stacks
from local_cloud.template_checks.api_requests import findings


def test_no_request_lacks_a_member_or_has_a_wrong_one(assembly: Path) -> None:
    found = {stack.name: findings(stack.template, stack.region) for stack in read_stacks(assembly)}
    assert len(found) > 10
    assert {name: problems for name, problems in found.items() if problems} == {}
