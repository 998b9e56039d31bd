"""An endpoint that gets another configuration: the instances, quotas, price and minutes of its update."""

from slipway.changes import classify
from support.templates.known_changes import endpoint


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
