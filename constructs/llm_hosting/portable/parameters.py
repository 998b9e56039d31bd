"""The parameters of a deployment's portable template: all that may differ between its targets."""

from collections.abc import Iterator

from ..resolution import Resolution
from .conditions import leave_out_access_logs, leave_out_endpoint
from .instance_types import exchangeable_types
from .parameter import Parameter
from .places import at

_SWITCH = ("true", "false")


def parameters_of(resolution: Resolution) -> list[Parameter]:
    """In the order in which a console shows them."""
    return [*_hosting(resolution), *_switches(resolution)]


def _hosting(resolution: Resolution) -> Iterator[Parameter]:
    hosting = resolution.deployment.hosting
    if types := exchangeable_types(resolution):
        name = "InstanceType"
        kind, path = "AWS::SageMaker::EndpointConfig", "ProductionVariants.0.InstanceType"
        if hosting.mode == "ec2":
            kind, path = "AWS::EC2::LaunchTemplate", "LaunchTemplateData.InstanceType"
        yield Parameter(
            name,
            "String",
            "Instance type: those for which the deployment's check has no error and nothing else changes. Replaces the "
            "instances.",
            default=types[0],
            allowed=types,
            places=(at(kind, path, {"Ref": name}),),
        )
    if hosting.mode != "ec2" and not hosting.instance_count.is_scaled:
        name = "InstanceCount"
        path = "ProductionVariants.0.InitialInstanceCount"
        yield Parameter(
            name,
            "Number",
            "Instances that serve the model, each billed by the hour.",
            default=str(hosting.instance_count.max),
            least=1,
            most=1000,
            places=(at("AWS::SageMaker::EndpointConfig", path, {"Ref": name}),),
        )


def _switches(resolution: Resolution) -> Iterator[Parameter]:
    yield Parameter(
        "DeployEndpoint",
        "String",
        "true: makes the endpoint, or the machines, which bill by the hour and need a quota for their type. false: all "
        "but that, for an account without the quota; the API then answers 503 endpoint_not_deployed.",
        default="false",
        allowed=_SWITCH,
        places=(leave_out_endpoint,),
    )
    if resolution.deployment.api.access_logs:
        yield Parameter(
            "ApiAccessLogs",
            "String",
            "true: one log line per request, without prompts; needs the stack slipway-account-settings in the account "
            "and region. false: none.",
            default="false",
            allowed=_SWITCH,
            places=(leave_out_access_logs,),
        )
