"""`LlmService` in stacks of a team's own: several services, names, grants, metrics, wrong input."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError
from llm_hosting.project import use_project
from slipway import LlmService
from support.own_project import own_project
from support.templates.house_rules import RULES
from support.templates.services import ON_MACHINES, REALTIME, an_app, asynchronous, synthesized
from support.templates.template_parts import Template, all_of

CHAT, JOBS, MACHINES = "services-chat", "services-jobs", "services-ec2"
OWN_RULE = """
from slipway.rules import Finding, error

@error
def own(resolution):
    yield Finding("api", "is not for {name}")
"""
SIGNED = iam.ServicePrincipal("lambda.amazonaws.com")


class Services(cdk.Stack):
    """A stack of a team, with a service of each mode."""

    def __init__(self, scope: cdk.App, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.chat = LlmService(self, "Chat", deployment=REALTIME)
        self.jobs = LlmService(self, "Jobs", deployment=asynchronous())
        self.machines = LlmService(self, "Ec2", deployment=ON_MACHINES)
        self.caller = iam.Role(self, "Caller", assumed_by=SIGNED)
        self.jobs.grant_call(self.caller)


@pytest.fixture(scope="module")
def made() -> dict[str, Services]:
    return {}


@pytest.fixture(scope="module")
def template(made: dict[str, Services], tmp_path_factory: pytest.TempPathFactory) -> Template:
    def fill(app: cdk.App) -> None:
        made["Services"] = Services(app, "Services")

    return synthesized(tmp_path_factory.mktemp("services"), fill)["Services"]


@pytest.fixture(scope="module")
def services(made: dict[str, Services], template: Template) -> Services:
    return made["Services"]


def owned(template: Template, service: str) -> Template:
    """Return the template with the resources of one service only, by the prefix of their logical ids."""
    resources = {name: each for name, each in template["Resources"].items() if name.startswith(service)}
    return template | {"Resources": resources}


def names_in(template: Template) -> set[str]:
    """Return every name that the resources give to something outside of the stack."""
    found: list[Any] = [each["EndpointName"] for each in all_of(template, "SageMaker::Endpoint")]
    found += [each["LogGroupName"] for each in all_of(template, "Logs::LogGroup") if "LogGroupName" in each]
    found += [each["Name"] for each in all_of(template, "ApiGateway::RestApi")]
    found += [each["Value"] for each in tags_in(template) if each["Key"] == "slipway:deployment"]
    found += [
        dimension["Value"]
        for alarm in all_of(template, "CloudWatch::Alarm")
        for dimension in alarm.get("Dimensions", [])
        if dimension["Name"] in ("Deployment", "EndpointName")
    ]
    variables = [each.get("Environment", {}).get("Variables", {}) for each in all_of(template, "Lambda::Function")]
    found += [each["DEPLOYMENT_NAME"] for each in variables if "DEPLOYMENT_NAME" in each]
    patterns = [each["EventPattern"] for each in all_of(template, "Events::Rule") if "EventPattern" in each]
    found += [name for each in patterns for name in each["detail"]["deployment"]]
    return {json.dumps(each, sort_keys=True) for each in found}


def tags_in(template: Template) -> list[dict[str, Any]]:
    return [
        tag
        for each in template["Resources"].values()
        if isinstance(tags := each.get("Properties", {}).get("Tags"), list)
        for tag in tags
    ]


def statements_of(template: Template, role: str) -> list[Any]:
    """Return the statements of the policies whose logical ids begin with the role's."""
    return [
        statement
        for name, each in template["Resources"].items()
        if name.startswith(role)
        for statement in each["Properties"].get("PolicyDocument", {}).get("Statement", [])
    ]


def test_services_of_a_stack_share_no_name(template: Template) -> None:
    for service, name in (("Chat", CHAT), ("Jobs", JOBS), ("Ec2", MACHINES)):
        names = names_in(owned(template, service))
        assert len(names) > 1
        assert [each for each in names if name not in each] == []


def test_the_stack_of_a_team_is_named_nowhere_because_sagemaker_lower_cases_names(template: Template) -> None:
    assert "AWS::StackName" not in json.dumps(template["Resources"])


def test_the_template_keeps_the_house_rules(template: Template) -> None:
    assert {rule.__name__: found for rule in RULES if (found := rule(template))} == {}


def test_every_service_has_the_outputs_of_a_stack_of_its_own(
    template: Template, templates: dict[str, Template]
) -> None:
    for service, alone in (("Chat", "gpt2"), ("Ec2", "gpt2-ec2")):
        outputs = {
            re.sub("[0-9A-F]{8}$", "", name.removeprefix(service))
            for name in template["Outputs"]
            if name.startswith(service)
        }
        assert outputs == {*templates[alone]["Outputs"], "ServiceName"}


def test_a_service_is_the_stack_of_its_deployment_but_for_names(
    template: Template, templates: dict[str, Template]
) -> None:
    types = sorted(each["Type"] for each in owned(template, "Chat")["Resources"].values())
    assert types == sorted(each["Type"] for each in templates["gpt2"]["Resources"].values())


def test_an_endpoint_waits_for_its_own_service_only(template: Template) -> None:
    endpoints = {
        name: each for name, each in template["Resources"].items() if each["Type"] == "AWS::SageMaker::Endpoint"
    }
    for name, endpoint in endpoints.items():
        service = "Chat" if name.startswith("Chat") else "Jobs"
        assert {each for each in endpoint["DependsOn"] if not each.startswith(service)} == set()


def test_the_label_names_the_model_and_the_mode_of_every_service(template: Template) -> None:
    services = template["Metadata"]["Slipway"]["services"]
    assert {name: each["mode"] for name, each in services.items()} == {
        CHAT: "realtime",
        JOBS: "async",
        MACHINES: "ec2",
    }
    assert set(services[CHAT]["outputs"].values()) < template["Outputs"].keys()


def test_a_caller_may_call_the_one_api(template: Template, services: Services) -> None:
    (statement,) = statements_of(template, "Caller")
    assert statement["Action"] == "execute-api:Invoke"
    assert services.resolve(services.jobs.api.rest_api_id)["Ref"] in json.dumps(statement["Resource"])


def test_a_caller_in_a_stack_of_a_known_region_is_granted_without_a_finding(tmp_path: Path) -> None:
    def fill(app: cdk.App) -> None:
        stack = cdk.Stack(app, "Services", env=cdk.Environment(account="111122223333", region="eu-west-1"))
        LlmService(stack, "Chat", deployment=REALTIME).grant_call(iam.Role(stack, "Caller", assumed_by=SIGNED))

    template = synthesized(tmp_path, fill)["Services"]
    (statement,) = statements_of(template, "Caller")
    assert ":execute-api:eu-west-1:111122223333:" in json.dumps(statement["Resource"])


def test_another_stack_gets_the_names_of_the_service_and_not_its_own(tmp_path: Path) -> None:
    def fill(app: cdk.App) -> None:
        for name in ("services", "chat"):
            stack, id = cdk.Stack(app, name), "Chat" if name == "services" else "Default"
            service = LlmService(stack, id, deployment=REALTIME)
            elsewhere = cdk.Stack(app, f"{name}-board")
            cdk.CfnOutput(elsewhere, "Name", value=service.name)
            cdk.CfnOutput(elsewhere, "EndpointName", value=service.endpoint_name or "")
            for metric in (service.metric_model_latency(), service.metric_requests(), service.metric_failed_jobs()):
                metric.create_alarm(elsewhere, str(metric.metric_name), evaluation_periods=1, threshold=1)

    templates = synthesized(tmp_path, fill)
    for name in ("services", "chat"):
        assert "AWS::Stack" not in json.dumps(templates[f"{name}-board"]["Resources"])
        assert "AWS::Stack" not in json.dumps(templates[f"{name}-board"]["Outputs"])


def test_what_a_mode_does_not_have_is_none(services: Services) -> None:
    assert services.machines.endpoint_name is None
    assert services.chat.endpoint_name is not None
    with pytest.raises(ValueError, match=r"Services/Ec2: hosting.mode: ec2 has no metric"):
        services.machines.metric_model_latency()


def test_functions_and_log_groups_are_found_by_name(services: Services) -> None:
    assert set(services.chat.functions) == {"generate", "route", "poll_job", "every_minute", "run_job"}
    assert set(services.jobs.log_groups) == {*services.jobs.functions, "model", "access"}


def test_alarms_are_found_by_name(services: Services, template: Template) -> None:
    for name in ("ServerErrors", "Throttles", "Failed", "Latency"):
        logical_id = services.get_logical_id(services.chat.alarms[name].node.default_child)
        assert template["Resources"][logical_id]["Type"] == "AWS::CloudWatch::Alarm"


def test_metrics_take_the_options_of_a_cdk_metric(services: Services) -> None:
    metric = services.chat.metric_oldest_job(period=cdk.Duration.minutes(15))
    assert metric.period.to_minutes() == 15
    assert services.chat.metric_requests(statistic="Sum").statistic == "Sum"
    assert services.resolve(services.jobs.metric_failed_jobs().dimensions) == {"Deployment": JOBS}


def alone(tmp_path: Path, name: str = "Services", **arguments: Any) -> LlmService:
    return LlmService(cdk.Stack(an_app(tmp_path), name), "Chat", **arguments)


def test_a_service_without_jobs_has_no_store(tmp_path: Path) -> None:
    service = alone(tmp_path, deployment=Path("tests/deployments/jobs-off.yaml"))
    assert (service.table, service.bucket, service.queue) == (None, None, None)
    with pytest.raises(ValueError, match=r"takes no jobs: its deployment has jobs.enabled: false"):
        service.metric_waiting_jobs()


def test_only_signed_callers_are_granted(tmp_path: Path) -> None:
    service = alone(tmp_path, deployment=Path("tests/deployments/with-api-key.yaml"))
    role = iam.Role(service, "Caller", assumed_by=SIGNED)
    with pytest.raises(ValueError, match=r"no grant lets callers in with api.auth: api-key; give its callers a key"):
        service.grant_call(role)


@pytest.mark.parametrize(
    ("deployment", "error", "said"),
    [
        ("deployments/gpt3.yaml", UnknownDeploymentError, "Did you mean"),
        (asynchronous(hosting={"instance_type": "ml.g6.huge"}), DeploymentError, "Services/Chat is refused: 1 problem"),
        ({"model": {"id": "gpt2"}}, DeploymentError, "is no deployment; pass a file's path, or Deployment.model_valid"),
        (asynchronous(serving={"handler": "mine"}), DeploymentError, "serving.handler: 'mine' is not a folder"),
    ],
    ids=["no file", "a wrong setting", "a mapping", "no handler"],
)
def test_a_wrong_deployment_is_refused_in_one_message(
    tmp_path: Path, deployment: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        alone(tmp_path, deployment=deployment)


def test_each_service_is_judged_by_the_rules_around_its_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with own_project(tmp_path / name, {}, OWN_RULE.format(name=name)):
            shutil.copy(REALTIME, tmp_path / name / "deployments" / "chat.yaml")
    stack = cdk.Stack(an_app(tmp_path), "a")
    try:
        for name in ("one", "two"):
            with pytest.raises(DeploymentError, match=f"api: is not for {name}"):
                LlmService(stack, name, deployment=tmp_path / name / "deployments" / "chat.yaml")
        LlmService(stack, "B", deployment=REALTIME)
    finally:
        use_project(None)


def test_two_ids_that_give_one_name_are_refused(tmp_path: Path) -> None:
    stack = cdk.Stack(an_app(tmp_path), "Services")
    LlmService(stack, "Chat", deployment=REALTIME)
    with pytest.raises(ValueError, match="the stack has another service 'services-chat'; choose another id"):
        LlmService(stack, "chat", deployment=REALTIME)


def test_a_service_that_cannot_have_the_name_of_its_stack_is_labelled_with_its_own(tmp_path: Path) -> None:
    stack = cdk.Stack(an_app(tmp_path), "TeamChat")
    LlmService(stack, "Default", deployment=REALTIME)
    assert list(stack.template_options.metadata["Slipway"]["services"]) == ["teamchat"]
    assert stack.template_options.description is None


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (lambda app: (cdk.Stack(app, "chat"), "Default"), "${AWS::StackName}"),
        (lambda app: (cdk.Stack(app, "TeamChat"), "Default"), "teamchat"),
        (lambda app: (cdk.Stack(cdk.Stage(app, "Prod"), "Llm"), "Chat"), "prod-llm-chat"),
        (lambda app: (cdk.NestedStack(cdk.Stack(app, "Outer"), "Inner"), "Chat"), "outer-inner-chat"),
        (lambda app: (cdk.Stack(app, "a" * 60), "Chat"), f"{'a' * 41}-0"),
    ],
    ids=["a stack of its own", "upper case", "a stage", "a nested stack", "too long"],
)
def test_the_name_fits_sagemaker(tmp_path: Path, place: Callable[[cdk.App], tuple[cdk.Stack, str]], name: str) -> None:
    stack, construct_id = place(an_app(tmp_path))
    found = stack.resolve(LlmService(stack, construct_id, deployment=REALTIME).name)
    assert (f"${{{found['Ref']}}}" if isinstance(found, dict) else found).startswith(name[:42])
    assert isinstance(found, dict) or re.fullmatch("[a-z][a-z0-9-]{0,49}", found)
