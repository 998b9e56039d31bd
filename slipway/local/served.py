"""One deployment in the local cloud: deploys it, asks its model, and tells how to call it."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from botocore.credentials import Credentials

from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import Resolution
from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from local_cloud.keys import put_key
from local_cloud.network import put_network
from local_cloud.real_model.process import RealModel
from local_cloud.registry import put_image
from slipway.hosting.hosting import hosting_of
from slipway.local.question import Question, question_for
from slipway.shared.aws_errors import NoTokenError
from slipway.shared.steps import Steps
from slipway.stack.api import DeployedApi
from slipway.stack.container_log import last_words
from slipway.stack.deployed_stack import DeployedStack, existing_stack, find_stack
from slipway.stack.operator_token import OperatorToken, takes_tokens
from slipway.stack.signing_proxy import SigningProxy, proxy_for


@dataclass(frozen=True)
class Served:
    """A deployment that has answered a question. who: the model that answers, in words."""

    stack: Stack
    client: ApiClient
    takes_jobs: bool
    question: Question
    status: int
    answer: Any
    who: str

    def told(self, proxy: SigningProxy) -> Iterator[str]:
        """Yield what a person reads: question, answer, calls to paste, and the addresses of the page's proxy."""
        yield f"\n  question  {self.question.shown}"
        yield f"  answer    {self.status}: {self.question.told(self.answer)}"
        yield f"  model     {self.who}\n"
        yield "\n\n".join(_calls(self.client, self.question, takes_jobs=self.takes_jobs))
        yield f"\nplayground  {proxy.url}"
        yield f"openapi     {proxy.url}openapi.json"
        yield from proxy.for_openai
        yield ""

    def page(self, cloud: LocalCloud, port: int | None) -> SigningProxy:
        """Make the playground's proxy, also for a deployment without a playground. It signs with the deployer's key.

        port: as `proxy_for` takes it.
        """
        stack = _found(cloud, self.stack)
        key = Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)
        return proxy_for(stack, DeployedApi(stack, key), port, f"local {stack.name}")


def serve(cloud: LocalCloud, stack: Stack, resolution: Resolution, model: RealModel | None, progress: Steps) -> Served:
    """Deploy the stack, and ask its model."""
    if resolution.image and not resolution.deployment.serving.image_uri:
        put_image(cloud, resolution.image, stack.region)  # `doctor` looks for it
    _put_own_network(cloud, resolution.deployment, stack.region)
    _put_own_keys(cloud, resolution.deployment)
    outputs = put_stack(cloud, stack, progress)
    client = _with_token(connect(cloud, outputs, stack.region, caller=cloud.deployer), _found(cloud, stack))
    progress(f"asking the model of {stack.name}")
    knows_chats = model.has_chat_template if model else resolution.openai_facts.get("chat_template")
    question = question_for(resolution, takes_chats=bool(knows_chats))
    status, _, answer = client.call("POST", question.path, dict(question.body))
    return Served(stack, client, "JobTable" in outputs, question, status, answer, _who_answers(resolution, model))


def _put_own_network(cloud: LocalCloud, deployment: Deployment, region: str) -> None:
    """Create the VPC that `security.vpc` names. Nothing leads out of it if the stack's endpoints are to be enough."""
    vpc = deployment.security.vpc
    if vpc is None or vpc.vpc_id is None:
        return
    needs_internet = deployment.hosting.runs_on_machines or not deployment.model.weights or deployment.serving.handler
    put_network(
        cloud,
        vpc.vpc_id,
        vpc.subnet_ids,
        region,
        security_group_ids=vpc.security_group_ids,
        route_table_ids=vpc.route_table_ids,
        leads_out=bool(needs_internet) or not vpc.service_endpoints,
    )


def _put_own_keys(cloud: LocalCloud, deployment: Deployment) -> None:
    """Create the keys that the deployment names."""
    security = deployment.security
    volumes, weights = deployment.hosting.volume_kms_key_arn, deployment.model.weights_kms_key_arn
    for arn in filter(None, {security.kms_key_arn, security.log_kms_key_arn, volumes, weights}):
        put_key(cloud, arn)


def _found(cloud: LocalCloud, stack: Stack) -> DeployedStack:
    return find_stack(stack.name, lambda service: cloud.client(service, region=stack.region))


def _with_token(client: ApiClient, stack: DeployedStack) -> ApiClient:
    """Give the client the operator's token, if the API takes tokens. Without one the API answers 401 and says so."""
    if not takes_tokens(stack):
        return client
    with suppress(NoTokenError):
        return replace(client, token=OperatorToken(stack).value())
    return client


def put_stack(cloud: LocalCloud, stack: Stack, progress: Steps) -> dict[str, str]:
    """Deploy a stack and return its outputs. Raises DeployError, after the end of the model's log was printed."""
    progress(f"deploying {stack.name}")
    try:
        return deploy(cloud, stack, progress.detail)
    except DeployError:
        progress.end()
        _show_last_lines(cloud, stack)
        raise


def _who_answers(resolution: Resolution, model: RealModel | None) -> str:
    """Return the line that says which model the answers are from."""
    deployed = resolution.deployment.model.id
    if not resolution.makes_text:
        return f"words stand in for {deployed}: texts with words or parts of words in common are near to each other"
    if model is None:
        return f"a small text generator stands in for {deployed}; --real puts a small real model there"
    chats = "" if model.has_chat_template else "; it has no chat template, so chats are refused"
    return f"{model.name}, a real model in place of {deployed}{chats}"


def _calls(client: ApiClient, question: Question, *, takes_jobs: bool) -> list[str]:
    body, takes_jobs = dict(question.body), takes_jobs and question.as_job
    calls = [("POST", question.path, body), ("POST", "/jobs?wait=25", body), ("GET", "/endpoint", None)]
    return [client.curl(*call) for call in calls if takes_jobs or not call[1].startswith("/jobs")]


def _show_last_lines(cloud: LocalCloud, stack: Stack) -> None:
    """Print the end of the model's log, which often holds the reason. The log is lost when the local cloud ends."""
    if found := existing_stack(stack.name, lambda service: cloud.client(service, region=stack.region)):
        group = hosting_of(found).log_group
        if lines := last_words(group, found.clients("logs")):
            print(f"The last lines of {group}:", *lines, sep="\n  ", file=sys.stderr)
