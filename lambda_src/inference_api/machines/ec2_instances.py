"""EC2's view of the machines: the instances of this stack, to be described, started and stopped."""

from collections.abc import Callable
from typing import Any, NamedTuple

from botocore.config import Config
from botocore.exceptions import ClientError

# EC2 answers a start within seconds; a caller may wait for it.
ONE_START = Config(connect_timeout=1, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 1})
# For the tender, which nobody waits for.
SEVERAL_TRIES = ONE_START.merge(Config(retries={"mode": "standard", "total_max_attempts": 3}))

PENDING, RUNNING, STOPPED = "pending", "running", "stopped"
_STATES = (PENDING, RUNNING, "stopping", STOPPED)
# As the templates tag instances.
DEPLOYMENT_TAG, MACHINE_TAG = "slipway:deployment", "slipway:machine"


class Ec2Instance(NamedTuple):
    """The EC2 instance of a machine.

    number: the machine's. state: EC2's word, but never shutting-down or terminated. launched_at: the last start, in
    seconds since the epoch.
    """

    id: str
    number: int
    state: str
    launched_at: float


class StoppingError(Exception):
    """The instance is on its way down and can't be started now."""


class Ec2Instances:
    """Describes, starts and stops the instances of a stack.

    new_client: makes botocore's `ec2`. It is called on first use, because it takes a second.
    """

    def __init__(self, new_client: Callable[[], Any], stack: str) -> None:
        self._new_client, self._stack = new_client, stack
        self._made: Any = None

    @property
    def _client(self) -> Any:
        self._made = self._made or self._new_client()
        return self._made

    def describe(self) -> list[Ec2Instance]:
        """Return all instances that exist, in the order of their numbers."""
        wanted = {
            f"tag:{DEPLOYMENT_TAG}": [self._stack],
            "tag-key": [MACHINE_TAG],
            "instance-state-name": list(_STATES),
        }
        filters = [{"Name": name, "Values": values} for name, values in wanted.items()]
        found: list[Any] = []
        page: dict[str, Any] = {}
        while True:
            answer = self._client.describe_instances(Filters=filters, **page)
            found += [instance for each in answer["Reservations"] for instance in each["Instances"]]
            page = {"NextToken": answer["NextToken"]} if answer.get("NextToken") else {}
            if not page:
                break
        return sorted(map(_instance, found), key=lambda instance: (instance.number, instance.id))

    def start(self, instance_id: str) -> bool:
        """Start an instance; one that runs goes on. Return whether it was stopped before.

        Raises StoppingError, or botocore's errors.
        """
        try:
            answer = self._client.start_instances(InstanceIds=[instance_id])
        except ClientError as error:
            if error.response["Error"]["Code"] == "IncorrectInstanceState":
                raise StoppingError from None
            raise
        return bool(answer["StartingInstances"][0]["PreviousState"]["Name"] == STOPPED)

    def stop(self, instance_id: str) -> None:
        """Stop an instance as an operator would: its worker gets SIGTERM. Raises botocore's errors."""
        self._client.stop_instances(InstanceIds=[instance_id])


def _instance(described: Any) -> Ec2Instance:
    tags = {tag["Key"]: tag["Value"] for tag in described.get("Tags", [])}
    launched_at = described["LaunchTime"].timestamp()
    return Ec2Instance(described["InstanceId"], int(tags[MACHINE_TAG]), described["State"]["Name"], launched_at)
