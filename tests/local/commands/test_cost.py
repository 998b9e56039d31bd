"""`slipway cost` of a deployed API: a made-up month of metrics, summed up by hand; the budget; wrong input."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud
from support.command import Command
from support.patience import wait_for
from support.stacks.deployed_stacks import Apis

NAME = "with-api-key"
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    return apis(NAME)


@pytest.fixture(scope="module")
def day(cloud: LocalCloud) -> datetime:
    """Return the first moment of a day ten days ago, so that CloudWatch still takes its metrics."""
    now = datetime.fromtimestamp(cloud.now(), UTC)
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=10)


def outputs(cloud: LocalCloud, api: ApiClient) -> dict[str, str]:
    (stack,) = cloud.client("cloudformation", region=api.region).describe_stacks(StackName=NAME)["Stacks"]
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


def put(
    cloud: LocalCloud, api: ApiClient, metric: tuple[str, str, dict[str, str]], values: dict[datetime, float]
) -> None:
    namespace, name, dimensions = metric
    data = [
        {
            "MetricName": name,
            "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
            "Timestamp": moment,
            "Value": value,
        }
        for moment, value in values.items()
    ]
    cloudwatch = cloud.client("cloudwatch", region=api.region)
    for start in range(0, len(data), 500):
        cloudwatch.put_metric_data(Namespace=namespace, MetricData=data[start : start + 500])


def cost(slipway: Command, *options: str) -> dict[str, Any]:
    outcome = slipway("cost", NAME, "--json", *options)
    assert outcome.status == 0, outcome.stderr
    return dict(json.loads(outcome.stdout))


def amounts(found: dict[str, Any]) -> dict[str, float]:
    return {each["name"]: each["amount"] for each in found["beside"]}


def test_a_month_is_the_sum_of_what_cloudwatch_counted(
    api: ApiClient, cloud: LocalCloud, slipway: Command, day: datetime
) -> None:
    month = f"{day:%Y-%m}"
    before = cost(slipway, "--month", month)
    endpoint = {"EndpointName": outputs(cloud, api)["EndpointName"], "VariantName": "AllTraffic"}
    # One instance for six hours, and a second one for the last two of them: 6 x 60 + 2 x 60 samples are 8 hours.
    minutes = {day + timedelta(minutes=each): 5.0 for each in range(360)}
    put(cloud, api, ("/aws/sagemaker/Endpoints", "CPUUtilization", endpoint), minutes)
    put(
        cloud,
        api,
        ("/aws/sagemaker/Endpoints", "CPUUtilization", endpoint),
        {moment: value for moment, value in minutes.items() if moment >= day + 4 * HOUR},
    )
    # 2.5 million requests.
    gateway = ("AWS/ApiGateway", "Count", {"ApiName": NAME, "Stage": "v1"})
    put(cloud, api, gateway, {day + HOUR: 2_000_000.0, day + 5 * HOUR: 500_000.0})
    after = cost(slipway, "--month", month)
    (instances,), (earlier,) = after["instances"], before["instances"]
    assert instances["type"] == "ml.g5.xlarge"
    assert instances["hours"] - earlier["hours"] == pytest.approx(8, abs=0.2)  # the cloud's own minutes go on
    assert instances["usd"] == pytest.approx(instances["hours"] * 1.408, abs=0.01)  # USD an hour in us-east-1
    assert amounts(after)["API"] - amounts(before)["API"] == pytest.approx(2.5, abs=0.01)
    beside = sum(each["usd"] or 0 for each in after["beside"])
    assert after["usd"] == pytest.approx(instances["usd"] + beside, abs=0.02)


def test_every_instance_tells_that_it_runs_once_a_minute(cloud: LocalCloud, api: ApiClient) -> None:
    begun = datetime.fromtimestamp(cloud.now(), UTC)
    cloud.advance(3600)
    dimensions = [
        {"Name": "EndpointName", "Value": outputs(cloud, api)["EndpointName"]},
        {"Name": "VariantName", "Value": "AllTraffic"},
    ]
    points = cloud.client("cloudwatch", region=api.region).get_metric_statistics(
        Namespace="/aws/sagemaker/Endpoints",
        MetricName="CPUUtilization",
        Dimensions=dimensions,
        StartTime=begun,
        EndTime=begun + HOUR,
        Period=3600,
        Statistics=["SampleCount"],
    )["Datapoints"]
    assert sum(each["SampleCount"] for each in points) == pytest.approx(60, abs=1)


def test_the_page_says_what_it_is_and_what_it_leaves_out(api: ApiClient, slipway: Command) -> None:
    page = slipway("cost", NAME, "--usd", "450").stdout
    assert f"{NAME}: an estimate by CloudWatch's metrics, no bill; us-east-1" in page
    assert "Nothing is spent on the local cloud: these are AWS's prices." in page
    assert "bill    450.00 USD, +4" in page
    assert "budget  900.00 USD, of which the estimate is" in page
    assert "AWS Budgets sees 0.00 USD this month" in page
    assert "Left out: instances until their first metric;" in page
    for way in ("as it was", "always-on", "zero", "async", "ec2"):
        assert f"\n{way} " in page
    assert "machines have no GPU" in page


def test_the_bill_is_shared_out_among_the_keys(api: ApiClient, slipway: Command) -> None:
    value = json.loads(slipway("keys", "create", NAME, "team-search", "--json").stdout)["value"]
    body = {"inputs": "A list is", "parameters": {"max_new_tokens": 5}}
    assert replace(api, api_key=value).call("POST", "/generate", body)[0] == 200
    found = cost(slipway, "--usd", "100")
    assert {each["key"]: each["usd"] for each in found["callers"] if each["usd"]} == {"team-search": 100.0}
    assert found["tokens_in"] + found["tokens_out"] > 0
    assert found["models"] == [{"model": "openai-community/gpt2", "calls": 1, "usd": 100.0}]


def test_without_tokens_nobody_has_a_share(api: ApiClient, slipway: Command, day: datetime) -> None:
    earlier = f"{day - timedelta(days=60):%Y-%m}"
    found = cost(slipway, "--usd", "100", "--month", earlier)
    assert {each["usd"] for each in found["callers"]} == {None}
    assert (found["tokens_in"], found["tokens_out"], found["usd_per_million_tokens"]) == (0, 0, None)


def test_a_given_bill_and_a_question_for_it_exclude_each_other(api: ApiClient, slipway: Command) -> None:
    outcome = slipway("cost", NAME, "--usd", "100", "--bill")
    assert (outcome.status, "not allowed with argument" in outcome.stderr) == (2, True)


def test_what_always_on_would_have_cost_is_what_it_has_cost(
    api: ApiClient, cloud: LocalCloud, slipway: Command
) -> None:
    """The stack has been awake since it was made, so both ways to count its hours agree, but for the month's begin."""
    found = cost(slipway)
    ways = {each["way"]: each for each in found["ways_to_idle"]}
    (stack,) = cloud.client("cloudformation", region=api.region).describe_stacks(StackName=NAME)["Stacks"]
    month = datetime.fromtimestamp(cloud.now(), UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    hours = (cloud.now() - max(stack["CreationTime"], month).timestamp()) / 3600
    assert ways["always-on"]["hours"] / found["instances_at_once"] == pytest.approx(hours, abs=0.2)
    assert 0 < ways["zero"]["hours"] <= ways["always-on"]["hours"]


def test_an_unknown_name_is_answered_with_the_nearest(api: ApiClient, slipway: Command) -> None:
    outcome = slipway("cost", "with-api-kez")
    assert (outcome.status, f"did you mean {NAME}?" in outcome.stderr) == (2, True)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"Unit": "CNY"}, "Unit CNY is not the currency of the account, USD"),
        ({"Amount": 0}, "must be greater than 0"),
    ],
)
def test_a_budget_that_aws_refuses_fails_here_too(
    cloud: LocalCloud, api: ApiClient, change: dict[str, Any], refusal: str
) -> None:
    limit = {"Amount": 9, "Unit": "USD"} | change
    assert refusal in refused(cloud, api, "refused-budget", {"BudgetLimit": limit}, [])


def test_a_topic_that_does_not_let_budgets_publish_fails(cloud: LocalCloud, api: ApiClient) -> None:
    closed = cloud.client("sns", region=api.region).create_topic(Name="closed")["TopicArn"]
    told = {
        "Notification": {"NotificationType": "ACTUAL", "ComparisonOperator": "GREATER_THAN", "Threshold": 80},
        "Subscribers": [{"SubscriptionType": "SNS", "Address": closed}],
    }
    found = refused(cloud, api, "silent-budget", {"BudgetLimit": {"Amount": 9, "Unit": "USD"}}, [told])
    assert "does not let budgets.amazonaws.com publish" in found


def refused(cloud: LocalCloud, api: ApiClient, name: str, budget: dict[str, Any], told: list[Any]) -> str:
    """Create a stack with a budget that is refused, and return the reason of its failure."""
    properties = {
        "Budget": {"BudgetType": "COST", "TimeUnit": "MONTHLY", **budget},
        "NotificationsWithSubscribers": told,
    }
    template = {"Resources": {"Budget": {"Type": "AWS::Budgets::Budget", "Properties": properties}}}
    cloudformation = cloud.client("cloudformation", region=api.region)
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template), OnFailure="DELETE")

    def reason() -> str | None:
        events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        found = (each.get("ResourceStatusReason", "") for each in events if each["ResourceStatus"] == "CREATE_FAILED")
        return next(found, None)

    return wait_for(reason, f"the failure of {name}")
