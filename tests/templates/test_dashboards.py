"""Dashboards: valid bodies, and every metric that a widget names is emitted by something of that template."""

import json
import re
from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_hosting import ACCOUNT_DASHBOARD, ACCOUNT_SETTINGS
from llm_hosting.catalog.instances import instances
from llm_hosting.dashboard.cost import price_of
from llm_hosting.deployment.settings.governance import Governance
from llm_hosting.project import ProjectError
from local_cloud.dashboard_body import COLUMNS, problems
from slipway_stacks.account_settings_stack import AccountSettingsStack
from support.deployments.known_deployments import SHIPPED, VARIANT_FILES
from support.templates.dashboards import OURS, Body, body_of, metrics_of, strangers
from support.templates.services import an_app
from support.templates.template_parts import Template, functions, resources

NAMES = [path.stem for path in VARIANT_FILES if "dashboard: true" in path.read_text()]
SHOWN_BY_ALL = ("Is it up?", "Is it fast?", "Is it full?", "What does it cost?", "Who uses it?")


@pytest.fixture(scope="module")
def bodies(templates: dict[str, Template]) -> dict[str, Body]:
    return {name: body_of(templates[name]) for name in NAMES}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Body:
    return body_of(account_settings(tmp_path_factory.mktemp("account"), "eu-central-1,us-east-1"))


def account_settings(folder: Path, setting: object) -> Template:
    app = an_app(folder, **{ACCOUNT_DASHBOARD: setting})
    AccountSettingsStack(app, ACCOUNT_SETTINGS, governance=Governance())
    found: Template = app.synth().get_stack_by_name(ACCOUNT_SETTINGS).template
    return found


def titles(body: Body) -> set[str]:
    return {each["properties"]["title"] for each in body["widgets"] if "title" in each["properties"]}


def questions(body: Body) -> list[str]:
    texts = [each["properties"]["markdown"] for each in body["widgets"] if each["type"] == "text"]
    return [each.removeprefix("## ").partition("\n")[0] for each in texts if each.startswith("## ")]


def overlaps(body: Body) -> list[str]:
    taken: dict[tuple[int, int], int] = {}
    found = []
    for number, each in enumerate(body["widgets"]):
        for x in range(each["x"], each["x"] + each["width"]):
            for y in range(each["y"], each["y"] + each["height"]):
                if taken.setdefault((x, y), number) != number:
                    found.append(f"widget {number} lies on widget {taken[x, y]}")
    return found


def renamed(body: Body, name: str, other: str) -> Body:
    """Return the body with another metric in place of one that it names."""
    text = json.dumps(body)
    assert name in text
    found: Body = json.loads(text.replace(f'"{name}"', f'"{other}"').replace(f'\\"{name}\\"', f'\\"{other}\\"'))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_of_a_service_is_emitted(
    bodies: dict[str, Body], templates: dict[str, Template], name: str
) -> None:
    assert strangers(bodies[name], templates[name]) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_body_is_valid_and_no_widget_lies_on_another(bodies: dict[str, Body], name: str) -> None:
    assert problems(json.dumps(bodies[name])) == []
    assert overlaps(bodies[name]) == []
    assert max(each["x"] + each["width"] for each in bodies[name]["widgets"]) == COLUMNS


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard_asks_every_question_that_it_can_answer(
    bodies: dict[str, Body], templates: dict[str, Template], name: str
) -> None:
    takes_jobs = any("JOB_TABLE" in json.dumps(each) for each in functions(templates[name]).values())
    asked = [each for each in questions(bodies[name]) if each != "How are jobs and batches?"]
    assert asked == list(SHOWN_BY_ALL)
    assert ("How are jobs and batches?" in questions(bodies[name])) is takes_jobs


@pytest.mark.parametrize(
    ("name", "metric", "other"),
    [
        ("scaled", "ModelLatency", "ModelLatencies"),  # a wrong name
        ("scaled", "JobsAccepted", "JobsTaken"),
        ("async", "ModelLatency", "InvocationModelErrors"),  # a metric that this mode lacks
        ("async", "TokensOut", "FirstTokenSeconds"),
        ("own-network", "TokensOut", "FirstTokenSeconds"),
        ("own-network", "MachinesAwake", "WakeSeconds"),
        ("scaled", "TokensOut", "WakeSeconds"),
        ("awake-hours", "ConcurrentRequestsPerCopy", "ConcurrentRequestsPerModel"),
        ("jobs-off", "TokensOut", "JobsAccepted"),
    ],
)
def test_a_metric_that_nothing_emits_is_found(
    bodies: dict[str, Body], templates: dict[str, Template], name: str, metric: str, other: str
) -> None:
    (found, *_) = strangers(renamed(bodies[name], metric, other), templates[name])
    assert f" {other} " in found


def test_a_metric_of_another_stack_is_found(bodies: dict[str, Body], templates: dict[str, Template]) -> None:
    assert any("AWS/SQS" in each for each in strangers(bodies["scaled"], templates["async"]))


def test_every_metric_of_the_account_is_emitted_by_some_service(account: Body, templates: dict[str, Template]) -> None:
    known = [templates[name] for name in NAMES]
    assert len(list(metrics_of(account))) > 20
    assert strangers(account, *known) == []
    (found, *_) = strangers(renamed(account, "JobsAccepted", "JobsTaken"), *known)
    assert "JobsTaken" in found


def test_the_body_of_the_account_is_valid(account: Body) -> None:
    assert problems(json.dumps(account)) == []
    assert overlaps(account) == []


def test_the_account_has_no_dashboard_unless_it_is_asked_for(templates: dict[str, Template], tmp_path: Path) -> None:
    assert not resources(templates[ACCOUNT_SETTINGS], "CloudWatch::Dashboard")
    made = account_settings(tmp_path, True)
    (dashboard,) = resources(made, "CloudWatch::Dashboard")
    assert "DeletionPolicy" not in dashboard  # it bills
    assert made["Outputs"]["Dashboard"]["Value"] == {
        "Ref": next(n for n, e in made["Resources"].items() if e is dashboard)
    }


def test_a_wrong_region_of_the_account_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="'frankfurt' is no region; write true"):
        account_settings(tmp_path, ["frankfurt"])


@pytest.mark.parametrize("name", SHIPPED)
def test_a_service_has_no_dashboard_unless_it_is_asked_for(templates: dict[str, Template], name: str) -> None:
    text = json.dumps(templates[name])
    assert "AWS::CloudWatch::Dashboard" not in text
    assert "DASHBOARD_OF" not in text


# Each row: a variant, titles that it shows, and titles that it must not show.
SHOWN: dict[str, tuple[set[str], set[str]]] = {
    "scaled": ({"Requests in flight", "Instances", "Hours awake", "Price of tokens", "Time to first token"}, {"CPU"}),
    "adapters": ({"Adapters", "Requests in flight"}, {"Wakes"}),
    "awake-hours": ({"Wakes", "Asleep"}, {"Adapters", "Backlog"}),
    "async": ({"Backlog", "Queue"}, {"Requests in flight", "Time to first token"}),
    "own-network": ({"Machines in trouble", "CPU", "Price of tokens"}, {"Hardware", "Model", "Failed invocations"}),
    "jobs-off": ({"Gateway"}, {"Jobs", "Queue", "Trouble"}),
    "pools": ({"Hours awake"}, {"Price of tokens"}),
    "governed": ({"Tokens"}, {"Calls and tokens by caller"}),
    "embed-async": ({"Tokens"}, {"Time to first token"}),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_dashboard_shows_what_its_mode_has(bodies: dict[str, Body], name: str) -> None:
    present, absent = SHOWN[name]
    assert present <= titles(bodies[name])
    assert not absent & titles(bodies[name])


def test_the_price_names_its_region_and_is_none_where_it_is_not_known(bodies: dict[str, Body]) -> None:
    assert re.search(r"times the price of \d{4}-\d{2} in N\. Virginia, ", json.dumps(bodies["scaled"]))
    elsewhere = cdk.Stack(cdk.App(), "Elsewhere", env=cdk.Environment(region="mx-central-1"))
    assert price_of(elsewhere, instances()["ml.g6.2xlarge"]) is None


def test_the_engine_is_on_a_page_of_its_own_or_not_measured(bodies: dict[str, Body]) -> None:
    assert "sagemaker/home?region=" in json.dumps(bodies["scaled"])
    assert "`hosting.detailed_observability` is off" in json.dumps(bodies["pools"])


def test_without_callers_in_the_logs_no_query_asks_for_them(bodies: dict[str, Body]) -> None:
    assert not [each for each in bodies["governed"]["widgets"] if each["type"] == "log"]


def test_a_dashboard_names_no_source_address(bodies: dict[str, Body]) -> None:
    assert not [name for name, body in bodies.items() if "sourceIp" in json.dumps(body)]


def test_its_own_metrics_are_counted_only_for_a_dashboard(bodies: dict[str, Body]) -> None:
    ours = {each.kind[1] for body in bodies.values() for each in metrics_of(body) if each.kind[0] == OURS}
    assert {"TokensIn", "TokensOut", "FirstTokenSeconds", "TokensPerSecond", "MachinesAwake"} <= ours
