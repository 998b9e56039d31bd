"""The objects that read the state of machines and start them, made once per process."""

from functools import cache

from botocore.config import Config

from inference_api.machines.ec2_instances import ONE_START, Ec2Instances
from inference_api.machines.readiness import Readiness
from inference_api.machines.rows import MachineRows
from inference_api.machines.starter import Starter
from inference_api.shared.runtime import STANDARD_RETRIES, runtime
from inference_api.shared.settings import job_settings, machine_settings


@cache
def machine_rows() -> MachineRows:
    """Return the rows of this deployment's machines."""
    client = runtime().client("dynamodb", STANDARD_RETRIES)
    return MachineRows(client, job_settings().table, machine_settings().count)


@cache
def readiness() -> Readiness:
    """Return the readiness of this deployment's machines."""
    return Readiness(machine_rows(), runtime().now, machine_settings().startup_timeout_in_seconds)


@cache
def starter(config: Config = ONE_START) -> Starter:
    """Return the starter of machines. config: settings of its client of EC2."""
    return Starter(machine_rows(), ec2_instances(config), runtime(), job_settings().deployment)


@cache
def ec2_instances(config: Config) -> Ec2Instances:
    """Return this deployment's instances. config: settings of the client of EC2."""
    return Ec2Instances(lambda: runtime().client("ec2", config), job_settings().deployment)
