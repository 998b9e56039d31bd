"""Accounts that are asked side by side: what one refuses hides nothing of the others."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from slipway.reports.places import NO_ROLE, NotAsked, Place, clients_of, side_by_side

OWN, OTHER, CLOSED = "111122223333", "444455556666", "777788889999"


def ask(number: int) -> int:
    if number == 1:
        raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, "DescribeStacks")
    if number == 2:
        raise ConnectTimeoutError(endpoint_url="https://cloudformation.eu-west-1.amazonaws.com")
    return number


def test_answers_keep_their_order_and_refusals_become_sentences() -> None:
    first, second, third, last = side_by_side(ask, [0, 1, 2, 3])
    assert (first, last) == (0, 3)
    assert second == NotAsked("DescribeStacks failed: Rate exceeded")
    assert isinstance(third, NotAsked)
    assert third.why.startswith("AWS could not be asked: Connect timeout")


def test_a_fault_of_ours_is_no_refusal() -> None:
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda number: 1 / number, [0])


class Sts:
    """STS in the account OWN, in China's partition."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get_caller_identity(self) -> Any:
        return {"Account": OWN, "Arn": f"arn:aws-cn:iam::{OWN}:user/me"}

    def assume_role(self, RoleArn: str, RoleSessionName: str) -> Any:
        self.asked.append(RoleArn)
        if CLOSED in RoleArn:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole")
        return {"Credentials": {"AccessKeyId": "AKIA", "SecretAccessKey": "secret", "SessionToken": "token"}}


PLACES = [Place(account, region) for account in (OWN, OTHER, CLOSED) for region in ("cn-north-1", "cn-northwest-1")]


def test_a_role_is_taken_once_in_each_other_account_and_in_the_callers_partition() -> None:
    sts = Sts()
    found = clients_of(PLACES, "slipway-reader", lambda service: sts)
    assert sorted(sts.asked) == [f"arn:aws-cn:iam::{each}:role/slipway-reader" for each in (OTHER, CLOSED)]
    for place, clients in found.items():
        if place.account == CLOSED:
            assert clients == NotAsked("AWS does not allow AssumeRole: no")
        else:
            assert not isinstance(clients, NotAsked)
            assert clients("cloudwatch").meta.region_name == place.region


def test_without_a_role_only_the_own_account_is_asked() -> None:
    found = clients_of(PLACES, None, lambda service: Sts())
    assert {place.account for place, clients in found.items() if clients != NO_ROLE} == {OWN}
