"""Finds the metrics that a dashboard names, and what emits them: AWS for a resource, or our functions."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import yaml

from llm_hosting.catalog.instances import instances
from llm_hosting.portable.code.import_closure import import_closure
from support.repository import ROOT
from support.templates.template_parts import Template

Body = dict[str, Any]
Values = Mapping[str, str]  # of dimensions
Kind = tuple[str, str, tuple[str, ...]]  # a metric's namespace, name and dimensions

OURS, FUNCTION = "Slipway", "Lambda::Function"
_FUNCTIONS, _WORKER = ROOT / "lambda_src", "inference_api.worker.__main__"
_EMITTERS = {"emit", "emit_for_dashboard"}  # both under the dimension Deployment
_METRIC_NAME = re.compile("[A-Z][A-Za-z]+")
_SEARCH = re.compile(r"SEARCH\('\{([^,}]+),([^}]+)\}([^']*)'")
_TERM = re.compile(r'(\w+)="([^"]*)"')


class Metric(NamedTuple):
    """A metric that a widget names. values: of its dimensions; a search may leave some open."""

    kind: Kind
    values: Values


def text_of(value: Any) -> str:
    """Return a text with its references written out."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value and value["Fn::Join"][0] == "":
        return "".join(map(text_of, value["Fn::Join"][1]))
    return f"<{json.dumps(value, sort_keys=True)}>".replace('"', "'")


def body_of(template: Template) -> Body:
    """Return the body of the template's only dashboard, with references as texts."""
    (dashboard,) = (each for _, each in _of_type(template, "CloudWatch::Dashboard"))
    text = text_of(dashboard["DashboardBody"])
    for name, stage in _of_type(template, "ApiGateway::Stage"):
        text = text.replace(text_of({"Ref": name}), stage["StageName"])
    found: Body = json.loads(text)
    return found


def metrics_of(body: Body) -> Iterator[Metric]:
    """Yield every metric that a widget names, those of expressions and searches too."""
    for widget in body["widgets"]:
        for row in widget["properties"].get("metrics", []):
            names = [each for each in row if isinstance(each, str)]
            expression = "" if names else row[0]["expression"]
            for namespace, dimensions, terms in _SEARCH.findall(expression):
                values = dict(_TERM.findall(terms))
                yield Metric((namespace, values.pop("MetricName"), tuple(dimensions.split(","))), values)
            if names:
                namespace, name, *pairs = names
                yield Metric((namespace, name, tuple(pairs[::2])), dict(zip(pairs[::2], pairs[1::2], strict=True)))


def strangers(body: Body, *templates: Template) -> list[str]:
    """Return the metrics that no resource and no function of the templates emits."""
    known = [pair for template in templates for pair in _emitted(template)]
    return [
        f"{' '.join(kind[:2])} {dict(values)}"
        for kind, values in metrics_of(body)
        if not any(kind == each and values.items() <= there.items() for each, there in known)
    ]


def _emitted(template: Template) -> Iterator[tuple[Kind, Values]]:
    """Yield each metric that is emitted for a template, with the values of its dimensions."""
    there, in_code = _resources(template) | _of_service(template), _names_in_code(template)
    for row in yaml.safe_load((ROOT / "tests" / "metrics.yaml").read_text()):
        dimensions = tuple(row["dimensions"])
        names = in_code.intersection(row["names"]) if row["namespace"] == OURS else row["names"]
        for values in there.get(row["of"], []):
            own = {name: values[name] for name in dimensions}
            yield from (((row["namespace"], name, dimensions), own) for name in names)


def _of_service(template: Template) -> dict[str, list[Values]]:
    """Return the dimension of our own metrics, by the words of tests/metrics.yaml."""
    text, handlers = json.dumps(template["Resources"]), {each["Handler"] for _, each in _of_type(template, FUNCTION)}
    has = {
        "dashboard": True,
        "calls of the model": "inference_api.handlers.generate.handler" in handlers,
        "wakes": '"WAKES_PER_DAY"' in text,
        "jobs": '"JOB_TABLE"' in text,
        "batches": '"Batch Waits"' in text,
        "machines": bool(_of_type(template, "EC2::Instance")),
    }
    environments = [each.get("Environment", {}).get("Variables", {}) for _, each in _of_type(template, FUNCTION)]
    names = {text_of(each["DASHBOARD_OF"]) for each in environments if "DASHBOARD_OF" in each}
    return {kind: [{"Deployment": each} for each in names] for kind, is_there in has.items() if is_there}


def _resources(template: Template) -> dict[str, list[Values]]:
    """Return the values of the dimensions of what AWS measures, by the words of tests/metrics.yaml."""
    found: dict[str, list[Values]] = {
        "REST API": [
            {"ApiName": text_of(api["Name"]), "Stage": stage["StageName"]}
            for _, api in _of_type(template, "ApiGateway::RestApi")
            for _, stage in _of_type(template, "ApiGateway::Stage")
        ],
        "function": [{"FunctionName": text_of({"Ref": name})} for name, _ in _of_type(template, FUNCTION)],
        "queue": [
            {"QueueName": text_of({"Fn::GetAtt": [name, "QueueName"]})} for name, _ in _of_type(template, "SQS::Queue")
        ],
        "machine": [{"InstanceId": text_of({"Ref": name})} for name, _ in _of_type(template, "EC2::Instance")],
    }
    for _, endpoint in _of_type(template, "SageMaker::Endpoint"):
        for _, configuration in _of_type(template, "SageMaker::EndpointConfig"):
            (variant,) = configuration["ProductionVariants"]
            values = {"EndpointName": text_of(endpoint["EndpointName"]), "VariantName": variant["VariantName"]}
            kinds = ["instances of an endpoint"]
            types = [variant.get("InstanceType"), *(each["InstanceType"] for each in variant.get("InstancePools", []))]
            if all(instances()[each].kind == "gpu" for each in types if each):
                kinds.append("GPUs of an endpoint")
            if "ModelName" in variant:
                waits = "AsyncInferenceConfig" in configuration
                kinds.append(f"model of {'an asynchronous' if waits else 'a real-time'} endpoint")
            for kind in kinds:
                found.setdefault(kind, []).append(values)
    for _, component in _of_type(template, "SageMaker::InferenceComponent"):
        own = {"InferenceComponentName": text_of(component["InferenceComponentName"])}
        found.setdefault("inference component", []).append(own)
        needs = component["Specification"].get("ComputeResourceRequirements", {})
        if needs.get("NumberOfAcceleratorDevicesRequired"):
            found.setdefault("inference component with accelerators", []).append(own)
    return found


def _names_in_code(template: Template) -> set[str]:
    """Return the names of the metrics in the code that the template's functions and machines run."""
    modules = {each["Handler"].rpartition(".")[0] for _, each in _of_type(template, FUNCTION)}
    modules = {each for each in modules if each.startswith("inference_api.")}
    if _of_type(template, "EC2::Instance"):
        modules.add(_WORKER)
    return set().union(*(_names_in(path) for module in modules for path in import_closure(module, _files())))


@cache
def _names_in(path: str) -> frozenset[str]:
    """Return the names of metrics in a module: texts of that form, in modules that call an emitter."""
    if not path.endswith(".py") or path.endswith("shared/metrics.py"):
        return frozenset()
    tree = ast.parse(_files()[path])
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if not called & _EMITTERS:
        return frozenset()
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return frozenset(each for each in texts if _METRIC_NAME.fullmatch(each))


@cache
def _files() -> dict[str, bytes]:
    return {path.relative_to(_FUNCTIONS).as_posix(): path.read_bytes() for path in _FUNCTIONS.rglob("*.py")}


def _of_type(template: Template, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Return logical id and properties of each resource of a type."""
    return [
        (name, each.get("Properties", {}))
        for name, each in template["Resources"].items()
        if each["Type"] == f"AWS::{kind}"
    ]
