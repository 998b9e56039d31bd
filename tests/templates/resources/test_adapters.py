"""LoRA adapters in a template: components on the model's own, which come and go without touching anything else."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.model import Deployment
from llm_hosting.service import LlmService
from support.templates.services import synthesized
from support.templates.template_parts import Template, all_of, only, resources, variant

LEGAL, SALES = "s3://example-adapters/legal/", "s3://example-adapters/sales/"


def template(folder: Path, adapters: dict[str, str], name: str = "chat", **model: Any) -> Template:
    """Return the template of a model with these adapters."""
    deployment = Deployment.model_validate(
        {
            "region": "us-east-1",
            "model": {"id": "Qwen/Qwen3-4B", "adapters": adapters} | model,
            "serving": {"max_model_len": 8192},
            "hosting": {"instance_type": "ml.g6.2xlarge"},
        }
    )

    def fill(app: cdk.App) -> None:
        stack = cdk.Stack(app, name, env=cdk.Environment(region="us-east-1"))
        LlmService(stack, "Default", deployment=deployment)

    return synthesized(folder / f"assembly-{len(list(folder.iterdir()))}", fill)[name]


def components(made: Template) -> dict[str, dict[str, Any]]:
    """Return the specification of each adapter by the end of its component's name."""
    found = {}
    for each in all_of(made, "SageMaker::InferenceComponent"):
        if "BaseInferenceComponentName" in each["Specification"]:
            found[each["InferenceComponentName"]["Fn::Join"][1][-1]] = each["Specification"]
    return found


def changed(old: Template, new: Template) -> dict[str, str]:
    """Return the type of each resource that differs, but for the names of adapters in the functions' environment."""

    def plain(resource: dict[str, Any] | None) -> str:
        return json.dumps(_without_adapters(resource), sort_keys=True)

    every = old["Resources"].keys() | new["Resources"].keys()
    different = [each for each in every if plain(old["Resources"].get(each)) != plain(new["Resources"].get(each))]
    return {each: (old["Resources"].get(each) or new["Resources"][each])["Type"] for each in different}


def _without_adapters(resource: dict[str, Any] | None) -> Any:
    copied = json.loads(json.dumps(resource))
    if copied and copied["Type"] == "AWS::Lambda::Function":
        copied["Properties"].get("Environment", {}).get("Variables", {}).pop("ADAPTERS", None)
    return copied


def test_an_adapter_is_a_component_on_the_models_own(tmp_path: Path) -> None:
    made = template(tmp_path, {"legal": LEGAL})
    specification = components(made)["-legal"]
    assert specification["Container"] == {"ArtifactUrl": "s3://example-adapters/legal.tar.gz"}
    (base,) = [each for each in all_of(made, "SageMaker::InferenceComponent") if "ModelName" in each["Specification"]]
    assert specification["BaseInferenceComponentName"] == base["InferenceComponentName"]
    assert specification.keys() == {"BaseInferenceComponentName", "Container"}, "it has no resources of its own"
    assert variant(made)["ManagedInstanceScaling"]["MinInstanceCount"] == 1


def test_the_container_gets_room_for_adapters_whatever_their_number(tmp_path: Path) -> None:
    one, two = template(tmp_path, {"legal": LEGAL}), template(tmp_path, {"legal": LEGAL, "sales": SALES})
    environment = only(one, "SageMaker::Model")["Properties"]["PrimaryContainer"]["Environment"]
    assert environment == only(two, "SageMaker::Model")["Properties"]["PrimaryContainer"]["Environment"]
    assert environment["OPTION_ENABLE_LORA"] == "true"
    assert environment["OPTION_MAX_LORA_RANK"] == "16"
    assert int(environment["OPTION_MAX_CPU_LORAS"]) >= int(environment["OPTION_MAX_LORAS"])


def test_adding_and_removing_one_touches_nothing_else(tmp_path: Path) -> None:
    one, two = template(tmp_path, {"legal": LEGAL}), template(tmp_path, {"legal": LEGAL, "sales": SALES})
    kinds = ["AWS::IAM::Policy", "AWS::SageMaker::InferenceComponent"]
    assert sorted(changed(one, two).values()) == kinds
    assert all("sales" in each for each in changed(one, two))
    assert sorted(changed(two, one).values()) == kinds


def test_replacing_one_changes_its_component_and_gives_the_role_another_policy(tmp_path: Path) -> None:
    old = template(tmp_path, {"legal": LEGAL, "sales": SALES})
    new = template(tmp_path, {"legal": "s3://example-adapters/legal-2/", "sales": SALES})
    different = changed(old, new)
    assert sorted(different.values()) == ["AWS::IAM::Policy"] * 2 + ["AWS::SageMaker::InferenceComponent"]
    assert all("legal" in each for each in different)
    in_both = old["Resources"].keys() & new["Resources"].keys() & different.keys()
    assert [different[each] for each in in_both] == ["AWS::SageMaker::InferenceComponent"]


def test_the_functions_know_the_names_and_may_call_the_models_own_components_only(tmp_path: Path) -> None:
    made = template(tmp_path, {"sales": SALES, "legal": LEGAL})
    told = {each["Environment"]["Variables"].get("ADAPTERS") for each in all_of(made, "Lambda::Function")}
    assert "legal,sales" in told
    named = [
        resource
        for policy in all_of(made, "IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "sagemaker:InvokeEndpoint" in statement["Action"]
        for resource in statement["Resource"]
    ]
    patterns = [each for each in named if "*" in json.dumps(each)]
    assert patterns
    assert all(each["Fn::Join"][1][-1] == "-*" for each in patterns)
    assert all('"AWS::StackId"' in json.dumps(each) for each in patterns), "it begins with the stack's own name"


def test_the_role_reads_each_adapter_and_nothing_beside_it(tmp_path: Path) -> None:
    key = "arn:aws:kms:us-east-1:111122223333:key/1111abcd-0000-4000-8000-000000000001"
    made = template(tmp_path, {"legal": LEGAL}, weights_kms_key_arn=key, weights="s3://example-adapters/base/")
    (policy,) = [
        each for name, each in made["Resources"].items() if "Adapters" in name and each["Type"] == "AWS::IAM::Policy"
    ]
    objects, bucket, of_key = policy["Properties"]["PolicyDocument"]["Statement"]
    named = [each["Fn::Join"][1][-1] for each in objects["Resource"]]
    assert sorted(named) == [":s3:::example-adapters/legal.tar.gz", ":s3:::example-adapters/legal/*"]
    assert bucket["Condition"] == {"StringLike": {"s3:prefix": ["legal/*"]}}
    assert of_key["Resource"] == key


def test_adapters_come_after_the_model_and_go_before_it(tmp_path: Path) -> None:
    made = template(tmp_path, {"legal": LEGAL})
    (base,) = [
        name
        for name, each in made["Resources"].items()
        if each["Type"] == "AWS::SageMaker::InferenceComponent" and "ModelName" in each["Properties"]["Specification"]
    ]
    (adapter,) = [
        each for each in resources(made, "SageMaker::InferenceComponent") if "legal" in json.dumps(each["Properties"])
    ]
    assert base in adapter["DependsOn"]


def test_calls_of_adapters_count_against_the_idle_alarm(tmp_path: Path) -> None:
    made = template(tmp_path, {"legal": LEGAL})
    (idle,) = [each for name, each in made["Resources"].items() if "AlarmsIdle" in name]
    (calls,) = [each["MetricStat"]["Metric"] for each in idle["Properties"]["Metrics"] if each["Id"] == "calls"]
    assert (calls["Namespace"], [each["Name"] for each in calls["Dimensions"]]) == ("Slipway", ["EndpointConfigName"])


def test_a_component_with_too_long_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="use a name of at most 13 characters"):
        template(tmp_path, {"a-very-long-name": LEGAL}, name="c" * 40)
