"""The stack of an endpoint that several deployments share."""

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_hosting import DESCRIPTION_PREFIX
from llm_hosting.deployment.settings.shared_endpoint import Shared
from llm_hosting.endpoint.components.shared_endpoint import SharedEndpointResources
from llm_hosting.service.governance import govern
from llm_hosting.service.name import unique_name
from llm_hosting.stack_label import SHARED_ENDPOINT, StackLabel


class SharedEndpointStack(cdk.Stack):
    """One endpoint without a model. Deploy it before the deployments on it, and destroy it after them."""

    def __init__(self, scope: Construct, construct_id: str, *, shared: Shared, **kwargs: Any) -> None:
        instance_type = shared.endpoint.instance_type
        super().__init__(scope, construct_id, description=f"{DESCRIPTION_PREFIX}models on {instance_type}", **kwargs)
        name = unique_name(self, str(cdk.ScopedAws(self).stack_name))
        resources = SharedEndpointResources(self, "Default", shared=shared, unique_name=name)
        govern(resources, shared.endpoint.security)
        self.template_options.metadata = StackLabel(instance_type, SHARED_ENDPOINT).as_metadata()
