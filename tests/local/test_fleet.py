"""A fleet of three accounts in two regions, deployed by its stack: each service on its own."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_hosting.fleet import Fleet
from llm_hosting.fleets.stack_sets import RenderedFleet
from llm_hosting.sources import Sources
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import ROOT, Stack, read_stacks
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from stacks.fleet_rendering import render_fleet
from stacks.fleet_stack import FleetStack
from support.organizations import Organization, Sets
from support.portable_templates import resolution

NAME, REGIONS = "trio", ["us-east-1", "eu-west-1"]
BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


@dataclass
class Trio:
    """The fleet, its canary in a unit of its own."""

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
        sources = Sources.below(ROOT)
        self.rendered = render_fleet(app, NAME, self.fleet, "jobs-off", resolution("jobs-off"), sources)

    def deploy(self, rendered: RenderedFleet) -> None:
        """Raises DeployError."""
        folder = self.folder / str(time.monotonic_ns())
        app = cdk.App(outdir=str(folder))
        FleetStack(app, f"slipway-fleet-{NAME}", rendered=rendered)
        app.synth()
        (stack,) = read_stacks(folder)
        mark_as_linted(stack)
        deploy(self.cloud, stack)

    def api(self, account: str, region: str) -> ApiClient:
        """Of the service in an account and region, as a caller of that account."""
        deployer = self.organization.deployers[account]
        cloudformation = self.organization.client("cloudformation", account, region)
        (stack,) = cloudformation.describe_stacks()["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        return connect(self.cloud, outputs, region, deployer=deployer)


@pytest.fixture(scope="module")
def trio(cloud: LocalCloud, tmp_path_factory: pytest.TempPathFactory) -> Trio:
    made = Trio(cloud, Organization(cloud), tmp_path_factory.mktemp("fleet"))
    started = time.time()
    made.deploy(made.rendered)
    print("DEPLOY", time.time() - started)
    return made


def test_each_answers_its_own_accounts_callers_and_nobody_elses(trio: Trio) -> None:
    accounts = [trio.canary, *trio.others]
    apis = {(account, region): trio.api(account, region) for account in accounts for region in REGIONS}
    assert len({each.url for each in apis.values()}) == 6
    for (account, region), api in apis.items():
        assert api.call("POST", "/generate", BODY)[0] == 200, (account, region)
