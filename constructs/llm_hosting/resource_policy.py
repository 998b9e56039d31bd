"""The resource policy of an API: the only place that writes its statements. The CDK and the portable template use it.

Within an account an Allow in either policy is enough, the caller's own or this one. Across accounts it takes both. An
authorizer's answer counts as the caller's own policy. A route without authorization needs an Allow here (API Gateway
Developer Guide, "How API Gateway resource policies affect authorization workflow"). So networks and VPC endpoints are
closed by a Deny: without an Allow, signed callers and holders of keys would still pass.
"""

from collections.abc import Iterable
from typing import Any

Statement = dict[str, Any]

EVERYBODY = {"AWS": "*"}


def resource_policy(statements: Iterable[Any]) -> dict[str, Any]:
    """Return the document with these statements."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


class ApiPolicy:
    """Writes statements over the routes of one stage. Values may be CloudFormation's intrinsic functions."""

    def __init__(self, stage: str) -> None:
        # The ARN would refer to the API itself. API Gateway completes this short form.
        self._stage = f"execute-api:/{stage}"

    def neutral(self) -> Statement:
        """Return a statement that changes nothing, so that the policy exists even if it names nobody.

        CloudFormation keeps an API's policy when the property is removed (aws-cdk#21840), and callers who were named
        before would stay admitted.
        """
        plain = {"Bool": {"aws:SecureTransport": "false"}}  # never true: the API takes TLS only
        return self._statement("Deny", EVERYBODY) | {"Condition": plain}

    def through(self, vpc_endpoint_ids: Any) -> Statement:
        """Return the denial of all calls that come through no such VPC endpoint."""
        others = {"StringNotEquals": {"aws:SourceVpce": vpc_endpoint_ids}}
        return self._statement("Deny", EVERYBODY) | {"Condition": others}

    def from_networks(self, cidrs: Any, *, private: bool) -> Statement:
        """Return the denial of all calls from other addresses, those of a VPC if the API is private."""
        key = "aws:VpcSourceIp" if private else "aws:SourceIp"
        return self._statement("Deny", EVERYBODY) | {"Condition": {"NotIpAddress": {key: cidrs}}}

    def principals(self, named: Any) -> Statement:
        """Return the permission of accounts, roles or users. An account stands for principals that it lets call."""
        return self._statement("Allow", {"AWS": named})

    def organization(self, organization: Any, own_account: Any) -> Statement:
        """Return the permission of an organization's other accounts.

        In the API's own account it would admit callers without a policy of their own.
        """
        within = {
            "StringEquals": {"aws:PrincipalOrgID": organization},
            "StringNotEquals": {"aws:PrincipalAccount": own_account},
        }
        return self._statement("Allow", EVERYBODY) | {"Condition": within}

    def everybody(self, route: str = "*") -> Statement:
        """Return the permission of all callers on a route, such as `GET/playground/*`, or on all routes."""
        return self._statement("Allow", EVERYBODY, route)

    def _statement(self, effect: str, principal: dict[str, Any], route: str = "*") -> Statement:
        return {
            "Effect": effect,
            "Principal": principal,
            "Action": "execute-api:Invoke",
            "Resource": f"{self._stage}/{route}",
        }
