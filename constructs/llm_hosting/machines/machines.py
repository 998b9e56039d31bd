"""The machines of `hosting.mode: ec2`: the code on them, their network, and one Machine for each number."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from ..dashboard.cost import Awake, price_of
from ..dashboard.panel import Panel, Question, graph, metric
from ..resolution import Resolution
from ..sources import Sources
from ..surroundings import Surroundings
from .machine import Machine
from .network import MachineNetwork
from .role import MachineRole


class Machines(Construct):
    """The machines of a deployment. `ids`: their instance ids in the order of their numbers, separated by commas.

    environment: variables for the worker and for the model beside it.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        resolution: Resolution,
        sources: Sources,
        surroundings: Surroundings,
        role: MachineRole,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        deployment = resolution.deployment
        self._resolution, self._surroundings = resolution, surroundings
        network = MachineNetwork(self, "Network", network=surroundings.network)
        with TemporaryDirectory() as folder:
            _copy_code(sources, Path(folder))
            code = assets.Asset(self, "Code", path=folder)
        code_arn = f"arn:{cdk.Aws.PARTITION}:s3:::{code.s3_bucket_name}/{code.s3_object_key}"
        role.allow(code_arn, "s3:GetObject")
        self._machines = [
            Machine(
                self,
                f"Machine{number}",
                number=number,
                resolution=resolution,
                code=code.s3_object_url,
                environment=environment,
                volume_key=surroundings.volume_key(
                    deployment.hosting.volume_kms_key_arn, takes_key=resolution.volume_takes_key
                ),
                deployment=surroundings.name,
                network=network,
                profile=role.profile,
            )
            for number in range(deployment.hosting.instance_count.max)
        ]
        if network.connected:
            for machine in self._machines:
                machine.instance.node.add_dependency(network.connected)
        self.ids = ",".join(machine.id for machine in self._machines)

    def panels(self) -> list[Panel]:
        """Return what a dashboard shows of the machines. EC2 measures no GPU."""
        total, instance = cloudwatch.Stats.SUM, self._resolution.placements[0].instance
        minutes = self._surroundings.metric("MachinesAwake", total)  # the tender counts them once a minute
        busy = [
            metric("AWS/EC2", "CPUUtilization", {"InstanceId": machine.id}, label=f"machine {number}")
            for number, machine in enumerate(self._machines)
        ]
        return [
            *Awake(minutes, "machine", len(self._machines), price_of(self, instance)).panels(self._surroundings),
            Panel(
                Question.FULL,
                "EC2 measures the CPU of a machine, but not its GPU, and the model's server has no metrics of its own.",
                [graph("CPU", *busy, unit="%")],
            ),
        ]

    def create_last(self, service: Construct) -> None:
        """Create the machines after everything of the service but its dashboard, and terminate them first.

        So no machine bills while something else fails, and everything that a machine calls exists.
        """
        machines = tuple(f"{machine.node.path}/" for machine in self._machines)
        resources = [each for each in service.node.find_all() if isinstance(each, cdk.CfnResource)]
        # A dashboard names the machines.
        earlier = [
            each
            for each in resources
            if not f"{each.node.path}/".startswith(machines) and not isinstance(each, cloudwatch.CfnDashboard)
        ]
        for machine in self._machines:
            machine.instance.node.add_dependency(*earlier)


def _copy_code(sources: Sources, folder: Path) -> None:
    """Copy `inference_api` without its routes for the worker, `generation` for the model, `machine` for the set-up."""
    unused = shutil.ignore_patterns("__pycache__", "handlers", "batches")
    for source in (sources.functions / "inference_api", sources.models / "generation", sources.models / "machine"):
        shutil.copytree(source, folder / source.name, ignore=unused)
