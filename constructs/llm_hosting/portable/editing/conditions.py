"""Parts of a portable template that a parameter leaves out: endpoint or machines, the API's access logs."""

from typing import Any

from .places import NO_VALUE, Template, of_type, walk

ENDPOINT, ACCESS_LOGS = "EndpointIsDeployed", "ApiLogsAccess"

# Resources that bill by the hour, and those that are useless without them.
_HOSTING = (
    "AWS::ApplicationAutoScaling::ScalableTarget",
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::CloudFormation::WaitCondition",
    "AWS::CloudFormation::WaitConditionHandle",
    "AWS::EC2::Instance",
    "AWS::EC2::LaunchTemplate",
    "AWS::SageMaker::Endpoint",
    "AWS::SageMaker::EndpointConfig",
    "AWS::SageMaker::InferenceComponent",
    "AWS::SageMaker::Model",
)
_NAMES_OF_ENDPOINT = {"EndpointName", "EndpointConfigName", "InferenceComponentName"}  # dimensions of metrics
# On purpose: without an endpoint every prompt gets a 503, and open jobs wait until their deadline.
_METRICS_WITH_ENDPOINT = {"5XXError", "ApproximateAgeOfOldestMessage"}
_OUTPUTS = ("Dashboard", "EndpointName", "EndpointPage", "IdleAlarm", "InferenceComponentName", "Machines")


def only_if(condition: str, value: Any, otherwise: Any = NO_VALUE) -> dict[str, Any]:
    """Return the value under the condition, else AWS::NoValue."""
    return {"Fn::If": [condition, value, otherwise]}


def leave_out_endpoint(template: Template) -> None:
    """Create the endpoint or the machines, and everything useless without them, only under a condition.

    Functions stay and read `ENDPOINT_DEPLOYED`. Their references to a missing resource become empty texts.
    """
    alarms = of_type(template, "AWS::CloudWatch::Alarm").items()
    bound = bind(
        template,
        {*of_type(template, *_HOSTING), *(name for name, each in alarms if _needs_endpoint(each))},
        ENDPOINT,
    )
    for function in of_type(template, "AWS::Lambda::Function").values():
        function["Properties"] = _guarded(function["Properties"], bound)
        function["Properties"]["Environment"]["Variables"]["ENDPOINT_DEPLOYED"] = {"Ref": "DeployEndpoint"}
    for name in template["Outputs"].keys() & set(_OUTPUTS):
        template["Outputs"][name]["Condition"] = ENDPOINT


def bind(template: Template, names: set[str], condition: str) -> set[str]:
    """Create resources only under a condition, with all that refers to them but functions.

    A narrower condition of a resource stays.
    """
    resources = template["Resources"]
    bound = set(names)
    while more := {name for name, each in resources.items() if _goes_with(each, bound)} - bound:
        bound |= more
    for name in bound:
        resources[name].setdefault("Condition", condition)
    return bound


def leave_out_access_logs(template: Template) -> None:
    """Switch the access logs by a condition. Their log group stays, so that nothing is deleted with them."""
    for stage in of_type(template, "AWS::ApiGateway::Stage").values():
        setting = stage["Properties"]["AccessLogSetting"]
        stage["Properties"]["AccessLogSetting"] = only_if(ACCESS_LOGS, setting)


def referred(value: Any) -> set[str]:
    """Return the logical ids that a value refers to."""
    found = set()
    for each in walk(value):
        if isinstance(each, dict) and len(each) == 1:
            if isinstance(name := each.get("Ref"), str):
                found.add(name)
            elif "Fn::GetAtt" in each:
                found.add(each["Fn::GetAtt"][0])
    return found


def _needs_endpoint(alarm: dict[str, Any]) -> bool:
    parts = [each for each in walk(alarm) if isinstance(each, dict)]
    names = {each["Name"] for each in parts if set(each) == {"Name", "Value"}}
    metrics = {each["MetricName"] for each in parts if "MetricName" in each}
    return bool(names & _NAMES_OF_ENDPOINT or metrics & _METRICS_WITH_ENDPOINT)


def _goes_with(resource: dict[str, Any], bound: set[str]) -> bool:
    return resource["Type"] != "AWS::Lambda::Function" and bool(referred(resource.get("Properties")) & bound)


def _guarded(value: Any, bound: set[str]) -> Any:
    if isinstance(value, list):
        return [_guarded(each, bound) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and ({"Ref", "Fn::GetAtt"} & value.keys()) and referred(value) & bound:
        return only_if(ENDPOINT, value, "")
    return {name: _guarded(each, bound) for name, each in value.items()}
