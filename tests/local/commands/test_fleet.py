"""A fleet of three accounts in two regions, deployed by its stack: each service on its own."""

import copy
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
import yaml

from llm_hosting.fleets.fleet import AutoDeployment, Fleet
from llm_hosting.fleets.stack_sets import RenderedFleet
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import read_stacks
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError
from slipway.fleet.deployed_set import Place
from slipway.fleet.status import state_of
from slipway.gateway.fleet import backends_of_fleet
from slipway_stacks.fleet_rendering import render_fleet
from slipway_stacks.fleet_stack import FleetStack
from support.command import Command, Outcome
from support.patience import wait_for
from support.repository import ROOT
from support.stacks.deployed_stacks import update
from support.stand_ins.organizations import Organization, Sets
from support.templates.portable_templates import resolution
from support.templates.template_parts import properties

NAME, REGIONS = "trio", ["us-east-1", "eu-west-1"]
READER = "slipway-reader"
BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


@dataclass
class Trio:
    """A fleet whose canary is a unit of its own, and the clients of its accounts."""

    cloud: LocalCloud
    organization: Organization
    folder: Path

    def __post_init__(self) -> None:
        self.canary_unit, self.unit = self.organization.unit("canary"), self.organization.unit("workloads")
        self.canary = self.organization.account(self.canary_unit)
        self.others = sorted(self.organization.account(self.unit) for _ in range(2))
        given = {
            "deployment": "jobs-off",
            "account_settings": False,
            "call_as": "self",
            "auto_deployment": {"enabled": True},
            "parameters": {"DeployEndpoint": "true"},
            "canary": {"organizational_units": [self.canary_unit], "regions": REGIONS},
            "targets": [{"organizational_units": [self.unit], "regions": REGIONS}],
            "rollout": {"regions": "parallel", "max_concurrent": "100%", "concurrency": "soft"},
        }
        self.fleet = Fleet.model_validate(given)
        app = cdk.App(outdir=str(self.folder / "rendering"))
        self.rendered = render_fleet(app, NAME, self.fleet, "jobs-off", resolution("jobs-off"))

    def deploy(self, rendered: RenderedFleet) -> None:
        """Deploy the fleet's stack. Raises DeployError."""
        folder = self.folder / str(time.monotonic_ns())
        app = cdk.App(outdir=str(folder))
        FleetStack(app, f"slipway-fleet-{NAME}", rendered=rendered)
        app.synth()
        (stack,) = read_stacks(folder)
        mark_as_linted(stack)  # tests/templates/resources/test_fleet_stack.py lints such a stack
        update(self.cloud, stack)

    @property
    def accounts(self) -> list[str]:
        return [self.canary, *self.others]

    def stack(self, account: str, region: str) -> dict[str, Any]:
        (stack,) = self.organization.client("cloudformation", account, region).describe_stacks()["Stacks"]
        return dict(stack)

    def api(self, account: str, region: str) -> ApiClient:
        """Return a client of the service in an account and region, as a caller of that account."""
        outputs = {each["OutputKey"]: each["OutputValue"] for each in self.stack(account, region)["Outputs"]}
        return connect(self.cloud, outputs, region, deployer=self.organization.deployers[account])

    def resource(self, account: str, region: str, start: str) -> str:
        """Return the physical id of the resource whose logical id starts so."""
        cloudformation = self.organization.client("cloudformation", account, region)
        name = self.stack(account, region)["StackName"]
        found = cloudformation.describe_stack_resources(StackName=name)["StackResources"]
        (resource,) = [each for each in found if each["LogicalResourceId"].startswith(start)]
        return str(resource["PhysicalResourceId"])

    def retention(self, account: str, region: str) -> int:
        """Return the days that the log of the function behind POST /generate is kept."""
        group = self.resource(account, region, "ApiGenerateLogGroup")
        logs = self.organization.client("logs", account, region)
        (found,) = logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
        return int(found["retentionInDays"])

    def write_project(self, folder: Path) -> None:
        """Write the files of the fleet and of its deployment."""
        deployment = yaml.safe_load((ROOT / "tests" / "deployments" / "jobs-off.yaml").read_text())
        fleet = self.fleet.model_dump(mode="json", exclude_none=True)
        for kind, name, content in (
            ("fleets", NAME, fleet),
            ("deployments", "jobs-off", deployment | {"api": {"auth": "none"}}),
        ):
            (folder / kind).mkdir()
            (folder / kind / f"{name}.yaml").write_text(yaml.safe_dump(content))

    def make_reader(self, account: str) -> None:
        """Make the role of examples/fleet-reader.yaml in an account, by a stack in a region without services."""
        cloudformation = self.organization.client("cloudformation", account, "us-west-2")
        cloudformation.create_stack(
            StackName=READER,
            TemplateBody=(ROOT / "examples" / "fleet-reader.yaml").read_text(),
            Parameters=[{"ParameterKey": "AskedFrom", "ParameterValue": self.cloud.deployer.account}],
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        cloudformation.get_waiter("stack_create_complete").wait(StackName=READER, WaiterConfig={"Delay": 1})

    def state(self) -> dict[Place, tuple[str, str]]:
        """Return status and reason of each target, as `slipway fleet status` prints them."""
        found = state_of(NAME, self.fleet, lambda service: self.cloud.client(service, region=REGIONS[0]))
        targets = [target for each in found["stack_sets"] for target in each["targets"]]
        return {(each["account"], each["region"]): (each["status"], each["reason"]) for each in targets}


@pytest.fixture(scope="module")
def trio(cloud: LocalCloud, tmp_path_factory: pytest.TempPathFactory) -> Trio:
    made = Trio(cloud, Organization(cloud), tmp_path_factory.mktemp("fleet"))
    made.deploy(made.rendered)
    return made


@pytest.fixture
def sets(cloud: LocalCloud) -> Sets:
    return Sets(cloud)


def changed(rendered: RenderedFleet, **sections: Any) -> RenderedFleet:
    """Return the fleet with other sections of its file."""
    return replace(rendered, fleet=rendered.fleet.model_copy(update=sections))


def test_each_service_answers_only_callers_of_its_own_account(trio: Trio) -> None:
    places = [(account, region) for account in trio.accounts for region in REGIONS]
    apis = {place: trio.api(*place) for place in places}
    requests = {}
    for place, api in apis.items():
        status, headers, _ = api.call("POST", "/generate", BODY)
        assert status == 200, place
        requests[place] = headers["x-request-id"]
        for stranger in trio.organization.deployers:
            if stranger != place[0]:
                refused = replace(api, credentials=trio.organization.deployers[stranger])
                assert refused.call("POST", "/generate", BODY)[0] == 403
    for place in places:
        group = trio.resource(*place, "ApiGenerateLogGroup")
        events = trio.organization.client("logs", *place).filter_log_events(logGroupName=group)["events"]
        written = " ".join(each["message"] for each in events)
        assert [each for each in places if requests[each] in written] == [place]
        container = trio.resource(*place, "EndpointLogGroup")
        assert trio.organization.client("logs", *place).filter_log_events(logGroupName=container)["events"]


def test_a_gateway_has_a_backend_for_each_stack(trio: Trio, tmp_path: Path) -> None:
    trio.write_project(tmp_path)
    backends = backends_of_fleet(NAME, tmp_path, lambda service: trio.cloud.client(service, region=REGIONS[0]))
    assert {each.name for each in backends} == {
        f"{account}/{region}" for account in trio.accounts for region in REGIONS
    }
    assert {each.url for each in backends} == {None}, "only the stacks' own accounts can read it"


@pytest.fixture(scope="module")
def asked(trio: Trio) -> list[str]:
    """Give all accounts but one the role that asks for cost and use, and return them."""
    *asked, _ = trio.accounts
    for account in asked:
        trio.make_reader(account)
    return asked


class TestCostAndUse:
    """`slipway fleet status` and `slipway list` over the accounts, of which the last has no role to ask with."""

    @pytest.fixture
    def project(self, trio: Trio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        trio.write_project(tmp_path)
        monkeypatch.chdir(tmp_path)

    @pytest.mark.usefixtures("project")
    def test_each_target_is_asked_by_its_accounts_role_and_summed(
        self, trio: Trio, slipway: Command, asked: list[str]
    ) -> None:
        api = trio.api(trio.canary, REGIONS[0])
        for _ in range(3):
            assert api.call("POST", "/generate", BODY)[0] == 200
        outcome = slipway("fleet", "status", NAME, "--role", READER, "--json")
        assert outcome.status == 0
        found = self.cost_of(outcome)
        place = (trio.canary, REGIONS[0])
        assert found[place]["requests"] >= 3
        assert {each for each, target in found.items() if target["not_asked"] is None} == {
            (account, region) for account in asked for region in REGIONS
        }
        total = json.loads(outcome.stdout)["cost"]["total"]
        assert total["requests"] == sum(each["requests"] or 0 for each in found.values())
        assert "requests" in total["partly"], "the last account was not asked"
        assert found[place]["usd_per_hour"] > 0

    @pytest.mark.usefixtures("project")
    def test_an_account_without_the_role_is_named_and_hides_no_other(
        self, trio: Trio, slipway: Command, asked: list[str]
    ) -> None:
        outcome = slipway("fleet", "status", NAME, "--role", READER)
        assert (outcome.status, outcome.stderr) == (0, "")
        lines = outcome.stdout.splitlines()
        start = next(number for number, line in enumerate(lines) if "USD/H NOW" in line)
        rows = [line.split() for line in lines[start + 1 :]]
        assert rows[-1][0] == "total"
        for row in rows[:-1]:
            refused = row[1] not in asked
            assert (row[3:7] == ["-"] * 4) == refused, row
            assert ("AssumeRole" in " ".join(row)) == refused, row

    @pytest.mark.usefixtures("project")
    def test_without_a_role_it_says_how_to_ask(self, slipway: Command) -> None:
        outcome = slipway("fleet", "status", NAME)
        assert outcome.status == 0
        last = outcome.stdout.splitlines()[-1]
        assert last == "cost and use: not asked; name a role in each account with --role"

    def test_list_sums_accounts_and_regions_and_names_those_that_it_can_not_ask(
        self, trio: Trio, slipway: Command, asked: list[str]
    ) -> None:
        places = ("--account", ",".join(trio.accounts), "--region", ",".join(REGIONS), "--role", READER)
        outcome = slipway("list", *places)
        assert outcome.status == 2, "an account was not asked"
        refused = [line for line in outcome.stderr.splitlines() if "not asked" in line]
        assert len(refused) == len(REGIONS)
        assert all(trio.others[-1] in line and "AssumeRole" in line for line in refused)
        services, sums = outcome.stdout.split("\n\n")
        shown = [line.split()[:2] for line in services.splitlines()[1:]]
        assert shown == [[account, region] for account in sorted(asked) for region in sorted(REGIONS)]
        assert sums.splitlines()[-1].split()[:2] == ["total", f"{len(shown)}+"]

    def cost_of(self, outcome: Outcome) -> dict[Place, dict[str, Any]]:
        services = json.loads(outcome.stdout)["cost"]["services"]
        return {(each["account"], each["region"]): each for each in services}


def test_a_bad_update_stops_at_the_canary_and_all_answer_as_before(trio: Trio, sets: Sets) -> None:
    template = copy.deepcopy(trio.rendered.template.content)
    environment = properties(template, "SageMaker::Model")["PrimaryContainer"]["Environment"]
    environment.update(MAX_INPUT_LENGTH="2048", MAX_TOTAL_TOKENS="1024")  # its server refuses to start
    bad = replace(trio.rendered, template=replace(trio.rendered.template, content=template))
    with pytest.raises(DeployError, match="UPDATE_ROLLBACK_COMPLETE") as failed:
        trio.deploy(bad)
    assert "AWS::SageMaker::Endpoint" in failed.value.reasons[0]
    assert sets.operations(f"{NAME}-canary") == [("CREATE", "SUCCEEDED"), ("UPDATE", "FAILED"), ("UPDATE", "SUCCEEDED")]
    assert sets.operations(NAME) == [("CREATE", "SUCCEEDED")]
    assert set(trio.state().values()) == {("CURRENT", "")}
    for account in trio.accounts:
        for region in REGIONS:
            assert trio.api(account, region).call("POST", "/generate", BODY)[0] == 200


def test_an_account_that_fails_is_left_behind_within_the_tolerance_and_stops_the_fleet_beyond_it(
    trio: Trio, sets: Sets
) -> None:
    failing, region = trio.others[0], REGIONS[0]
    group = trio.resource(failing, region, "ApiGenerateLogGroup")
    trio.organization.client("logs", failing, region).delete_log_group(logGroupName=group)
    shorter = changed(trio.rendered, parameters=trio.fleet.parameters | {"LogRetentionInDays": "7"})
    with pytest.raises(DeployError, match="UPDATE_ROLLBACK_COMPLETE"):
        trio.deploy(shorter)
    assert [trio.retention(account, region) for account in (trio.canary, trio.others[1])] == [30, 30]
    tolerant = trio.fleet.rollout.model_copy(update={"failure_tolerance": 1})
    trio.deploy(changed(shorter, rollout=tolerant))
    assert sets.operations(NAME)[-1] == ("UPDATE", "SUCCEEDED")
    state = trio.state()
    status, reason = state.pop((failing, region))
    assert (status, "AWS::Logs::LogGroup" in reason) == ("FAILED", True)
    assert set(state.values()) == {("CURRENT", "")}
    assert [trio.retention(account, region) for account in (trio.canary, trio.others[1])] == [7, 7]


def test_an_account_that_leaves_loses_its_service_and_gets_a_new_one_when_it_comes(trio: Trio) -> None:
    account, region = trio.others[1], REGIONS[0]
    before = trio.api(account, region)
    trio.organization.move(account, trio.unit, trio.organization.root)
    for each in REGIONS:
        trio.organization.wait_for_stacks(account, {}, each)
    assert before.call("POST", "/generate", BODY)[0] != 200
    trio.organization.move(account, trio.organization.root, trio.unit)
    for each in REGIONS:
        trio.organization.wait_for_stacks(account, {NAME: "CREATE_COMPLETE"}, each)
    assert trio.api(account, region).call("POST", "/generate", BODY)[0] == 200


def test_an_account_that_leaves_may_keep_its_service(trio: Trio, sets: Sets) -> None:
    account = trio.others[1]
    kept = AutoDeployment(enabled=True, retain_on_removal=True)
    tolerant = trio.fleet.rollout.model_copy(update={"failure_tolerance": 1})
    trio.deploy(changed(trio.rendered, auto_deployment=kept, rollout=tolerant))
    trio.organization.move(account, trio.unit, trio.organization.root)
    wait_for(lambda: account not in [each for each, _ in sets.instances(NAME)] or None, "the end of its instances")
    for region in REGIONS:
        api = trio.api(account, region)
        assert api.call("POST", "/generate", BODY)[0] == 200
        cloudformation = trio.organization.client("cloudformation", account, region)
        cloudformation.delete_stack(StackName=trio.stack(account, region)["StackName"])
        trio.organization.wait_for_stacks(account, {}, region)
