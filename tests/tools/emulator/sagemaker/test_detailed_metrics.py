"""Metrics of detailed observability come by OTLP, so a role may send them only if no condition demands a namespace."""

import json
from typing import Any

from botocore.credentials import Credentials

from local_cloud.cloud import LocalCloud
from support.stacks.asynchronous_endpoints import realtime_resources
from support.stacks.small_stacks import REGION, create, delete, statement
from tools.smoke.questions.observability import QUERY, count_of_series

NAME, NAMESPACES = "detailed", {"cloudwatch:namespace": ["AWS/SageMaker"]}


def test_a_condition_on_the_namespace_must_allow_its_absence(bare_cloud: LocalCloud) -> None:
    role = create(bare_cloud, NAME, realtime_resources(NAME))["Role"]
    key = Credentials(bare_cloud.deployer.access_key_id, bare_cloud.deployer.secret_access_key)
    query = QUERY.format(endpoint=NAME)

    def series(**more: Any) -> int | None:
        document = {"Version": "2012-10-17", "Statement": [statement("cloudwatch:PutMetricData", **more)]}
        bare_cloud.client("iam", region=REGION).put_role_policy(
            RoleName=role, PolicyName="metrics", PolicyDocument=json.dumps(document)
        )
        return count_of_series(query, bare_cloud.url, REGION, key)

    assert count_of_series(query, bare_cloud.url, REGION, key) is None
    assert series(Condition={"StringEquals": NAMESPACES}) is None
    assert series(Condition={"StringEqualsIfExists": NAMESPACES}) == 1
    delete(bare_cloud, NAME)
