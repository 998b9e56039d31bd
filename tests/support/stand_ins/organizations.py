"""An organization of accounts, into which stack sets deploy."""

from dataclasses import dataclass, field
from typing import Any

from local_cloud.cloud import Credentials, LocalCloud
from support.patience import wait_for

REGION = "us-east-1"


@dataclass
class Organization:
    """An organization whose management account is the local cloud's own."""

    cloud: LocalCloud
    deployers: dict[str, Credentials] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api = self.cloud.client("organizations", region=REGION)
        self.root = self.api.list_roots()["Roots"][0]["Id"]
        self.cloud.client("cloudformation", region=REGION).activate_organizations_access()

    def unit(self, name: str, parent: str = "") -> str:
        made = self.api.create_organizational_unit(ParentId=parent or self.root, Name=name)
        return str(made["OrganizationalUnit"]["Id"])

    def account(self, unit: str = "") -> str:
        """Create an account with its own deployer, and return its id."""
        made = self.api.create_account(AccountName="member", Email="member@example.com")["CreateAccountStatus"]
        account = str(made["AccountId"])
        self.deployers[account] = self.cloud.deployer_in(account)
        if unit:
            self.move(account, self.root, unit)
        return account

    def move(self, account: str, source: str, destination: str) -> None:
        self.api.move_account(AccountId=account, SourceParentId=source, DestinationParentId=destination)

    def client(self, service: str, account: str, region: str = REGION) -> Any:
        return self.cloud.client(service, region=region, credentials=self.deployers.get(account))

    def stacks(self, account: str, region: str = REGION) -> dict[str, str]:
        """Return the status of each stack that a stack set made in the account, by the set's name."""
        found = self.client("cloudformation", account, region).describe_stacks()["Stacks"]
        return {
            each["StackName"].removeprefix("StackSet-")[:-37]: each["StackStatus"]
            for each in found
            if each["StackName"].startswith("StackSet-")
        }

    def wait_for_stacks(self, account: str, wanted: dict[str, str], region: str = REGION) -> None:
        wait_for(lambda: self.stacks(account, region) == wanted or None, f"{wanted} in {account}")


@dataclass
class Sets:
    """Reads the stack sets of the management account."""

    cloud: LocalCloud
    credentials: Credentials | None = None
    call_as: str = "SELF"

    def __post_init__(self) -> None:
        self.api = self.cloud.client("cloudformation", region=REGION, credentials=self.credentials)

    def instances(self, name: str) -> dict[tuple[str, str], tuple[str, str]]:
        """Return status and detailed status of the stack set's stacks by account and region."""
        found = self.api.list_stack_instances(StackSetName=name, CallAs=self.call_as)["Summaries"]
        return {
            (each["Account"], each["Region"]): (each["Status"], each["StackInstanceStatus"]["DetailedStatus"])
            for each in found
        }

    def operations(self, name: str) -> list[tuple[str, str]]:
        """Return action and status of each operation, the oldest first."""
        found = self.api.list_stack_set_operations(StackSetName=name, CallAs=self.call_as)["Summaries"]
        return [(each["Action"], each["Status"]) for each in reversed(found)]

    def results(self, name: str) -> dict[tuple[str, str], str]:
        """Return the status of the last operation in each account and region."""
        last = self.api.list_stack_set_operations(StackSetName=name, CallAs=self.call_as)["Summaries"][0]
        found = self.api.list_stack_set_operation_results(
            StackSetName=name, OperationId=last["OperationId"], CallAs=self.call_as
        )
        return {(each["Account"], each["Region"]): each["Status"] for each in found["Summaries"]}
