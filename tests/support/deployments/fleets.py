"""Fleets for tests: a good one with changes, its small template, and a stand-in for the administrator's AWS account."""

from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.fleets.fleet import Fleet
from llm_hosting.fleets.stack_sets import RenderedFleet
from llm_hosting.portable.template import PortableTemplate
from support.deployments.good_one import Changes, resolved

CANARY_UNIT, UNIT, INNER_UNIT = "ou-root-canary00", "ou-root-workload", "ou-root-inner000"
MANAGEMENT, FIRST, SECOND, THIRD = "999999999999", "111111111111", "222222222222", "333333333333"
GOOD: dict[str, Any] = {
    "deployment": "qwen3-4b",
    "canary": {"organizational_units": [CANARY_UNIT], "regions": ["us-east-1"]},
    "targets": [{"organizational_units": [UNIT], "regions": ["us-east-1", "eu-west-1"]}],
}
SELF_MANAGED: dict[str, Any] = {
    "permission_model": "self-managed",
    "canary": {"accounts": [FIRST], "regions": ["us-east-1"]},
    "targets": [{"accounts": [FIRST, SECOND, THIRD], "regions": ["us-east-1", "eu-west-1"]}],
}
TEMPLATE: dict[str, Any] = {
    "Parameters": {
        "DeployEndpoint": {"Type": "String", "Default": "false", "AllowedValues": ["true", "false"]},
        "ApiAccessLogs": {"Type": "String", "Default": "false", "AllowedValues": ["true", "false"]},
        "InstanceType": {"Type": "String", "Default": "ml.g6.2xlarge"},
        "InstanceCount": {"Type": "Number", "Default": "1", "MinValue": 1, "MaxValue": 8},
        "ImageTag": {"Type": "String", "Default": "1.0", "AllowedPattern": "[0-9.]+", "Description": "A tag."},
    },
    "Rules": {
        "RegionHasImages": {
            "Assertions": [
                {
                    "Assert": {"Fn::Contains": [["us-east-1", "eu-west-1", "eu-west-3"], {"Ref": "AWS::Region"}]},
                    "AssertDescription": "No images here.",
                }
            ]
        }
    },
    "Resources": {"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "first"}}},
}
SETTINGS: dict[str, Any] = {"Resources": {"Account": {"Type": "AWS::ApiGateway::Account"}}}


def fleet(changes: Changes) -> Fleet:
    """Return the good fleet with these sections instead of its own."""
    return Fleet.model_validate(GOOD | changes)


def rendered(
    changes: Changes,
    template: dict[str, Any] | None = None,
    *,
    archives: bool = False,
    deployment: Changes | None = None,
) -> RenderedFleet:
    """Render the good fleet with these changes, with a template of a few parameters.

    deployment: changes of the fleet's deployment.
    """
    portable = PortableTemplate(template or TEMPLATE, {}, {"model.tar.gz": b""} if archives else {})
    return RenderedFleet(
        "chat", fleet(changes), "qwen3-4b", resolved(deployment or {}), portable, PortableTemplate(SETTINGS)
    )


class StandInAws:
    """CloudFormation, Organizations and IAM of one administrator account; every listing has a single page.

    `units`: the accounts and units directly below each unit.
    `sets`: what DescribeStackSet returns for each stack set.
    `instances`: the summaries of stack instances by stack set.
    `own_stack`: status and reason of the fleet's own stack.
    `roles`: names of IAM roles.
    """

    def __init__(self) -> None:
        self.units: dict[str, list[str]] = {CANARY_UNIT: [FIRST], UNIT: [SECOND, THIRD]}
        self.states: dict[str, str] = {}
        self.sets: dict[str, dict[str, Any]] = {}
        self.instances: dict[str, list[dict[str, Any]]] = {}
        self.overrides: dict[tuple[str, str, str], dict[str, str]] = {}
        self.operations: dict[str, list[dict[str, Any]]] = {}
        self.callers: set[str] = set()
        self.is_closed = False
        self.stacks: dict[str, dict[str, Any]] = {}
        self.own_stack: tuple[str, str] | None = None
        self.roles: list[str] = []

    def __call__(self, service: str) -> Any:
        return self

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **request: [getattr(self, operation)(**request)])

    def get_caller_identity(self) -> Any:
        return {"Account": FIRST}

    def describe_organization(self) -> Any:
        self._ask("DescribeOrganization")
        return {"Organization": {"MasterAccountId": MANAGEMENT}}

    def list_accounts_for_parent(self, ParentId: str) -> Any:
        self._ask("ListAccountsForParent")
        accounts = [each for each in self.units[ParentId] if each.isdigit()]
        return {"Accounts": [{"Id": each, "State": self.states.get(each, "ACTIVE")} for each in accounts]}

    def list_organizational_units_for_parent(self, ParentId: str) -> Any:
        return {"OrganizationalUnits": [{"Id": each} for each in self.units[ParentId] if not each.isdigit()]}

    def get_template(self, StackName: str, TemplateStage: str) -> Any:
        if StackName not in self.stacks:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "GetTemplate")
        return {"TemplateBody": self.stacks[StackName]}

    def get_role(self, RoleName: str) -> Any:
        self._ask("GetRole")
        if RoleName not in self.roles:
            raise ClientError({"Error": {"Code": "NoSuchEntity"}}, "GetRole")
        return {}

    def describe_stacks(self, StackName: str) -> Any:
        if not self.own_stack:
            message = f"Stack with id {StackName} does not exist"
            raise ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "DescribeStacks")
        return {"Stacks": [{"StackStatus": self.own_stack[0]}]}

    def describe_stack_events(self, StackName: str) -> Any:
        assert self.own_stack
        failed = {"LogicalResourceId": "Service", "ResourceType": "AWS::CloudFormation::StackSet"}
        why = {"ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": self.own_stack[1]}
        began = {"LogicalResourceId": StackName, "ResourceStatus": "CREATE_IN_PROGRESS"}
        return {"StackEvents": [failed | why, began]}

    def describe_stack_set(self, StackSetName: str, CallAs: str) -> Any:
        self.callers.add(CallAs)
        if StackSetName not in self.sets:
            raise ClientError({"Error": {"Code": "StackSetNotFoundException"}}, "DescribeStackSet")
        return {"StackSet": {"StackSetName": StackSetName, **self.sets[StackSetName]}}

    def list_stack_instances(self, StackSetName: str, CallAs: str) -> Any:
        return {"Summaries": self.instances.get(StackSetName, [])}

    def describe_stack_instance(
        self, StackSetName: str, StackInstanceAccount: str, StackInstanceRegion: str, CallAs: str
    ) -> Any:
        overrides = self.overrides.get((StackSetName, StackInstanceAccount, StackInstanceRegion), {})
        return {"StackInstance": {"ParameterOverrides": pairs(overrides)}}

    def list_stack_set_operations(self, StackSetName: str, MaxResults: int, CallAs: str) -> Any:
        return {"Summaries": self.operations.get(StackSetName, [])}

    def _ask(self, operation: str) -> None:
        if self.is_closed:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not you"}}, operation)

    def deploy(self, fleet: RenderedFleet, *places: tuple[str, str, str]) -> None:
        """Fill AWS as a deploy of the fleet does. `places`: stack set, account and region of each stack."""
        for each in fleet.stack_sets:
            self.sets[each.name] = {"TemplateBody": each.template.body(), "Parameters": pairs(dict(each.parameters))}
        for name, account, region in places:
            self.instances.setdefault(name, []).append(instance(account, region))


def pairs(values: dict[str, str]) -> list[dict[str, str]]:
    """Return parameters in the form in which CloudFormation lists them."""
    return [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()]


def instance(account: str, region: str, **more: Any) -> dict[str, Any]:
    """Return one summary of ListStackInstances."""
    return {"Account": account, "Region": region, "Status": "CURRENT", **more}
