"""The account and region that a check asks, with the caller's credentials."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llm_hosting.deployment import Deployment
from llm_hosting.finding import Level

Said = Iterator[tuple[Level, str, str]]  # level, field, message


@dataclass(frozen=True)
class Account:
    """clients: boto3's, by the name of the service, all of one region."""

    clients: Callable[[str], Any]

    @cached_property
    def id(self) -> str:
        """Raises what boto3 raises without credentials."""
        return str(self.clients("sts").get_caller_identity()["Account"])

    @cached_property
    def region(self) -> str:
        return str(self.clients("sts").meta.region_name)


def is_used(check: str, deployment: Deployment) -> bool:
    """Whether the deployment uses what a check of the account, named by its id, looks at."""
    used = {"weights-in-bucket": deployment.model.weights is not None, "cloudwatch-role": deployment.api.access_logs}
    return used.get(check, True)
