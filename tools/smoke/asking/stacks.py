"""The stacks of the smoke test. Each has a file in `deployments/`, and a question may ask for it."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
RESERVED = "slipway-smoke-"  # CloudFormation begins names of roles, tables, buckets, log groups with the stack's name
MADE = f"{RESERVED}made-"  # names of whatever a question makes beside the stacks begin so


@dataclass(frozen=True)
class SmokeStack:
    """A deployment that several questions share; it is deployed once, and removed after its last question.

    name: of the stack and of its file. minutes: to deploy and to remove it on AWS. most_instances: at once; an update
    of an endpoint starts new instances beside the old ones.
    """

    name: str
    minutes: float
    most_instances: int = 1

    @property
    def file(self) -> Path:
        return ROOT / "tools" / "smoke" / "deployments" / f"{self.name}.yaml"


REALTIME = SmokeStack("slipway-smoke", minutes=15, most_instances=2)
ASYNC = SmokeStack("slipway-smoke-async", minutes=15, most_instances=2)
ZERO = SmokeStack("slipway-smoke-zero", minutes=15)
STREAM = SmokeStack("slipway-smoke-stream", minutes=15)
EC2 = SmokeStack("slipway-smoke-ec2", minutes=12)
UPDATES = SmokeStack("slipway-smoke-updates", minutes=15, most_instances=2)
