"""What callers asked of a service in a month."""

from datetime import UTC, datetime

import pytest

from slipway.cost.metrics import Series
from slipway.cost.use import Use, use_of
from slipway.stack.deployed_stack import DeployedStack
from support.stand_ins.described_stacks import described_stack

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
SOME: Series = {NOVEMBER: 7.0}


@pytest.mark.parametrize(
    ("answers", "use"),
    [
        ((), Use(None, None, None)),  # no API
        ((SOME, {}, {}), Use(7, None, None)),  # no dashboard
        ((SOME, SOME, SOME), Use(7, 7, 7)),
        ((SOME, SOME, {}), Use(7, 7, 0)),  # jobs for vectors
    ],
)
def test_tokens_are_known_if_any_were_counted(answers: tuple[Series, ...], use: Use) -> None:
    described = described_stack("CREATE_COMPLETE", "gpt2 on tgi", parameters={}, outputs={})

    def no_client(service: str) -> None:
        raise AssertionError(service)

    assert use_of(DeployedStack(described, no_client), NOVEMBER, answers) == use
