"""The picture of a deployed stack, made from its template: what it does not hold is not drawn."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.pictures.drawing import Drawing

# Services by the prefix of their actions, in the order of the wires: title and role in the stack.
WIRES = {
    "sqs": ("SQS", "job queue"),
    "dynamodb": ("DynamoDB", "job table"),
    "s3": ("S3", "job bucket"),
    "events": ("EventBridge", "job ended"),
    "sagemaker": ("SageMaker", "endpoint"),
}
NOT_DRAWN = {"logs", "xray"}  # every function has them
READING = re.compile(r"(Get|BatchGet|Query|List|Describe|Receive|Head)")
AUTHORIZATION = {"AWS_IAM": "signed", "NONE": "open"}
SCHEDULES = {"rate(1 minute)": "each minute"}
ALARMS = {
    "AWS/SageMaker": "endpoint",
    "AWS/SQS": "queues",
    "AWS/Lambda": "functions",
    "AWS/ApiGateway": "API",
    "AWS/DynamoDB": "table",
    "Slipway": "jobs",
}

# Pixels. A column is its left edge and its width.
FRAME, ROUTES, FUNCTIONS = 104, (118, 160), (318, 142)
WIRE_BOX, ENDPOINT_BOX, GAP, FIRST_WIRE_BOX = 98, 140, 6, 480
TOP, ROW, BOX, APART = (
    190,
    34,
    28,
    14,
)  # the first row's middle, from row to row, a box's height, before the other causes


@dataclass(frozen=True)
class Function:
    """cause: its route, or what else starts it. touches: whether it changes what it reaches, by service."""

    name: str
    cause: str
    touches: dict[str, bool]


def picture(name: str, template: dict[str, Any]) -> str:
    """The stack as SVG. Raises KeyError for a permission on a service without a wire, or an alarm of unknown kind."""
    functions = sorted(_functions(template), key=lambda each: not _is_route(each.cause))
    services = [service for service in WIRES if any(service in each.touches for each in functions)]
    rows = [TOP + ROW * index + APART * (not _is_route(each.cause)) for index, each in enumerate(functions)]
    right = FIRST_WIRE_BOX + (len(services) - 1) * (WIRE_BOX + GAP) + ENDPOINT_BOX
    drawing = Drawing(
        right + 30,
        rows[-1] + 106,
        f"The stack of {name}",
        f"A caller reaches functions through API Gateway; dots show which services each of the {len(rows)} may use.",
    )
    drawing.box(FRAME, 62, right + 14 - FRAME, rows[-1] + 28, "frame")
    drawing.text(FRAME + 4, 52, f"one stack: {name}, {len(template['Resources'])} resources", "title", room=500)
    _draw_api(drawing, template, [row for row, each in zip(rows, functions, strict=True) if _is_route(each.cause)])
    drawing.text(*_middle(FUNCTIONS, 110), "Lambda", "title", room=FUNCTIONS[1], anchor="middle")
    drawing.text(*_middle(FUNCTIONS, 128), f"{len(rows)} functions", "quiet", room=FUNCTIONS[1], anchor="middle")
    wires = _draw_services(drawing, template, services, dict(zip(rows, functions, strict=True)))
    for row, function in zip(rows, functions, strict=True):
        _draw_function(drawing, function, row, wires)
    _draw_footer(drawing, template, rows[-1] + 44, right)
    return drawing.svg()


def _draw_services(
    drawing: Drawing, template: dict[str, Any], services: list[str], rows: dict[int, Function]
) -> dict[str, float]:
    """Their boxes, and the wire down from each; the wires' x by service."""
    wires = {}
    left = FIRST_WIRE_BOX
    for service in services:
        width = ENDPOINT_BOX if service == "sagemaker" else WIRE_BOX
        wires[service] = x = left + width / 2
        drawing.line((x, 160), (x, max(row for row, each in rows.items() if service in each.touches)))
        drawing.box(left, 84, width, 76, "box strong" if service == "sagemaker" else "box")
        for y, words, kind in zip((110, 128), WIRES[service], ("title", "quiet"), strict=True):
            drawing.text(x, y, words, kind, room=width, anchor="middle")
        left += width + GAP
    variant = _all(template, "SageMaker::EndpointConfig")[0]["ProductionVariants"][0]
    machine = f"{variant['InitialInstanceCount']} x {variant['InstanceType']}"
    drawing.text(wires["sagemaker"], 147, machine, "code", room=ENDPOINT_BOX, anchor="middle")
    drawing.text(left - GAP, 32, "weights: Hugging Face Hub or S3", "quiet", room=300, anchor="end")
    drawing.line((wires["sagemaker"], 40), (wires["sagemaker"], 82), kind="flow", arrow=True)
    return wires


def _draw_api(drawing: Drawing, template: dict[str, Any], rows: list[int]) -> None:
    x, width = ROUTES
    drawing.box(x, 84, width, rows[-1] + 20 - 84)
    (stage,) = _all(template, "ApiGateway::Stage")
    lines = (("API Gateway", "title"), (f"REST API, stage {stage['StageName']}", "quiet"), ("throttle, logs", "quiet"))
    for y, (words, kind) in zip((110, 128, 146), lines, strict=True):
        drawing.text(*_middle(ROUTES, y), words, kind, room=width, anchor="middle")
    middle = (rows[0] + rows[-1]) / 2
    drawing.box(16, middle - 22, 66, 44)
    drawing.text(49, middle + 5, "caller", "title", room=66, anchor="middle")
    drawing.line((82, middle), (x - 2, middle), kind="flow", arrow=True)
    kinds = sorted({_authorization(each) for each in _all(template, "ApiGateway::Method")})
    drawing.text(49, middle + 40, " or ".join(kinds), "quiet", room=88, anchor="middle")
    drawing.text(49, middle + 56, "HTTPS", "quiet", room=88, anchor="middle")


def _draw_function(drawing: Drawing, function: Function, row: int, wires: dict[str, float]) -> None:
    x, width = ROUTES
    if not _is_route(function.cause):
        drawing.box(x, row - BOX / 2, width, BOX)
    drawing.text(x + 10, row + 4, function.cause, "code", room=width - 12)
    drawing.line((x + width, row), (FUNCTIONS[0] - 2, row), kind="flow", arrow=True)
    end = FUNCTIONS[0] + FUNCTIONS[1]
    drawing.line((end, row), (max(wires[service] for service in function.touches), row))
    drawing.box(FUNCTIONS[0], row - BOX / 2, FUNCTIONS[1], BOX)
    drawing.text(FUNCTIONS[0] + 10, row + 4, function.name, "code", room=FUNCTIONS[1] - 12)
    for service, changes in function.touches.items():
        drawing.dot(wires[service], row, solid=changes)


def _draw_footer(drawing: Drawing, template: dict[str, Any], y: int, right: int) -> None:
    x, room = ROUTES[0], right - ROUTES[0]
    drawing.dot(x + 5, y - 4, solid=True)
    drawing.text(x + 18, y, "changes or calls it", "quiet", room=150)
    drawing.dot(x + 165, y - 4, solid=False)
    drawing.text(x + 178, y, "only reads it", "quiet", room=120)
    drawing.text(x + 290, y, "beside its log, a function's role allows what its dots show", "quiet", room=500)
    (endpoint,) = _all(template, "SageMaker::Endpoint")
    rolling = {each["AlarmName"]["Ref"] for each in endpoint["DeploymentConfig"]["AutoRollbackConfiguration"]["Alarms"]}
    alarms = {key: each for key, each in template["Resources"].items() if each["Type"] == "AWS::CloudWatch::Alarm"}
    told = Counter(ALARMS[_namespace(each["Properties"])] for key, each in alarms.items() if key not in rolling)
    watched = ", ".join(f"{count} on {what}" for what, count in told.items())
    logs = len(_all(template, "Logs::LogGroup"))
    words = f"{len(alarms)} alarms: {len(rolling)} to roll a bad update back, {watched}; {logs} log groups"
    drawing.text(x, y + 24, words, "quiet", room=room)


def _functions(template: dict[str, Any]) -> Iterator[Function]:
    routes: dict[str, list[str]] = {}
    for each in _all(template, "ApiGateway::Method"):
        if "Uri" in each["Integration"]:
            function, route = _function(template, each["Integration"]["Uri"]), _path(template, each["ResourceId"])
            routes.setdefault(function, []).append(f"{each['HttpMethod']} {route}")
    causes = {
        function: min(each, key=len) + (f", +{len(each) - 1}" if len(each) > 1 else "")
        for function, each in routes.items()
    }
    for each in _all(template, "Events::Rule"):
        if "ScheduleExpression" in each:  # and not for an event
            causes[_function(template, each["Targets"])] = SCHEDULES[each["ScheduleExpression"]]
    for each in _all(template, "Lambda::EventSourceMapping"):
        causes[_function(template, each["FunctionName"])] = "each queue message"
    for key, each in template["Resources"].items():
        if each["Type"] == "AWS::Lambda::Function":
            name = each["Properties"]["Handler"].split(".")[-2]
            yield Function(name, causes[key], _touches(template, each["Properties"]["Role"]))


def _touches(template: dict[str, Any], role: Any) -> dict[str, bool]:
    (role_id,) = re.findall(r'"Fn::GetAtt": \["(\w+)"', json.dumps(role))
    touched: dict[str, bool] = {}
    for policy in _all(template, "IAM::Policy"):
        if {"Ref": role_id} not in policy["Roles"]:
            continue
        for statement in policy["PolicyDocument"]["Statement"]:
            actions = statement["Action"]
            for action in [actions] if isinstance(actions, str) else actions:
                service, _, verb = action.partition(":")
                if service not in NOT_DRAWN:
                    WIRES[service]
                    touched[service] = touched.get(service, False) or not READING.match(verb)
    return touched


def _function(template: dict[str, Any], reference: Any) -> str:
    """The logical id of the one function that a reference, however nested, names."""
    ids = set(re.findall(r'"(?:Ref|Fn::GetAtt)": \[?"(\w+)"', json.dumps(reference)))
    found: str
    (found,) = (key for key in ids if template["Resources"].get(key, {}).get("Type") == "AWS::Lambda::Function")
    return found


def _path(template: dict[str, Any], reference: Any) -> str:
    if "Ref" not in reference:
        return ""
    resource = template["Resources"][reference["Ref"]]["Properties"]
    return f"{_path(template, resource['ParentId'])}/{resource['PathPart']}"


def _is_route(cause: str) -> bool:
    return " /" in cause


def _authorization(method: dict[str, Any]) -> str:
    return "with a key" if method.get("ApiKeyRequired") else AUTHORIZATION[method["AuthorizationType"]]


def _namespace(alarm: dict[str, Any]) -> str:
    for metric in alarm.get("Metrics", []):
        if "MetricStat" in metric:
            return str(metric["MetricStat"]["Metric"]["Namespace"])
    return str(alarm["Namespace"])


def _middle(column: tuple[int, int], y: int) -> tuple[float, int]:
    return column[0] + column[1] / 2, y


def _all(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each["Properties"] for each in template["Resources"].values() if each["Type"] == f"AWS::{kind}"]
