"""Systems Manager on instances: which are online, and commands that operators run there."""

from local_cloud.emulator.core import ministack
from local_cloud.emulator.ec2 import operations

_ec2 = ministack.internals("ministack.services.ec2", "exec_in_instance_blocking", "instance_is_managed")


def _is_managed(instance_id: str) -> bool:
    return instance_id in operations.instances and operations.instances[instance_id].is_online


def _execute(instance_id: str, arguments: list[str]) -> tuple[int, str, str]:
    result: tuple[int, str, str] = operations.instances[instance_id].execute(arguments)
    return result


def install() -> None:
    # MiniStack's Run Command asks EC2 both questions.
    _ec2.instance_is_managed, _ec2.exec_in_instance_blocking = _is_managed, _execute
