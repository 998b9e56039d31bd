"""The stack that creates a fleet's stack sets in the administrator's account."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from llm_hosting import DESCRIPTION_PREFIX
from llm_hosting.fleets.fleet import Fleet, FleetGroup
from llm_hosting.fleets.stack_sets import RenderedFleet, RenderedStackSet

_IDS = {"account-settings": "AccountSettings", "canary": "Canary", "service": "Service"}


class FleetStack(cdk.Stack):
    """Stack sets for account settings, the canary and all others. Each is updated after the one before succeeded."""

    def __init__(self, scope: Construct, construct_id: str, *, rendered: RenderedFleet, **kwargs: Any) -> None:
        description = f"Fleet {rendered.name} of {rendered.deployment}, made by Slipway"
        # Deleting this stack would end the service in every account.
        super().__init__(scope, construct_id, description=description, termination_protection=True, **kwargs)
        made: list[cdk.CfnStackSet] = []
        for each in rendered.stack_sets:
            # An update of a set changes all its stacks in one operation, so the canary has a set of its own.
            before = made[:1] if rendered.needs_settings else []
            stack_set = self._stack_set(each, rendered, automatically_after=before)
            for earlier in made:
                stack_set.node.add_dependency(earlier)
            made.append(stack_set)

    def _stack_set(
        self, each: RenderedStackSet, rendered: RenderedFleet, automatically_after: Sequence[cdk.CfnStackSet]
    ) -> cdk.CfnStackSet:
        fleet = rendered.fleet
        return cdk.CfnStackSet(
            self,
            _IDS[each.role],
            stack_set_name=each.name,
            description=f"{DESCRIPTION_PREFIX}{rendered.deployment}, {each.role}; template {each.version}",
            template_url=self._url(each),
            parameters=_parameters(each.parameters),
            capabilities=["CAPABILITY_IAM"],
            stack_instances_group=[_instances(group) for group in each.groups],
            operation_preferences=_preferences(each),
            managed_execution={"Active": each.rollout.managed_execution},
            **self._permissions(fleet, each, automatically_after),
        )

    def _url(self, each: RenderedStackSet) -> str:
        """The template's URL; StackSets reads it once, with the permissions of the deploy."""
        kind = "Settings" if each.role == "account-settings" else "Service"
        asset = self.node.try_find_child(f"{kind}Template")
        if not isinstance(asset, assets.Asset):
            with TemporaryDirectory() as folder:
                path = Path(folder) / "template.yaml"
                path.write_text(each.template.body())
                asset = assets.Asset(self, f"{kind}Template", path=str(path))
        return str(asset.http_url)

    def _permissions(
        self, fleet: Fleet, each: RenderedStackSet, automatically_after: Sequence[cdk.CfnStackSet]
    ) -> dict[str, Any]:
        if fleet.permission_model == "self-managed":
            return {
                "permission_model": "SELF_MANAGED",
                "administration_role_arn": fleet.administration_role_arn,
                "execution_role_name": fleet.execution_role_name,
            }
        automatic: dict[str, Any] = {"enabled": each.auto_deployment}
        if each.auto_deployment:
            automatic["retain_stacks_on_account_removal"] = fleet.auto_deployment.retain_on_removal
            owner = self.account if fleet.call_as == "self" else fleet.management_account
            if automatically_after and owner:
                automatic["depends_on"] = [self._arn(earlier, owner) for earlier in automatically_after]
        return {
            "permission_model": "SERVICE_MANAGED",
            "call_as": "SELF" if fleet.call_as == "self" else "DELEGATED_ADMIN",
            "auto_deployment": cdk.CfnStackSet.AutoDeploymentProperty(**automatic),
        }

    def _arn(self, stack_set: cdk.CfnStackSet, account: str) -> str:
        """A set's ARN. Service-managed sets belong to the management account, even a delegated administrator's."""
        return f"arn:{self.partition}:cloudformation:{self.region}:{account}:stackset/{stack_set.ref}"


def _parameters(values: Mapping[str, str]) -> list[cdk.CfnStackSet.ParameterProperty] | None:
    made = [cdk.CfnStackSet.ParameterProperty(parameter_key=key, parameter_value=values[key]) for key in sorted(values)]
    return made or None


def _instances(group: FleetGroup) -> cdk.CfnStackSet.StackInstancesProperty:
    # With any filter, even NONE, CloudFormation compares targets account by account, and refuses more of them.
    filtered = group.account_filter.upper() if group.account_filter != "none" else None
    return cdk.CfnStackSet.StackInstancesProperty(
        deployment_targets=cdk.CfnStackSet.DeploymentTargetsProperty(
            organizational_unit_ids=group.organizational_units or None,
            accounts=group.accounts or None,
            account_filter_type=filtered,
        ),
        regions=group.regions,
        parameter_overrides=_parameters(group.parameters),
    )


def _preferences(each: RenderedStackSet) -> cdk.CfnStackSet.OperationPreferencesProperty:
    rollout = each.rollout
    return cdk.CfnStackSet.OperationPreferencesProperty(
        region_concurrency_type=rollout.regions.upper(),
        region_order=each.region_order or None,
        concurrency_mode=f"{rollout.concurrency.upper()}_FAILURE_TOLERANCE",
        **_count_or_percentage("failure_tolerance", rollout.failure_tolerance),
        **_count_or_percentage("max_concurrent", rollout.max_concurrent),
    )


def _count_or_percentage(name: str, value: int | str) -> dict[str, Any]:
    return {f"{name}_count": value} if isinstance(value, int) else {f"{name}_percentage": int(value[:-1])}
