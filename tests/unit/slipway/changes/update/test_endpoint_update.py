"""An endpoint that gets another configuration: the instances, quotas, price and minutes of its update."""

from slipway.changes import classify
from support.templates.known_changes import endpoint
from support.templates.template_parts import Template


def test_new_instances_are_told_with_quotas_price_and_minutes() -> None:
    waits = {"TerminationWaitInSeconds": 300, "MaximumExecutionTimeoutInSeconds": 3900}
    policy = {"BlueGreenUpdatePolicy": waits}
    before, after = (endpoint(kind, DeploymentConfig=policy) for kind in ("ml.g6.2xlarge", "ml.g5.48xlarge"))

    (told,) = (each for each in classify(before, after, start_in_seconds=420) if each.kind == "new-instances")
    assert told.sentence == (
        "1 ml.g5.48xlarge beside 1 ml.g6.2xlarge, quotas for both: 1 of 'ml.g6.2xlarge for endpoint usage', "
        "1 of 'ml.g5.48xlarge for endpoint usage'; about 21.58 USD an hour while both run; about 12 minutes, "
        "the last 5 of them under watch, at most 65 minutes"
    )


def test_the_price_of_two_fleets_that_scale_goes_up_to_that_of_both_scaled_out() -> None:
    wait = {"BlueGreenUpdatePolicy": {"TerminationWaitInSeconds": 60}}
    before, after = (endpoint("ml.g6.2xlarge", most=4, DeploymentConfig=each) for each in ({}, wait))
    after["Resources"]["Config"]["Properties"]["ProductionVariants"][0]["InitialVariantWeight"] = 2

    (told,) = (each for each in classify(before, after) if each.kind == "new-instances")
    assert "about 2.44 to 9.78 USD an hour while both run" in told.sentence


def rolling(batch: int, count: int, **more: object) -> Template:
    policy = {"MaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": batch}, "WaitIntervalInSeconds": 300, **more}
    template = endpoint("ml.g6.2xlarge", DeploymentConfig={"RollingUpdatePolicy": policy})
    template["Resources"]["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = count
    return template


def changed(template: Template) -> Template:
    template["Resources"]["Config"]["Properties"]["ProductionVariants"][0]["InitialVariantWeight"] = 2
    return template


def told(before: Template, after: Template, kind: str) -> str:
    (found,) = (each for each in classify(before, after, start_in_seconds=420) if each.kind == kind)
    return found.sentence


def test_batches_need_the_quota_of_one_batch_more() -> None:
    before, after = rolling(1, 4), changed(rolling(1, 4, MaximumExecutionTimeoutInSeconds=28800))
    assert told(before, after, "new-instances") == (
        "4 ml.g6.2xlarge in place of 4 ml.g6.2xlarge, 1 at a time, quotas for a batch more: 5 of 'ml.g6.2xlarge for "
        "endpoint usage'; about 1.22 USD an hour more meanwhile; about 48 minutes, 4 times 5 of them under watch, at "
        "most 480 minutes"
    )


def test_a_canary_needs_the_quota_of_both_and_is_watched_twice() -> None:
    size = {"Type": "CAPACITY_PERCENT", "Value": 10}
    traffic = {"Type": "CANARY", "CanarySize": size, "WaitIntervalInSeconds": 600}
    policy = {"TrafficRoutingConfiguration": traffic, "TerminationWaitInSeconds": 300}
    after = changed(endpoint("ml.g6.2xlarge", DeploymentConfig={"BlueGreenUpdatePolicy": policy}))
    sentence = told(endpoint("ml.g6.2xlarge"), after, "new-instances")
    assert "quotas for both: 2 of 'ml.g6.2xlarge for endpoint usage'; the new ones get 10 % of the requests first" in (
        sentence
    )
    assert sentence.endswith("about 22 minutes, the last 15 of them under watch")


def test_a_batch_too_large_for_the_instances_that_run_is_refused() -> None:
    assert told(endpoint("ml.g6.2xlarge"), changed(rolling(2, 4)), "refused") == (
        "batches of 2 are not 5 to 50 % of the 1 instance(s) that may run now, which SageMaker asks for; deploy the "
        "new number with rollout: all-at-once first"
    )
