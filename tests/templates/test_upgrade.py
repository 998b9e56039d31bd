"""An update from a kept release keeps what its stacks hold and what their callers use."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from slipway.changes import Change, classify
from support.deployments.known_deployments import ACCOUNT_SETTINGS, STAGING
from support.releases.kept_releases import Release, kept_releases
from support.releases.release_templates import templates_of
from support.templates.template_parts import Template, functions
from tools.release import SHIPPED, VARIANTS

ALLOWED = {"permission-widened"}  # `diff` shows it, and stops until somebody acknowledges it
HARMFUL = {"data-loss", "price"}  # even where `diff` does not stop
RELEASES = pytest.mark.parametrize("release", kept_releases(), ids=lambda release: release.version)


@pytest.fixture(scope="module")
def today() -> Callable[[Release], dict[str, Template]]:
    """Return a function that gives today's templates of a release's files."""
    return cache(templates_of)


def harm(before: Template, after: Template) -> list[str]:
    """Return the effects of an update that only a release with another first number may have."""
    return [
        f"{each.logical_id} ({each.type}): {each.kind}, {each.property} {each.sentence}"
        for each in classify(before, after)
        if is_harm(each)
    ]


def is_harm(change: Change) -> bool:
    return change.kind not in ALLOWED and (change.gated or change.kind in HARMFUL)


@RELEASES
def test_an_update_harms_no_stack(release: Release, today: Callable[[Release], dict[str, Template]]) -> None:
    templates = release.templates
    assert {name: found for name in templates if (found := harm(templates[name], today(release)[name]))} == {}


@RELEASES
def test_outputs_parameters_and_variables_of_a_stack_stay(
    release: Release, today: Callable[[Release], dict[str, Template]]
) -> None:
    """For the length of an update new code runs with the old environment, and old code with the new one."""
    gone = {name: names(kept) - names(today(release)[name]) for name, kept in release.templates.items()}
    assert {name: missing for name, missing in gone.items() if missing} == {}


def names(template: Template) -> set[str]:
    """Return what scripts, callers of `update-stack` and functions read by name."""
    found = {f"output {each}" for each in template.get("Outputs", {})}
    found |= {f"parameter {each}" for each in template.get("Parameters", {})}
    for logical_id, each in template["Resources"].items():
        variables = each.get("Properties", {}).get("Environment", {}).get("Variables", {})
        found |= {f"variable {name} of {logical_id}" for name in variables}
    return found


def test_the_next_release_keeps_a_resource_of_every_type(templates: dict[str, Template]) -> None:
    kept = [types(templates[name]) for name in (*SHIPPED, *VARIANTS, ACCOUNT_SETTINGS, STAGING)]
    assert set().union(*map(types, templates.values())) == set().union(*kept)


def types(template: Template) -> set[str]:
    return {each["Type"] for each in template["Resources"].values()}


def _renamed(template: Template, kind: str) -> None:
    name = _first(template, kind)
    template["Resources"][f"{name}New"] = template["Resources"].pop(name)


def _first(template: Template, kind: str) -> str:
    return str(next(name for name, each in template["Resources"].items() if each["Type"] == f"AWS::{kind}"))


def _set(kind: str, **properties: Any) -> Callable[[Template], None]:
    def edit(template: Template) -> None:
        template["Resources"][_first(template, kind)]["Properties"] |= properties

    return edit


def _renames(kind: str) -> Callable[[Template], None]:
    return lambda template: _renamed(template, kind)


def _deletes_with_the_table(template: Template) -> None:
    table = template["Resources"][_first(template, "DynamoDB::Table")]
    table["DeletionPolicy"] = table["UpdateReplacePolicy"] = "Delete"


def _loses_a_route(template: Template) -> None:
    template["Resources"].pop(
        next(
            name
            for name, each in template["Resources"].items()
            if each["Type"] == "AWS::ApiGateway::Method" and each["Properties"]["HttpMethod"] == "DELETE"
        )
    )


def _asks_for_a_signature(template: Template) -> None:
    for each in template["Resources"].values():
        if each["Type"] == "AWS::ApiGateway::Method":
            each["Properties"] |= {"AuthorizationType": "AWS_IAM", "ApiKeyRequired": False}


API, FLEET = "with-api-key", "slipway-fleet-qwen3-4b"
BREAKS = {
    "the table has another logical id": (API, _renames("DynamoDB::Table")),
    "the table has a name": (API, _set("DynamoDB::Table", TableName="jobs")),
    "the table goes with the stack": (API, _deletes_with_the_table),
    "the bucket has another logical id": (API, _renames("S3::Bucket")),
    "the queue becomes another one": (API, _set("SQS::Queue", QueueName="jobs")),
    "logs are kept for a day": (API, _set("Logs::LogGroup", RetentionInDays=1)),
    "the endpoint has another logical id": (API, _renames("SageMaker::Endpoint")),
    "the endpoint has another name": (API, _set("SageMaker::Endpoint", EndpointName="model")),
    "the API has another logical id": (API, _renames("ApiGateway::RestApi")),
    "a key has another logical id": (API, _renames("ApiGateway::ApiKey")),
    "a route goes": (API, _loses_a_route),
    "callers with a key must sign": (API, _asks_for_a_signature),
    "a stack set has another name": (FLEET, _set("CloudFormation::StackSet", StackSetName="chat")),
}


@pytest.mark.parametrize("fault", BREAKS)
def test_the_law_sees_a_planted_break(fault: str) -> None:
    name, plant = BREAKS[fault]
    kept = kept_releases()[-1].templates[name]
    changed = json.loads(json.dumps(kept))
    plant(changed)
    assert harm(kept, kept) == []
    assert harm(kept, changed)


def test_the_law_sees_a_machine_that_becomes_dearer() -> None:
    kept = kept_releases()[-1].templates["gpt2-ec2"]
    changed = json.loads(json.dumps(kept).replace("c5.xlarge", "c5.4xlarge"))
    assert any("price" in each for each in harm(kept, changed))


def test_the_law_sees_a_variable_that_goes() -> None:
    kept = kept_releases()[-1].templates["qwen3-4b"]
    changed = json.loads(json.dumps(kept))
    del functions(changed)["generate"]["Environment"]["Variables"]["ENDPOINT_URL"]
    assert len(names(kept) - names(changed)) == 1
