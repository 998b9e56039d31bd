"""Names the console's page of a service's dashboard, or of an account's, and opens it in a browser."""

import os
import sys
import webbrowser
from collections.abc import Mapping
from urllib.parse import quote

from llm_hosting import ACCOUNT_DASHBOARD, ACCOUNT_SETTINGS
from slipway.shared.aws_clients import Clients, clients_in, local_cloud, region_option
from slipway.shared.cdk_command import cdk
from slipway.stack.deployed_stack import DeployedStack, asking_aws, described_stack, find_stack

OUTPUT = "Dashboard"  # of the stack: the dashboard's name
_CONSOLES = {
    "aws": "{region}.console.aws.amazon.com",
    "aws-cn": "{region}.console.amazonaws.cn",
    "aws-us-gov": "{region}.console.amazonaws-us-gov.com",
}
_SHELLS_ELSEWHERE = ("SSH_CONNECTION", "SSH_TTY")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


class NoDashboardError(Exception):
    """There is no page to show; the message is one sentence."""


def run(name: str | None, region: str | None, *, opens: bool) -> int:
    """Print the page's URL, and open it. name: None = the account's dashboard. Returns the exit status."""
    return asking_aws(lambda: _show(name, clients_in(region), opens=opens))


def _show(name: str | None, clients: Clients, *, opens: bool) -> int:
    try:
        page = _page_of_service(find_stack(name, clients)) if name else _page_of_account(clients)
    except NoDashboardError as error:
        print(error, file=sys.stderr)
        return 1
    print(page, flush=True)
    if opens and sys.stdout.isatty() and has_screen(os.environ, sys.platform):
        webbrowser.open(page)
    return 0


def _page_of_service(stack: DeployedStack) -> str:
    watch = f"`slipway status {stack.name} --watch{region_option(stack.region)}`"
    dashboard = stack.outputs.get(OUTPUT)
    if dashboard is None:
        fix = "set operations.dashboard: true in its file and deploy it"
        raise NoDashboardError(f"{stack.name} has no dashboard: {fix}, or use {watch}.")
    if stack.local_cloud:
        raise NoDashboardError(f"The local cloud has no console to show the dashboard {dashboard}: use {watch}.")
    return page_of(dashboard, str(stack.described["StackId"]))


def _page_of_account(clients: Clients) -> str:
    described = described_stack(ACCOUNT_SETTINGS, clients)
    outputs = {each["OutputKey"]: each["OutputValue"] for each in (described or {}).get("Outputs", [])}
    if described is None or OUTPUT not in outputs:
        region = clients("cloudformation").meta.region_name
        fix = cdk(f"deploy {ACCOUNT_SETTINGS} -c deployment={ACCOUNT_SETTINGS} -c {ACCOUNT_DASHBOARD}=true")
        raise NoDashboardError(f"The account has no dashboard of {region}: `{fix}` makes one, or see `slipway list`.")
    if local_cloud(clients):
        raise NoDashboardError(
            f"The local cloud has no console to show the dashboard {outputs[OUTPUT]}: use `slipway list`."
        )
    return page_of(outputs[OUTPUT], str(described["StackId"]))


def page_of(dashboard: str, stack_id: str) -> str:
    """Return the dashboard's URL in the console of the stack's partition.

    Raises NoDashboardError for a partition whose console is not known.
    """
    _, partition, _, region, *_ = stack_id.split(":")
    if partition not in _CONSOLES:
        raise NoDashboardError(
            f"The console of the partition {partition} is not known: open the dashboard {dashboard} there."
        )
    host = _CONSOLES[partition].format(region=region)
    return f"https://{host}/cloudwatch/home?region={region}#dashboards/dashboard/{quote(dashboard, safe='')}"


def has_screen(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser that is opened here is seen by whoever typed the command."""
    if any(map(environment.get, _SHELLS_ELSEWHERE)):
        return False
    return platform in ("darwin", "win32") or any(map(environment.get, _DISPLAYS))
