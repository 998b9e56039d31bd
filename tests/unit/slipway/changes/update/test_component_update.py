"""What an update does to an inference component: new copies, a wake, a move to another endpoint, other hours."""

from typing import Any

from slipway.changes import Change, classify
from support.templates.known_changes import Template, a, of, variant

INSTANCES = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 3}
TARGET = {"ResourceId": "inference-component/c", "MaxCapacity": 2}


def component(model: str, least: int, copies: int = 1, **target: Any) -> Template:
    """Return an endpoint whose model is a component with at least so many copies."""
    configuration = {"EndpointConfigName": {"Fn::GetAtt": ["Empty", "EndpointConfigName"]}, "EndpointName": "e-ic"}
    takes = {"ComputeResourceRequirements": {"NumberOfAcceleratorDevicesRequired": 2}}
    specification = {"Specification": {"ModelName": model, **takes}, "RuntimeConfig": {"CopyCount": copies}}
    return of(
        Empty=a("SageMaker::EndpointConfig", variant(InstanceType="ml.g5.12xlarge", ManagedInstanceScaling=INSTANCES)),
        Holder=a("SageMaker::Endpoint", configuration),
        Component=a(
            "SageMaker::InferenceComponent",
            {"EndpointName": "e-ic", "InferenceComponentName": "c", "VariantName": "v", **specification},
        ),
        Scaling=a("ApplicationAutoScaling::ScalableTarget", {**TARGET, "MinCapacity": least, **target}),
    )


def always_on() -> Template:
    named = {"EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}, "EndpointName": "e"}
    return of(
        Config=a("SageMaker::EndpointConfig", variant(InstanceType="ml.g5.xlarge")),
        Endpoint=a("SageMaker::Endpoint", named),
    )


def told(changes: list[Change], kind: str, logical_id: str) -> str:
    (found,) = (each.sentence for each in changes if (each.kind, each.logical_id) == (kind, logical_id))
    return found


def test_an_update_of_a_model_that_may_sleep_wakes_it() -> None:
    changes = classify(component("m", 0), component("n", 0))
    assert told(changes, "new-instances", "Component") == (
        "new copies start beside those that run, on another instance where no accelerator is free, quota: 6 of "
        "'ml.g5.12xlarge for endpoint usage'; the update sends CopyCount 1 again, so a model that sleeps wakes and "
        "bills until it sleeps again"
    )


def test_an_update_of_a_model_that_never_sleeps_wakes_nothing() -> None:
    assert "CopyCount" not in told(classify(component("m", 1), component("n", 1)), "new-instances", "Component")


def test_callers_hear_before_that_the_model_is_away_while_it_moves_to_a_component_and_back() -> None:
    asleep, awake = component("m", 0), always_on()
    there = told(classify(awake, asleep, start_in_seconds=420), "interruption", "Holder")
    assert there == (
        "the model becomes an inference component of a new endpoint, to which the functions change before it starts: "
        "callers get 503 endpoint_not_ready, and jobs wait, until it answers (about 12 minutes); Endpoint runs until "
        "the end of the update, so both need a quota and bill, together about 8.50 USD an hour"
    )
    back = told(classify(asleep, awake), "interruption", "Endpoint")
    assert back.startswith("the model gets a new endpoint without components")
    assert back.endswith("`slipway purge` must remove it before the model is a component again")


def test_callers_hear_the_same_of_a_shared_endpoint_which_another_stack_has() -> None:
    shared, alone = component("m", 0), always_on()
    for each in ("Empty", "Holder"):
        del shared["Resources"][each]
    there = told(classify(alone, shared, start_in_seconds=420), "interruption", "Component")
    assert there == (
        "the model becomes an inference component of a shared endpoint, to which the functions change before it "
        "starts: callers get 503 endpoint_not_ready, and jobs wait, until it answers (about 12 minutes); Endpoint runs "
        "until the end of the update"
    )
    assert "the model gets a new endpoint" in told(classify(shared, alone), "interruption", "Endpoint")
    other = component("n", 0)
    for each in ("Empty", "Holder"):
        del other["Resources"][each]
    assert "quota" not in told(classify(shared, other), "new-instances", "Component")


def test_a_model_without_an_endpoint_before_or_after_does_not_move() -> None:
    none = of(Other=a("SNS::Topic", {}))
    for before, after in ((none, component("m", 1)), (component("m", 1), none)):
        assert not [each for each in classify(before, after) if each.kind == "interruption"]


def test_other_hours_are_another_price() -> None:
    hours = [
        {"Schedule": "cron(0 8 ? * MON *)", "Timezone": "UTC"},
        {"Schedule": "cron(0 9 ? * MON *)", "Timezone": "UTC"},
    ]
    changes = classify(component("m", 0), component("m", 0, ScheduledActions=hours))
    assert told(changes, "price", "Scaling") == (
        "instances always run at no hours -> from cron(0 8 ? * MON *) UTC to cron(0 9 ? * MON *) UTC; that holds from "
        "the next of these times on"
    )


def test_a_component_cannot_move_to_another_endpoint() -> None:
    other = component("m", 0)
    other["Resources"]["Component"]["Properties"]["EndpointName"] = "another"
    said = told(classify(component("m", 0), other), "refused", "Component")
    assert "EndpointName" in said
    assert said.endswith("CloudFormation refuses to update it; destroy the stack and deploy it again")


def test_a_component_of_the_same_name_under_another_logical_id_is_refused() -> None:
    other = component("m", 0)
    other["Resources"]["Renamed"] = other["Resources"].pop("Component")
    assert "InferenceComponentName" in told(classify(component("m", 0), other), "refused", "Renamed")


def test_copies_that_are_replaced_in_batches_are_told_with_the_size_of_a_batch() -> None:
    size = {"Type": "COPY_COUNT", "Value": 3}
    rolling = {"RollingUpdatePolicy": {"MaximumBatchSize": size, "WaitIntervalInSeconds": 300}}
    before, after = component("m", 6, 6, MaxCapacity=6), component("n", 6, 6, MaxCapacity=6)
    after["Resources"]["Component"]["Properties"]["DeploymentConfig"] = rolling
    assert told(classify(before, after), "new-instances", "Component") == (
        "new copies start beside those that run, 3 at a time, on another instance where no accelerator is free, "
        "quota: 5 of 'ml.g5.12xlarge for endpoint usage'"
    )


def test_a_batch_that_does_not_fit_the_copies_that_run_is_refused() -> None:
    after = component("m", 4, 4, MaxCapacity=4)
    size = {"Type": "COPY_COUNT", "Value": 1}
    after["Resources"]["Component"]["Properties"]["DeploymentConfig"] = {
        "RollingUpdatePolicy": {"MaximumBatchSize": size, "WaitIntervalInSeconds": 300}
    }
    assert told(classify(component("m", 1, MaxCapacity=1), after), "refused", "Component") == (
        "batches of 1 are not 5 to 50 % of the 1 copies that may run now, which SageMaker asks for; deploy the new "
        "number with rollout: all-at-once first"
    )


def test_an_endpoint_of_components_is_told_with_all_instances_that_may_run() -> None:
    larger = component("m", 0)
    variant_of = larger["Resources"]["Empty"]["Properties"]["ProductionVariants"][0]
    variant_of["InstanceType"] = "ml.g5.24xlarge"
    after = of(**{("Larger" if name == "Empty" else name): each for name, each in larger["Resources"].items()})
    after["Resources"]["Holder"]["Properties"]["EndpointConfigName"] = {"Fn::GetAtt": ["Larger", "EndpointConfigName"]}
    said = told(classify(component("m", 0), after), "new-instances", "Holder")
    assert said.startswith("0 to 3 ml.g5.24xlarge beside 0 to 3 ml.g5.12xlarge, quotas for both: 3 of 'ml.g5.12xlarge")
    assert "at zero the update starts an instance, which bills until SageMaker releases it" in said
