"""A stack that holds one service and nothing else."""

from pathlib import Path
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import Resolution
from llm_hosting.service import LlmService


class InferenceStack(cdk.Stack):
    """One hosted model behind its API. Logical ids and outputs have no prefix.

    deployment: as `LlmService` takes it.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, deployment: str | Path | Deployment | Resolution, **kwargs: Any
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        self.service = LlmService(self, "Default", deployment=deployment)
