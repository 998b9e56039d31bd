"""The account and region of the caller's credentials."""

from dataclasses import dataclass
from functools import cached_property

from llm_hosting.deployment import DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS, Deployment
from slipway.aws_clients import Clients


@dataclass(frozen=True)
class Account:
    """clients: all of one region."""

    clients: Clients

    @cached_property
    def id(self) -> str:
        """The 12 digits. Raises boto3's errors, for example without credentials."""
        return str(self.clients("sts").get_caller_identity()["Account"])

    @cached_property
    def region(self) -> str:
        return str(self.clients("sts").meta.region_name)


def is_used(check: str, deployment: Deployment) -> bool:
    """Whether a check, by its id, concerns the deployment."""
    used = {
        "weights-in-bucket": deployment.model.weights is not None,
        "cloudwatch-role": deployment.api.access_logs,
        "gateway-timeout": deployment.api.timeout_in_seconds > DEFAULT_GATEWAY_TIMEOUT_IN_SECONDS,
    }
    return used.get(check, True)
