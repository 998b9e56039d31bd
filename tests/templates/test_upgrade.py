"""An update from a kept release keeps what its stacks hold and what their callers use."""

import json
import os
import runpy
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

from inference_api.shared.settings import job_settings, machine_settings, settings
from slipway.changes import Change, classify
from support.deployments.known_deployments import ACCOUNT_SETTINGS, STAGING
from support.releases.kept_releases import Release, kept_releases
from support.releases.release_templates import templates_of
from support.repository import ROOT
from support.templates.template_parts import Template, functions
from tools.release import SHIPPED, VARIANTS

ALLOWED = {"permission-widened"}  # `diff` shows it, and stops until somebody acknowledges it
HARMFUL = {"data-loss", "price"}  # even where `diff` does not stop
_AUTHORIZE = ROOT / "lambda_src" / "inference_api" / "handlers" / "authorize.py"
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
    """For a moment of an update old code runs with the new variables."""
    gone = {name: names(kept) - names(today(release)[name]) for name, kept in release.templates.items()}
    assert {name: missing for name, missing in gone.items() if missing} == {}


def names(template: Template) -> set[str]:
    """Return what scripts, callers of `update-stack` and functions read by name."""
    found = {f"output {each}" for each in template.get("Outputs", {})}
    found |= {f"parameter {each}" for each in template.get("Parameters", {})}
    for function, variables in environments(template).items():
        found |= {f"variable {name} of {function}" for name in variables}
    return found


def environments(template: Template) -> dict[str, dict[str, Any]]:
    """Return the variables of each function by its logical id."""
    kind, resources = "AWS::Lambda::Function", template["Resources"].items()
    found = {name: each["Properties"].get("Environment", {}) for name, each in resources if each["Type"] == kind}
    return {name: each.get("Variables", {}) for name, each in found.items()}


@RELEASES
def test_todays_functions_take_the_variables_of_a_release(
    release: Release, today: Callable[[Release], dict[str, Template]]
) -> None:
    """For a moment of an update new code runs with the old variables."""
    needed = {name: readable(each) for name, each in today(release).items()}
    unread = {
        f"{name}: {function}": missing
        for name, kept in release.templates.items()
        for function, settings_read in readable(kept).items()
        if (missing := needed[name].get(function, set()) - settings_read)
    }
    assert unread == {}


def readable(template: Template) -> dict[str, set[str]]:
    """Return by function the names of the settings that our functions can read from its variables."""
    return {function: set(_read(variables)) for function, variables in environments(template).items()}


def _read(variables: dict[str, Any]) -> Iterator[str]:
    # A value that CloudFormation fills in is a name or a number.
    environment = {name: value if isinstance(value, str) else "1" for name, value in variables.items()}
    with patch.dict(os.environ, environment, clear=True):
        for read in (settings, job_settings, machine_settings):
            with suppress(KeyError, ValueError, TypeError):
                read.__wrapped__()
                yield read.__name__
        with suppress(KeyError, ValueError, TypeError):
            runpy.run_path(str(_AUTHORIZE))  # a module that another test has imported would be a warning
            yield "authorize"


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


API, FLEET, OWN = "with-api-key", "slipway-fleet-qwen3-4b", "services"
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
    "the path of a domain has another logical id": (OWN, _renames("ApiGateway::BasePathMapping")),
    "the table of a service has another logical id": (OWN, _renames("DynamoDB::Table")),
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


@pytest.mark.parametrize(("variable", "reads"), [("ENDPOINT_URL", "settings"), ("JOB_SETTINGS", "job_settings")])
def test_the_law_sees_a_variable_that_the_release_did_not_set(variable: str, reads: str) -> None:
    kept = json.loads(json.dumps(kept_releases()[-1].templates["qwen3-4b"]))
    before = readable(kept)
    for variables in environments(kept).values():
        variables.pop(variable, None)
    assert set().union(*(before[name] - each for name, each in readable(kept).items())) == {reads}


def test_the_law_sees_a_variable_that_goes() -> None:
    kept = kept_releases()[-1].templates["qwen3-4b"]
    changed = json.loads(json.dumps(kept))
    del functions(changed)["generate"]["Environment"]["Variables"]["ENDPOINT_URL"]
    assert len(names(kept) - names(changed)) == 1
