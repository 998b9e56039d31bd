"""Deploys the app's real templates on this machine, where they answer real HTTP."""

import os
import shlex
import signal
import sys
import time
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError, find, stack_name
from llm_hosting.preflight.validation import load
from llm_hosting.project import project_folder
from llm_hosting.resolution.description import describe
from llm_hosting.sources import handler_names
from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack, SynthesisError, read_stacks, synthesize
from local_cloud.checks import RefusedTemplateError, check
from local_cloud.cloud import LocalCloud, LocalCloudError
from local_cloud.deploy import DeployError
from local_cloud.interpreters.environments import EnvironmentUnavailableError
from local_cloud.real_model.error import RealModelError
from local_cloud.real_model.process import RealModel
from slipway.local.running_cloud import DEFAULT_PORT, announced
from slipway.local.served import put_stack, serve
from slipway.shared.cdk_command import installation
from slipway.shared.steps import Steps
from slipway.stack.signing_proxy import PortError, demand_free


def run(
    deployments: list[str],
    port: int,
    clock_speed: float,
    real: str | None = None,
    playground_port: int | None = None,
) -> int:
    """Deploy, ask each model, and stay until Ctrl-C.

    real: a folder or an id on the Hub, of a model that answers in place of the text generator. playground_port: of the
    first deployment's page. Returns the exit status: 0 after Ctrl-C, 1 after a problem, which was printed, 2 for an
    unknown deployment or packages that can't be had.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    progress, project = Steps(), project_folder(*deployments)
    try:
        demand_free(playground_port)
        paths = [find(name, project / "deployments") for name in deployments]
        loaded = {stack_name(path): load(path, handler_names(project)) for path in paths}
        resolutions = {name: resolution for name, (resolution, _) in loaded.items()}
        if real:
            progress(f"looking for {real}")
        with (  # both start while the app synthesizes
            RealModel(real) if real else nullcontext() as model,
            LocalCloud(port=port, clock_speed=clock_speed, model=model) as cloud,
        ):
            for name, (resolution, findings) in loaded.items():
                print(*describe(name, resolution, findings, is_local=True), sep="\n", file=sys.stderr)
            progress(f"synthesizing {', '.join(deployments)}")
            places = {name: each.deployment.shared for name, each in resolutions.items()}
            shared = {name: place.stack for name, place in places.items() if place}
            endpoints = list(dict.fromkeys(shared.values()))
            settings, *stacks = read_stacks(synthesize([ACCOUNT_SETTINGS, *endpoints, *deployments]))
            progress("checking the templates")
            check(settings, *stacks)
            first, stacks = stacks[: len(endpoints)], stacks[len(endpoints) :]
            progress("starting the emulator")
            cloud.wait_until_ready()
            if model:
                progress(f"loading {model.name}")
                model.wait_until_ready()
                if all(each.deployment.hosting.runs_on_machines for each in resolutions.values()):
                    model.stop()  # each machine loads it itself
            for region in dict.fromkeys(stack.region for stack in stacks):
                put_stack(cloud, replace(settings, region=region), progress)
            for endpoint in first:
                for region in dict.fromkeys(each.region for each in stacks if shared.get(each.name) == endpoint.name):
                    put_stack(cloud, replace(endpoint, region=region), progress)
            served = [serve(cloud, stack, resolutions[stack.name], model, progress) for stack in stacks]
            progress.end()
            with announced(project_folder(), port, _variables(cloud, served[0].client)), ExitStack() as pages:
                for each in served:
                    page = pages.enter_context(each.page(cloud, playground_port if each is served[0] else 0))
                    print(*([each.stack.name] if len(served) > 1 else []), *each.told(page), sep="\n")
                print(*_other_shell(port, stacks), "", sep="\n")
                print("Ctrl-C stops it.", flush=True)
                _stay(cloud)
    except KeyboardInterrupt:
        progress.end()
        print("\nstopped: every process is gone")
        return 0
    except (
        UnknownDeploymentError,
        DeploymentError,
        EnvironmentUnavailableError,
        SynthesisError,
        LocalCloudError,
        RealModelError,
        RefusedTemplateError,
        DeployError,
        PortError,
    ) as error:
        progress.end()
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UnknownDeploymentError | EnvironmentUnavailableError) else 1
    return 0


def _variables(cloud: LocalCloud, client: ApiClient) -> dict[str, str]:
    """Return the variables by which the operator's verbs, the CDK and our documentation's calls work in another shell.

    The key is that of the local cloud's deployer, who may do everything, including calls of the API.
    """
    return {
        "API_URL": client.url,
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_REGION": client.region,
        "AWS_DEFAULT_REGION": client.region,
        "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
        "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
        "AWS_SESSION_TOKEN": "",  # a token for AWS would invalidate the signature
        "NO_PROXY": os.environ["NO_PROXY"],
        "no_proxy": os.environ["no_proxy"],
        **({"API_KEY": client.api_key} if client.api_key else {}),
        **({"SLIPWAY_TOKEN": client.token} if client.token else {}),
    }


def _other_shell(port: int, stacks: list[Stack]) -> list[str]:
    """Lines to paste into another shell, whose region is that of the first stack."""
    chosen = "" if port == DEFAULT_PORT else f" --port {port}"
    needs = f" (npx cdk needs `{missing}` first)" if (missing := installation()) else ""
    elsewhere = {each.name: f" --region {each.region}" for each in stacks if each.region != stacks[0].region}
    return [
        f"In another shell, in this folder{needs}:\n",
        *_activation(),
        f'eval "$(slipway env{chosen})"',
        *(f"slipway verify {each.name}{elsewhere.get(each.name, '')}" for each in stacks),
    ]


def _activation() -> list[str]:
    """Return the line that activates this Python's environment; none for a Python without one."""
    script, here = Path(sys.prefix) / "bin" / "activate", Path.cwd()
    if not script.exists():
        return []
    return [f"source {shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))}"]


def _stay(cloud: LocalCloud) -> None:
    """Wait for Ctrl-C, for the end of the emulator, or for the end of the `make` that called."""
    parent, told = os.getppid(), set[str]()
    while True:
        cloud.check_alive()
        if "MAKELEVEL" in os.environ and os.getppid() != parent:
            raise KeyboardInterrupt
        watches = cloud.watches()
        for name in watches.keys() - told:
            _tell_of_watch(cloud, name, watches[name])
        told = set(watches)
        time.sleep(0.5)


def _tell_of_watch(cloud: LocalCloud, name: str, seconds: int) -> None:
    put_forward = f"""curl -X POST {cloud.url}/_slipway/clock -d '{{"seconds": {seconds}}}'"""
    print(
        f"\n{name} is updated: as on AWS, its alarms are watched for {seconds} s with old and new instances.",
        f"To skip it:\n{put_forward}",
        flush=True,
    )


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
