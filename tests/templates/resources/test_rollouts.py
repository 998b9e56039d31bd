"""The update of an endpoint as its template has it: all at once, by a canary, in batches; and reserved capacity."""

from typing import Any

from llm_hosting.deployment.settings.hosting import Hosting
from llm_hosting.resolution.variant_weight import variant_weight
from support.templates.template_parts import Template, all_of, functions, properties, resources, variant


def deployment_config(template: Template) -> dict[str, Any]:
    found: dict[str, Any] = properties(template, "SageMaker::Endpoint")["DeploymentConfig"]
    return found


def guards(template: Template) -> set[str]:
    """Return the metrics of the alarms that undo an update."""
    alarms = deployment_config(template)["AutoRollbackConfiguration"]["Alarms"]
    names = [each["AlarmName"]["Ref"] for each in alarms]
    return {template["Resources"][name]["Properties"]["MetricName"] for name in names}


def test_a_canary_is_watched_before_and_after_the_other_requests_follow(templates: dict[str, Template]) -> None:
    config = deployment_config(templates["canary"])
    assert config["BlueGreenUpdatePolicy"] == {
        "TrafficRoutingConfiguration": {
            "Type": "CANARY",
            "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 50},
            "WaitIntervalInSeconds": 1200,
        },
        "TerminationWaitInSeconds": 60,
        "MaximumExecutionTimeoutInSeconds": 1800 + 900 + 600 + 1200 + 60,
    }
    assert "RollingUpdatePolicy" not in config
    assert guards(templates["canary"]) == guards(templates["jobs-off"])


def test_batches_are_undone_in_batches_too_so_that_a_rollback_needs_no_more_quota(
    templates: dict[str, Template],
) -> None:
    config = deployment_config(templates["rolling"])
    one = {"Type": "INSTANCE_COUNT", "Value": 1}
    assert config["RollingUpdatePolicy"] == {
        "MaximumBatchSize": one,
        "RollbackMaximumBatchSize": one,
        "WaitIntervalInSeconds": 60,
        "MaximumExecutionTimeoutInSeconds": 28800,
    }
    assert "BlueGreenUpdatePolicy" not in config
    assert guards(templates["rolling"]) == guards(templates["jobs-off"])


def test_another_rollout_makes_a_new_configuration_because_sagemaker_asks_for_one() -> None:
    rollouts: list[Any] = [
        "all-at-once",
        {"canary": {"share": 10, "minutes": 10}},
        {"canary": {"share": 11, "minutes": 10}},
        {"canary": {"share": 10, "minutes": 11}},
        {"rolling": {"batch": 1}},
        {"rolling": {"batch": 2}},
    ]
    counts = [{"min": 4, "max": 4}, {"min": 4, "max": 8}]
    weights = [
        variant_weight(
            Hosting.model_validate(
                {"instance_type": "t", "rollout": rollout, "instance_count": count, "update_wait_in_seconds": wait}
            )
        )
        for rollout in rollouts
        for count in counts
        for wait in (300, 301)
    ]
    assert len(set(weights)) == len(weights)
    assert max(weights) < 2**24, "a float of 32 bits holds no larger whole numbers"


def test_instances_start_in_the_reserved_capacity_only(templates: dict[str, Template]) -> None:
    assert variant(templates["canary"])["CapacityReservationConfig"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "MlReservationArn": "arn:aws:sagemaker:us-east-1:111122223333:training-plan/for-endpoints",
    }
    others = [resources(each, "SageMaker::EndpointConfig") for name, each in templates.items() if name != "canary"]
    assert not any("CapacityReservationConfig" in str(each) for each in others)


def test_copies_of_a_component_roll_and_failed_calls_undo_it(templates: dict[str, Template]) -> None:
    template = templates["rolling-copies"]
    component = base_component(template)
    one = {"Type": "COPY_COUNT", "Value": 1}
    assert component["DeploymentConfig"]["RollingUpdatePolicy"] == {
        "MaximumBatchSize": one,
        "RollbackMaximumBatchSize": one,
        "WaitIntervalInSeconds": 60,
        "MaximumExecutionTimeoutInSeconds": 28800,
    }
    alarms = component["DeploymentConfig"]["AutoRollbackConfiguration"]["Alarms"]
    guards = [template["Resources"][each["AlarmName"]["Ref"]]["Properties"] for each in alarms]
    assert {each["MetricName"] for each in guards} == {"ModelFailures", "ModelTimeouts"}
    environment = next(iter(functions(template).values()))["Environment"]["Variables"]
    counted_as = {str(dimension["Value"]) for each in guards for dimension in each["Dimensions"]}
    assert counted_as == {str(environment["ENDPOINT_CONFIGURATION"])}, "the name by which functions count calls"
    (watch,) = (each for each in resources(template, "IAM::Policy") if "DescribeAlarms" in str(each))
    assert str(watch["Properties"]["PolicyDocument"]["Statement"]).count("Fn::GetAtt") == len(alarms)


def test_a_component_is_cached_and_spread_only_if_the_file_says_so(templates: dict[str, Template]) -> None:
    specification = base_component(templates["rolling-copies"])["Specification"]
    assert specification["DataCacheConfig"] == {"EnableCaching": True}
    assert specification["SchedulingConfig"] == {
        "PlacementStrategy": "SPREAD",
        "AvailabilityZoneBalance": {"EnforcementMode": "PERMISSIVE"},
    }
    plain = base_component(templates["adapters"])
    assert not {"DataCacheConfig", "SchedulingConfig"} & plain["Specification"].keys()
    assert "DeploymentConfig" not in plain


def base_component(template: Template) -> dict[str, Any]:
    components = all_of(template, "SageMaker::InferenceComponent")
    (base,) = (each for each in components if "BaseInferenceComponentName" not in each["Specification"])
    return base
