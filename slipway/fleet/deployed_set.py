"""Reads a stack set as StackSets knows it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.fleets.fleet import Fleet, FleetGroup
from llm_hosting.fleets.stack_sets import version_of
from slipway.changes.template.reading import parse_template

Place = tuple[str, str]  # account and region
MOST_OPERATIONS = 5


def call_as(fleet: Fleet) -> str:
    """The CallAs argument for calls of StackSets."""
    is_delegated = fleet.permission_model == "service-managed" and fleet.call_as == "delegated-admin"
    return "DELEGATED_ADMIN" if is_delegated else "SELF"


@dataclass(frozen=True)
class DeployedSet:
    """A stack set on AWS. described: the answer of DescribeStackSet. instances: summaries by account and region."""

    described: dict[str, Any]
    instances: dict[Place, dict[str, Any]]
    client: Any
    caller: str

    @cached_property
    def template(self) -> dict[str, Any]:
        """The set's template. Raises NoTemplateError."""
        return parse_template(self.described["TemplateBody"], f"the stack set {self.described['StackSetName']}")

    @property
    def version(self) -> str:
        return version_of(self.template)

    @property
    def parameters(self) -> dict[str, str]:
        return _values(self.described.get("Parameters", []))

    def values(self, place: Place) -> dict[str, str]:
        """Return the parameter values of one account and region: the set's, overridden by the stack's own."""
        account, region = place
        instance = self.client.describe_stack_instance(
            StackSetName=self.described["StackSetName"],
            StackInstanceAccount=account,
            StackInstanceRegion=region,
            CallAs=self.caller,
        )["StackInstance"]
        return self.parameters | _values(instance.get("ParameterOverrides", []))

    def operations(self) -> Iterator[dict[str, Any]]:
        """The newest operations."""
        found = self.client.list_stack_set_operations(
            StackSetName=self.described["StackSetName"], MaxResults=MOST_OPERATIONS, CallAs=self.caller
        )
        yield from found.get("Summaries", [])[:MOST_OPERATIONS]


@dataclass(frozen=True)
class DeployedProperties:
    """Properties of a stack set, read from the fleet's own stack, because StackSets does not tell them to every caller.

    permission_model: in the words of the fleet's file.
    """

    groups: list[FleetGroup]
    permission_model: str


def deployed_properties(stack: str, client: Any) -> dict[str, DeployedProperties]:
    """The properties of each stack set in the fleet's stack, by name.

    Returns an empty mapping if there is no such stack. Raises boto3's errors.
    """
    try:
        body = client.get_template(StackName=stack, TemplateStage="Original")["TemplateBody"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return {}
        raise
    template = parse_template(body, f"the stack {stack}") if isinstance(body, str) else body
    sets = [each["Properties"] for each in template["Resources"].values() if "StackSetName" in each["Properties"]]
    return {each["StackSetName"]: _properties(each) for each in sets}


def _properties(found: dict[str, Any]) -> DeployedProperties:
    groups = [_group(group) for group in found.get("StackInstancesGroup", [])]
    return DeployedProperties(groups, found["PermissionModel"].lower().replace("_", "-"))


def _group(instances: dict[str, Any]) -> FleetGroup:
    targets = instances["DeploymentTargets"]
    return FleetGroup(
        organizational_units=targets.get("OrganizationalUnitIds", []),
        accounts=targets.get("Accounts", []),
        account_filter=targets.get("AccountFilterType", "NONE").lower(),
        regions=instances["Regions"],
    )


def deployed_set(name: str, client: Any, caller: str) -> DeployedSet | None:
    """The stack set of this name; None = there is none. Raises boto3's errors."""
    try:
        described = client.describe_stack_set(StackSetName=name, CallAs=caller)["StackSet"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "StackSetNotFoundException":
            return None
        raise
    instances: dict[Place, dict[str, Any]] = {}
    for page in client.get_paginator("list_stack_instances").paginate(StackSetName=name, CallAs=caller):
        instances |= {(each["Account"], each["Region"]): each for each in page["Summaries"]}
    return DeployedSet(described, instances, client, caller)


def _values(parameters: list[dict[str, Any]]) -> dict[str, str]:
    return {each["ParameterKey"]: each.get("ParameterValue", "") for each in parameters}
