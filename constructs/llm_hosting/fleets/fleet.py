"""Typed, frozen models of the fleet file: one deployment in many accounts and regions, by CloudFormation StackSets."""

from typing import Annotated, Literal

from pydantic import Field

from ..deployment.settings.section import Region, Section

OrganizationalUnit = Annotated[str, Field(pattern=r"^(ou-[a-z0-9]{4,32}-[a-z0-9]{8,32}|r-[a-z0-9]{4,32})$")]
AccountId = Annotated[str, Field(pattern=r"^[0-9]{12}$")]
PositivePercentage = Annotated[str, Field(pattern=r"^([1-9]|[1-9][0-9]|100)%$")]
Percentage = Annotated[str, Field(pattern=r"^([0-9]|[1-9][0-9]|100)%$")]


class FleetGroup(Section):
    """Accounts and regions that get the service: one stack in each account and region."""

    organizational_units: list[OrganizationalUnit] = Field(
        [],
        max_length=50,
        description="Ids of organizational units, `ou-...`, or of the organization's root, `r-...`; units below them "
        "are included. Required with `permission_model: service-managed`, refused with `self-managed`.",
    )
    accounts: list[AccountId] = Field(
        [],
        description="Account ids of 12 digits, in quotes. Self-managed: the accounts that get the service. "
        "Service-managed: the accounts that `account_filter` selects or leaves out.",
    )
    account_filter: Literal["none", "intersection", "difference"] = Field(
        "none",
        description="Accounts of the units that get the service: `none` = all; `intersection` = only those in "
        "`accounts`; `difference` = all except those in `accounts`.",
    )
    regions: list[Region] = Field(
        min_length=1, description="Names of regions, such as `eu-west-1`; each must be enabled in every account."
    )
    parameters: dict[str, str] = Field(
        default_factory=dict,
        description="Values of template parameters for this group, which win over the fleet's; text in quotes.",
    )


class AutoDeployment(Section):
    """What happens when an account joins or leaves an organizational unit; service-managed only."""

    enabled: bool = Field(
        False, description="Accounts that join a unit get the service, and accounts that leave it lose the service."
    )
    retain_on_removal: bool = Field(
        False, description="An account that leaves a unit keeps its stack, but StackSets no longer updates it."
    )


class Rollout(Section):
    """Order and speed of an operation over accounts and regions; automatic deployments do not follow it."""

    region_order: list[Region] = Field([], description="All regions in their order; empty = StackSets decides.")
    regions: Literal["sequential", "parallel"] = Field(
        "sequential", description="`sequential`: one region after the other. `parallel`: all regions at once."
    )
    failure_tolerance: Annotated[int, Field(ge=0)] | Percentage = Field(
        0,
        description="Accounts per region that may fail: a number, or a percentage such as `10%`, rounded down, at "
        "most half. If more fail, the operation stops in this region and in all later ones.",
    )
    max_concurrent: Annotated[int, Field(ge=1)] | PositivePercentage = Field(
        1,
        description="Accounts per region that are updated at once: a number, or a percentage such as `25%`, at least "
        "one.",
    )
    concurrency: Literal["strict", "soft"] = Field(
        "strict",
        description="`strict`: at most one account more at once than may fail. `soft`: always `max_concurrent` "
        "accounts at once, so that more may fail than `failure_tolerance` says.",
    )
    managed_execution: bool = Field(
        True, description="Let StackSets queue conflicting operations and run all others at the same time."
    )


class Fleet(Section):
    """One deployment in many accounts and regions."""

    deployment: str = Field(
        min_length=1, description="Name of the deployment, or of an overlay such as `qwen3-4b/prod`."
    )
    account_settings: bool = Field(
        True,
        description="First give API Gateway its role for logs in each account and region, and set `ApiAccessLogs`. "
        "Use false if the accounts have such a role.",
    )
    permission_model: Literal["service-managed", "self-managed"] = Field(
        "service-managed",
        description="`service-managed`: accounts of AWS Organizations, with trusted access. `self-managed`: accounts "
        "that have the roles which StackSets documents.",
    )
    call_as: Literal["delegated-admin", "self"] = Field(
        "delegated-admin",
        description="Account that deploys a service-managed fleet: `delegated-admin` = a delegated administrator's, "
        "`self` = the organization's management account. Has no effect on a self-managed fleet.",
    )
    management_account: AccountId | None = Field(
        None,
        description="Id of the organization's management account, which owns the stack sets of delegated "
        "administrators. Automatic deployment needs it to put the account settings before the service; null = not "
        "stated.",
    )
    administration_role_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$",
        max_length=2048,
        description="Self-managed: role that StackSets assumes; null = AWSCloudFormationStackSetAdministrationRole.",
    )
    execution_role_name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_+=,.@-]{1,64}$",
        description="Self-managed: name of the role in each account; null = AWSCloudFormationStackSetExecutionRole.",
    )
    auto_deployment: AutoDeployment = AutoDeployment()
    parameters: dict[str, str] = Field(
        default_factory=dict,
        description='Values of template parameters, as text in quotes, such as `DeployEndpoint: "true"`; '
        "`slipway render` writes the template, which lists them.",
    )
    canary: FleetGroup | None = Field(
        None,
        description="Group that is updated first, alone, and with no failure tolerated; the targets follow only after "
        "its success. Its accounts are left out of targets that name them or their units.",
    )
    targets: list[FleetGroup] = Field(min_length=1, description="Groups of accounts and regions that get the service.")
    rollout: Rollout = Rollout()
