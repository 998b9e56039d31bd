"""The ways to be idle that a deployed service has."""

from datetime import UTC, datetime

import pytest

from slipway.cost.alternatives import alternatives
from slipway.cost.cost_of_month import MonthCost
from slipway.cost.months import MonthUntilNow
from slipway.cost.use import Use
from slipway.stack.deployed_stack import DeployedStack
from support.stand_ins.described_stacks import described_stack

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("instance_type", "problems"),
    [
        ("c5.xlarge", {}),
        ("c7a.large", dict.fromkeys(("always-on", "zero", "async"), "endpoints have no ml.c7a.large")),
        ("ml.g6.2xlarge", {"ec2": "machines have no GPU"}),
    ],
)
def test_a_way_that_has_no_such_instance_says_so(instance_type: str, problems: dict[str, str]) -> None:
    stack = DeployedStack(described_stack("CREATE_COMPLETE", "gpt2 on tgi", parameters={}, outputs={}), lambda _: None)
    time, use = MonthUntilNow(NOVEMBER, NOVEMBER), Use(0, None, None)
    cost = MonthCost(time, [], [], use, instance_type, 1, [0, 1, 0], {}, 5)
    found = list(alternatives(stack, cost, None, 480))
    assert {each.way: each.problem for each in found if each.problem} == problems
    assert len(found) == 4
