"""Automatic deployment: an account that joins a unit gets its stacks; one that leaves loses or keeps them."""

import asyncio

from local_cloud.emulator.core import ministack
from local_cloud.emulator.stack_sets.operation import Operation
from local_cloud.emulator.stack_sets.organization import when_accounts_move
from local_cloud.emulator.stack_sets.preferences import AUTOMATIC
from local_cloud.emulator.stack_sets.stack_set import StackSet, stack_sets
from local_cloud.emulator.stack_sets.targets import targets


def _follow(management: str, account: str) -> None:
    ministack.in_background(
        lambda: ministack.on_loop(_follow_all(management, account)).result(), name="auto-deployment"
    )


async def _follow_all(management: str, moved: str) -> None:
    """Run each set after those it depends on, and not at all if one of them failed."""
    found = [each for account, _, each in ministack.in_all_scopes(stack_sets) if account == management]
    automatic = {each.arn: each for each in found if each.is_automatic}
    tasks: dict[str, asyncio.Task[bool]] = {}

    async def follow(stack_set: StackSet) -> bool:
        needed = [start(automatic[arn]) for arn in _depends_on(stack_set) if arn in automatic]
        return all([await each for each in needed]) and await _follow_one(stack_set, moved)

    def start(stack_set: StackSet) -> asyncio.Task[bool]:
        if stack_set.arn not in tasks:
            tasks[stack_set.arn] = asyncio.create_task(follow(stack_set))
        return tasks[stack_set.arn]

    await asyncio.gather(*map(start, automatic.values()))


def _depends_on(stack_set: StackSet) -> list[str]:
    return stack_set.properties["AutoDeployment"].get("DependsOn") or []


async def _follow_one(stack_set: StackSet, moved: str) -> bool:
    """Run a set's operations; returns whether all succeeded. OperationPreferences and account filters do not apply."""
    groups = [
        {**group, "DeploymentTargets": {"OrganizationalUnitIds": group["DeploymentTargets"]["OrganizationalUnitIds"]}}
        for group in stack_set.properties.get("StackInstancesGroup") or []
    ]
    wanted = {target: unit for group in groups for target, unit in targets(group, stack_set.management).items()}
    gone = [each for each in stack_set.instances if each[0] == moved and each not in wanted]
    new = {each: unit for each, unit in wanted.items() if each[0] == moved and each not in stack_set.instances}
    operations = []
    if gone:
        operations.append(Operation("DELETE", gone, AUTOMATIC, retains=stack_set.retains_on_removal))
    if new:
        stack_set.add(new, {})
        operations.append(Operation("CREATE", list(new), AUTOMATIC))
    for operation in operations:
        await stack_set.run(operation, queues=True)
    return not any(each.failed for each in operations)


def install() -> None:
    when_accounts_move(_follow)
