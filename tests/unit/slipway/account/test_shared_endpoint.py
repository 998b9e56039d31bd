"""What `doctor` says of a shared endpoint, by answers of botocore's shapes."""

import boto3
import pytest
from botocore.stub import Stubber

from llm_hosting.preflight.report import unreadable
from slipway.account.account import Account, is_used
from slipway.account.shared_endpoint import shared_endpoint
from support.deployments.good_one import deployment

ON_GPUS = {"shared": {"instance_type": "ml.g6.2xlarge"}}


@pytest.mark.parametrize(
    ("exports", "says"),
    [
        (["slipway-endpoint-gpus:role", "slipway-endpoint-gpus"], []),
        (
            ["slipway-endpoint-gpu", "slipway-endpoint-gpus:role"],
            [
                "'shared/gpus' is not deployed in eu-west-1 of account 111122223333; run `slipway deploy "
                "endpoints/gpus` before."
            ],
        ),
    ],
)
def test_a_deployment_waits_for_its_endpoint(exports: list[str], says: list[str]) -> None:
    keys = {"region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    clients = {name: boto3.client(name, **keys) for name in ("cloudformation", "sts")}
    with Stubber(clients["cloudformation"]) as cloudformation, Stubber(clients["sts"]) as sts:
        cloudformation.add_response("list_exports", {"Exports": [{"Name": name, "Value": "x"} for name in exports]})
        sts.add_response("get_caller_identity", {"Account": "111122223333"})
        found = shared_endpoint(deployment(ON_GPUS), unreadable("chat", []), Account(lambda name: clients[name]))
        assert [each.message for each in found] == says


def test_the_quota_of_instances_is_the_endpoint_s() -> None:
    assert is_used("shared-endpoint", deployment(ON_GPUS))
    assert not is_used("service-quota", deployment(ON_GPUS))
    assert not is_used("shared-endpoint", deployment({}))
