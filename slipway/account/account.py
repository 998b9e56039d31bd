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
    on_ec2 = deployment.hosting.runs_on_machines
    used = {
        "image-in-registry": not on_ec2,
        "service-quota": deployment.hosting.endpoint is None,
        "shared-endpoint": deployment.hosting.endpoint is not None,
        "instance-type-offered": on_ec2,
        "machine-network": deployment.security.vpc is not None,
        "vpc-quota": on_ec2 and deployment.security.vpc is None,
        "volume-key": on_ec2 and deployment.hosting.volume_kms_key_arn is None,
        "weights-in-bucket": deployment.model.weights is not None,
        "adapters-in-bucket": deployment.has_adapter_components,
        "cloudwatch-role": deployment.api.access_logs,
        "scaling-role": deployment.is_scaled,
        "usage-plans": deployment.api.auth == "api-key",
        "gateway-timeout": deployment.api.timeout_in_seconds > DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
    }
    return used.get(check, True)
