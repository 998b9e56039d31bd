"""Change sets, which the CDK's command line uses: executing one also updates the stack's description."""

from typing import Any

from local_cloud.emulator.core import ministack

_handlers = ministack.internals("ministack.services.cloudformation.handlers", "_ACTION_HANDLERS")
_package = ministack.internals("ministack.services.cloudformation", "_change_sets", "_stacks")


def install() -> None:
    execute = _handlers._ACTION_HANDLERS["ExecuteChangeSet"]

    def execute_change_set(parameters: dict[str, Any]) -> Any:
        answer = execute(parameters)
        for change_set in _package._change_sets.values():  # the newest of a stack comes last
            stack = _package._stacks.get(change_set["StackName"])
            if stack and change_set["ExecutionStatus"] != "AVAILABLE":
                stack["Description"] = change_set["_template"].get("Description", "")
        return answer

    _handlers._ACTION_HANDLERS["ExecuteChangeSet"] = execute_change_set
