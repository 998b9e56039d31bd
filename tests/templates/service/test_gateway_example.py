"""`examples/gateway`: LiteLLM's proxy on Fargate. cdk-nag judges the stack; a finding raises."""

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
import yaml

from examples.gateway.gateway import Gateway
from local_cloud.checks import lint
from slipway.gateway.litellm import configuration
from support.gateway import backend, pools_of
from support.templates.services import an_app, synthesized
from support.templates.template_parts import Template, all_of, properties

IMAGE = f"ghcr.io/berriai/litellm@sha256:{'0a' * 32}"
CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/1"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "config.yaml"
    path.write_text(yaml.safe_dump(configuration(pools_of(backend("qwen3-4b"), backend("gpt2")))))
    return path


@pytest.fixture(scope="module")
def template(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Template:
    def fill(app: cdk.App) -> None:
        Gateway(app, "slipway-gateway", config=config, image=IMAGE, certificate_arn=CERTIFICATE)

    return synthesized(tmp_path_factory.mktemp("gateway"), fill)["slipway-gateway"]


def container(template: Template) -> dict[str, Any]:
    (found,) = properties(template, "ECS::TaskDefinition")["ContainerDefinitions"]
    return dict(found)


def statements(template: Template, role: str) -> list[dict[str, Any]]:
    """Return the statements of the policy of a role, whose logical id begins so."""
    return [
        statement
        for name, each in template["Resources"].items()
        if each["Type"] == "AWS::IAM::Policy" and name.startswith(role)
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_the_template_is_valid(template: Template, tmp_path: Path) -> None:
    path = tmp_path / "gateway.template.json"
    path.write_text(yaml.safe_dump(template))
    lint([path], ["us-east-1"])


def test_each_variable_of_the_configuration_comes_from_secrets_manager(template: Template) -> None:
    names = {each["Name"] for each in container(template)["Secrets"]}
    assert names == {"LITELLM_MASTER_KEY", "SLIPWAY_KEY_QWEN3_4B", "SLIPWAY_KEY_GPT2"}


def test_the_proxy_may_read_its_configuration_and_nothing_else(template: Template) -> None:
    (only,) = statements(template, "TaskTaskRole")
    assert only["Action"] == "s3:GetObject"
    assert "/*" not in str(only["Resource"])


def test_the_agent_may_read_the_one_secret_and_write_the_one_log(template: Template) -> None:
    actions = [action for each in statements(template, "TaskExecutionRole") for action in each["Action"]]
    assert sorted(actions) == [
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "secretsmanager:DescribeSecret",
        "secretsmanager:GetSecretValue",
    ]
    assert not [each for each in statements(template, "TaskExecutionRole") if each["Resource"] == "*"]


def test_the_load_balancer_is_internal_and_speaks_tls(template: Template) -> None:
    assert properties(template, "ElasticLoadBalancingV2::LoadBalancer")["Scheme"] == "internal"
    listener = properties(template, "ElasticLoadBalancingV2::Listener")
    assert (listener["Port"], listener["Protocol"]) == (443, "HTTPS")


def test_a_silent_stream_is_not_cut(template: Template) -> None:
    attributes = properties(template, "ElasticLoadBalancingV2::LoadBalancer")["LoadBalancerAttributes"]
    assert {"Key": "idle_timeout.timeout_seconds", "Value": "900"} in attributes


def test_logs_are_kept_for_a_limited_time(template: Template) -> None:
    assert all(each["RetentionInDays"] for each in all_of(template, "Logs::LogGroup"))


def test_an_image_without_a_digest_is_refused(config: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no digest"):
        Gateway(an_app(tmp_path), "gateway", config=config, image="ghcr.io/berriai/litellm:main", certificate_arn="")
