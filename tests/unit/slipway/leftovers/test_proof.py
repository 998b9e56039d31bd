"""What a person is told after a destroy, on small stand-ins for AWS's services."""

from types import SimpleNamespace
from typing import Any

import pytest

from slipway.leftovers.proof import tell_what_is_left
from support.stand_ins.ec2 import StandInEc2, instance, volume

NOTHING_TAGGED = SimpleNamespace(
    get_paginator=lambda _: SimpleNamespace(paginate=lambda **_: [{"ResourceTagMappingList": []}]),
    meta=SimpleNamespace(region_name="eu-west-1"),
)


@pytest.mark.parametrize(
    ("ec2", "bills"),
    [
        (StandInEc2(instance("i-other", deployment="other")), None),
        (StandInEc2(instance("i-1", state="stopped")), "i-1"),
        (StandInEc2(volumes=[volume("vol-loose", of=None)]), "vol-loose"),
    ],
)
def test_a_machine_or_a_disk_that_is_left_is_named_as_a_bill(
    ec2: Any, bills: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tell_what_is_left("chat", lambda service: ec2 if service == "ec2" else NOTHING_TAGGED) is bool(bills)
    said = capsys.readouterr().out
    if bills is None:
        assert said.endswith("Nothing of it bills by the hour: no endpoint, component, machine or disk has its tag.\n")
    else:
        assert "THIS STILL BILLS by the hour:\n" in said
        assert bills in said
        assert said.endswith("To remove it: slipway purge chat --region eu-west-1\n")
