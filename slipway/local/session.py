"""Deploys the app's real templates on this machine, where they answer real HTTP."""

import os
import shlex
import signal
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from botocore.credentials import Credentials

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError, find, stack_name
from llm_hosting.preflight.validation import load
from llm_hosting.project import project_folder
from llm_hosting.resolution import Resolution
from llm_hosting.resolution.description import describe
from llm_hosting.sources import handler_names
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack, SynthesisError, read_stacks, synthesize
from local_cloud.checks import RefusedTemplateError, check
from local_cloud.cloud import LocalCloud, LocalCloudError
from local_cloud.deploy import DeployError, deploy
from local_cloud.network import put_network
from local_cloud.real_model.error import RealModelError
from local_cloud.real_model.process import RealModel
from local_cloud.registry import put_image
from slipway.hosting.hosting import hosting_of
from slipway.local.running_cloud import DEFAULT_PORT, announced
from slipway.shared.cdk_command import installation
from slipway.shared.steps import Steps
from slipway.stack.api import DeployedApi
from slipway.stack.container_log import last_words
from slipway.stack.deployed_stack import existing_stack, find_stack
from slipway.stack.prompt import text_of
from slipway.stack.signing_proxy import PortError, SigningProxy, demand_free, proxy_for

PROMPT, CHAT = "A list of the functions that", "What is a list?"
QUESTIONS: dict[str, dict[str, Any]] = {
    "inputs": {"inputs": PROMPT, "parameters": {"temperature": 0.9, "max_new_tokens": 40}},
    "prompt": {"prompt": PROMPT, "num_samples": 2, "length": 40, "temperature": 0.9, "top_p": 0.9, "top_n": 40},
    "messages": {"messages": [{"role": "user", "content": CHAT}], "max_tokens": 40, "seed": 7},
}


def run(
    deployment: str, port: int, clock_speed: float, real: str | None = None, playground_port: int | None = None
) -> int:
    """Deploy, ask the model, and stay until Ctrl-C.

    real: a folder or an id on the Hub, of a model that answers in place of the text generator. Returns the exit status:
    0 after Ctrl-C, 1 after a problem, which was printed, 2 for an unknown deployment.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    progress, project = Steps(), project_folder()
    try:
        demand_free(playground_port)
        path = find(deployment, project / "deployments")
        resolution, findings = load(path, handler_names(project))
        if real:
            progress(f"looking for {real}")
        with (  # both start while the app synthesizes
            RealModel(real) if real else nullcontext() as model,
            LocalCloud(port=port, clock_speed=clock_speed, model=model) as cloud,
        ):
            print(*describe(stack_name(path), resolution, findings, is_local=True), sep="\n", file=sys.stderr)
            progress(f"synthesizing {deployment}")
            stacks = read_stacks(synthesize([ACCOUNT_SETTINGS, deployment]))
            region = next(stack.region for stack in stacks if stack.name != ACCOUNT_SETTINGS)
            stacks = [replace(stack, region=region) for stack in stacks]
            progress("checking the templates")
            check(*stacks)
            progress("starting the emulator")
            cloud.wait_until_ready()
            if resolution.image and not resolution.deployment.serving.image_uri:
                put_image(cloud, resolution.image, region)  # `doctor` looks for it
            if vpc := resolution.deployment.security.vpc:
                put_network(cloud, vpc.vpc_id, vpc.subnet_ids, region)
            if model:
                progress(f"loading {model.name}")
                model.wait_until_ready()
                if resolution.deployment.hosting.runs_on_machines:
                    model.stop()  # each machine loads it itself
            outputs = _deploy(cloud, stacks, progress)
            client = connect(cloud, outputs, region, caller=cloud.deployer)
            progress("asking the model")
            kind = _question(resolution, model)
            question = QUESTIONS[kind]
            status, _, answer = client.call("POST", "/generate", question)
            progress.end()
            print(f"\n  question  {CHAT if kind == 'messages' else f'{PROMPT} ...'}")
            print(f"  answer    {status}: {text_of(answer) or answer}")
            print(f"  model     {_who_answers(resolution, model)}\n")
            page = _playground(cloud, stacks[-1].name, region, playground_port)
            with announced(project, port, _variables(cloud, client)), page as proxy:
                print(*_calls(client, question, takes_jobs="JobTable" in outputs), sep="\n\n")
                print(f"\nplayground  {proxy.url}")
                print(f"openapi     {proxy.url}openapi.json\n")
                print(*_other_shell(port, stacks[-1].name), *proxy.for_openai, "", sep="\n")
                print("Ctrl-C stops it.", flush=True)
                _stay(cloud)
    except KeyboardInterrupt:
        progress.end()
        print("\nstopped: every process is gone")
        return 0
    except (
        UnknownDeploymentError,
        DeploymentError,
        SynthesisError,
        LocalCloudError,
        RealModelError,
        RefusedTemplateError,
        DeployError,
        PortError,
    ) as error:
        progress.end()
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UnknownDeploymentError) else 1
    return 0


def _deploy(cloud: LocalCloud, stacks: list[Stack], progress: Steps) -> dict[str, str]:
    """Deploy the stacks in order. Returns the outputs of the last."""
    outputs: dict[str, str] = {}
    for stack in stacks:
        progress(f"deploying {stack.name}")
        try:
            outputs = deploy(cloud, stack, progress.detail)
        except DeployError:
            progress.end()
            _show_last_lines(cloud, stack)
            raise
    return outputs


def _question(resolution: Resolution, model: RealModel | None) -> str:
    """Return the kind of question to ask: a chat if the model that answers is known to have a chat template."""
    takes_chats = model.has_chat_template if model else resolution.openai_facts.get("chat_template")
    if "messages" in resolution.bodies and takes_chats:
        return "messages"
    if "num_samples" in resolution.parameters:
        return "prompt"
    return "inputs" if "inputs" in resolution.bodies else "messages"


def _who_answers(resolution: Resolution, model: RealModel | None) -> str:
    """Return the line that says which model the answers are from."""
    deployed = resolution.deployment.model.id
    if model is None:
        return f"a small text generator stands in for {deployed}; --real puts a small real model there"
    chats = "" if model.has_chat_template else "; it has no chat template, so chats are refused"
    return f"{model.name}, a real model in place of {deployed}{chats}"


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
    }


def _other_shell(port: int, name: str) -> list[str]:
    """Lines to paste into another shell."""
    chosen = "" if port == DEFAULT_PORT else f" --port {port}"
    needs = f" (npx cdk needs `{missing}` first)" if (missing := installation()) else ""
    return [
        f"In another shell, in this folder{needs}:\n",
        *_activation(),
        f'eval "$(slipway env{chosen})"',
        f"slipway verify {name}",
    ]


def _activation() -> list[str]:
    """Return the line that activates this Python's environment; none for a Python without one."""
    script, here = Path(sys.prefix) / "bin" / "activate", Path.cwd()
    if not script.exists():
        return []
    return [f"source {shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))}"]


def _calls(client: ApiClient, question: dict[str, Any], *, takes_jobs: bool) -> list[str]:
    calls = [("POST", "/generate", question), ("POST", "/jobs?wait=25", question), ("GET", "/endpoint", None)]
    return [client.curl(*call) for call in calls if takes_jobs or not call[1].startswith("/jobs")]


def _playground(cloud: LocalCloud, name: str, region: str, port: int | None) -> SigningProxy:
    """Make the playground's proxy, also for a deployment without a playground. It signs with the deployer's key."""
    stack = find_stack(name, lambda service: cloud.client(service, region=region))
    key = Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)
    return proxy_for(stack, DeployedApi(stack, key), port, f"local {name}")


def _show_last_lines(cloud: LocalCloud, stack: Stack) -> None:
    """Print the end of the model's log, which often holds the reason. The log is lost when the local cloud ends."""
    if found := existing_stack(stack.name, lambda service: cloud.client(service, region=stack.region)):
        group = hosting_of(found).log_group
        if lines := last_words(group, found.clients("logs")):
            print(f"The last lines of {group}:", *lines, sep="\n  ", file=sys.stderr)


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
