"""The fleet as typed, frozen models: one deployment in many accounts and regions, by CloudFormation StackSets."""

from typing import Annotated, Literal

from pydantic import Field

from ..deployment.model import Section

OrganizationalUnit = Annotated[str, Field(pattern=r"^(ou-[a-z0-9]{4,32}-[a-z0-9]{8,32}|r-[a-z0-9]{4,32})$")]
AccountId = Annotated[str, Field(pattern=r"^[0-9]{12}$")]
Region = Annotated[str, Field(pattern=r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$")]
PositivePercentage = Annotated[str, Field(pattern=r"^([1-9]|[1-9][0-9]|100)%$")]
Percentage = Annotated[str, Field(pattern=r"^([0-9]|[1-9][0-9]|100)%$")]


class Group(Section):
    """Accounts and regions that get the service; a stack in each account for each region."""

    organizational_units: list[OrganizationalUnit] = Field(
        [],
        max_length=50,
        description="Ids of units, `ou-...`, or of the organization's root, `r-...`; the units below them count, too. "
        "Required with `permission_model: service-managed`, and not allowed without.",
    )
    accounts: list[AccountId] = Field(
        [],
        description="12 digits each, in quotes. Self-managed: the accounts. Service-managed: those that "
        "`account_filter` picks or leaves out.",
    )
    account_filter: Literal["none", "intersection", "difference"] = Field(
        "none",
        description="Of the units' accounts: `none` = all; `intersection` = only those in `accounts`; `difference` = "
        "all but those.",
    )
    regions: list[Region] = Field(
        min_length=1, description="Names of regions, such as `eu-west-1`; each has to be enabled in each account."
    )
    parameters: dict[str, str] = Field(
        default_factory=dict,
        description="Values of parameters of the template that differ in this group, as text in quotes.",
    )


class AutoDeployment(Section):
    """What happens when an account joins or leaves a unit; service-managed only."""

    enabled: bool = Field(False, description="Accounts that join a unit get the service, and those that leave lose it.")
    retain_on_removal: bool = Field(
        False, description="An account that leaves a unit keeps its stack, on its own from then on."
    )


class Rollout(Section):
    """How an operation goes through accounts and regions. Does not hold for automatic deployments."""

    region_order: list[Region] = Field([], description="Regions in their order; empty = as StackSets sees fit.")
    regions: Literal["sequential", "parallel"] = Field("sequential", description="One region at a time, or all.")
    failure_tolerance: Annotated[int, Field(ge=0)] | Percentage = Field(
        0,
        description="Accounts per region that may fail before the operation stops there and in all later regions: a "
        "number, or a percentage such as `10%`, at most half, rounded down.",
    )
    max_concurrent: Annotated[int, Field(ge=1)] | PositivePercentage = Field(
        1, description="Accounts per region at the same time: a number, or a percentage such as `25%`, at least one."
    )
    concurrency: Literal["strict", "soft"] = Field(
        "strict",
        description="`strict`: never more accounts at the same time than may fail, plus one. `soft`: `max_concurrent` "
        "whatever fails, so that more accounts than tolerated may fail.",
    )
    managed_execution: bool = Field(
        True, description="StackSets queues operations that conflict, and runs others side by side."
    )


class Fleet(Section):
    """One deployment in many accounts and regions."""

    deployment: str = Field(
        min_length=1, description="Name of the deployment, or of an overlay such as `qwen3-4b/prod`."
    )
    account_settings: bool = Field(
        True,
        description="Gives API Gateway its role for logs in each account and region first, and sets `ApiAccessLogs`. "
        "False where the accounts have such a role.",
    )
    permission_model: Literal["service-managed", "self-managed"] = Field(
        "service-managed",
        description="`service-managed`: accounts of AWS Organizations, with trusted access. `self-managed`: accounts "
        "with the roles that StackSets documents.",
    )
    call_as: Literal["delegated-admin", "self"] = Field(
        "delegated-admin",
        description="Who deploys a service-managed fleet: a delegated administrator's account, or the organization's "
        "management account (`self`). Not for a self-managed one.",
    )
    management_account: AccountId | None = Field(
        None,
        description="The organization's management account, which owns the stack sets of delegated administrators: "
        "with automatic deployment and `account_settings` it is needed to order the two; null = not told.",
    )
    administration_role_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$",
        max_length=2048,
        description="Self-managed: role that StackSets takes; null = AWSCloudFormationStackSetAdministrationRole.",
    )
    execution_role_name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_+=,.@-]{1,64}$",
        description="Self-managed: role in each account; null = AWSCloudFormationStackSetExecutionRole.",
    )
    auto_deployment: AutoDeployment = AutoDeployment()
    parameters: dict[str, str] = Field(
        default_factory=dict,
        description='Values of parameters of the template, as text in quotes, such as `DeployEndpoint: "true"`; '
        "`python -m slipway render` writes the template.",
    )
    canary: Group | None = Field(
        None,
        description="Updated first, on its own and with no failure tolerated; the targets are not touched before that "
        "has succeeded. Left out of the targets that name its accounts or units.",
    )
    targets: list[Group] = Field(min_length=1, description="Groups of accounts and regions.")
    rollout: Rollout = Rollout()
