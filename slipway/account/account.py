"""The account and region of the caller's credentials."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.api import DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS
from slipway.shared.aws_clients import Clients

NOT_ASKED = "account"  # the field of a finding that says why AWS gave no answer


@dataclass(frozen=True)
class Account:
    """The account of the caller's credentials, in one region.

    clients: boto3 clients of that region.
    """

    clients: Clients

    @cached_property
    def id(self) -> str:
        """The account's id, 12 digits. Raises boto3's errors, for example without credentials."""
        return str(self._caller["Account"])

    @property
    def caller(self) -> str:
        """The ARN of the credentials' user or role."""
        return str(self._caller["Arn"])

    @cached_property
    def _caller(self) -> dict[str, Any]:
        caller: dict[str, Any] = self.clients("sts").get_caller_identity()
        return caller

    @cached_property
    def region(self) -> str:
        return str(self.clients("sts").meta.region_name)


def is_used(check: str, deployment: Deployment) -> bool:
    """Whether the check with this id concerns the deployment."""
    on_ec2, vpc = deployment.hosting.runs_on_machines, deployment.security.vpc
    used = {
        "image-in-registry": not on_ec2,
        "service-quota": deployment.hosting.endpoint is None,
        "shared-endpoint": deployment.hosting.endpoint is not None,
        "instance-type-offered": on_ec2,
        "machine-network": on_ec2 and vpc is not None,
        "service-network": vpc is not None
        and not vpc.is_made
        and (not on_ec2 or vpc.functions or vpc.service_endpoints),
        "vpc-quota": vpc.is_made if vpc else on_ec2,
        "volume-key": on_ec2 and deployment.hosting.volume_kms_key_arn is None and not deployment.security.has_data_key,
        "own-keys": any(
            (
                deployment.security.kms_key_arn,
                deployment.security.log_kms_key_arn,
                deployment.hosting.volume_kms_key_arn,
            )
        ),
        "weights-in-bucket": deployment.model.weights is not None,
        "adapters-in-bucket": deployment.has_adapter_components,
        "cloudwatch-role": deployment.writes_access_log,
        "scaling-role": deployment.is_scaled,
        "usage-plans": deployment.api.auth == "api-key",
        "vpc-endpoints": deployment.api.private is not None,
        "certificate": deployment.api.domain is not None,
        "hosted-zone": deployment.api.domain is not None and deployment.api.domain.zone is not None,
        "web-acl": deployment.api.waf_acl_arn is not None,
        "cost-allocation-tag": deployment.operations.monthly_budget_in_usd is not None,
        "budget-topic": deployment.operations.monthly_budget_in_usd is not None,
        "gateway-timeout": deployment.api.timeout_in_seconds > DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
    }
    return used.get(check, True)
