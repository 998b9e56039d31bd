"""A deployment's stack on AWS: finds it by its name, and reads its outputs, resources, endpoint and settings."""

import json
import re
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting import COMPONENT_ENDPOINT_SUFFIX, COMPONENT_LOGS, DESCRIPTION_PREFIX, ENDPOINT_LOGS, MACHINE_LOGS
from llm_hosting.deployment.nearest import nearest
from llm_hosting.stack_label import METADATA_KEY, ServiceLabel, StackLabel
from slipway.shared.aws_clients import Clients, clients_in, local_cloud
from slipway.shared.aws_errors import sentence

_LOG_GROUP = re.compile(f"(?:{ENDPOINT_LOGS}|{COMPONENT_LOGS}|{MACHINE_LOGS})(.+)")


class UnknownStackError(Exception):
    """Slipway has made no such stack, or its template does not tell the hosting mode; the message is one sentence."""


@dataclass(frozen=True)
class DeployedStack:
    """The stack of one deployment, or one service in a team's own stack.

    described: the stack as DescribeStacks shows it. clients: boto3 clients of the stack's region.
    service: the name of the service; None = the stack is the deployment's own.
    """

    described: dict[str, Any]
    clients: Clients
    service: str | None = None

    @property
    def name(self) -> str:
        """The name of the deployment, also in its metrics and tags: that of the service, or of the stack."""
        return self.service or self.stack_name

    @property
    def stack_name(self) -> str:
        return str(self.described["StackName"])

    @property
    def unread(self) -> "DeployedStack":
        """The same stack before anything was read, for questions whose answers change."""
        return replace(self)

    @property
    def status(self) -> str:
        """CloudFormation's status of the stack, such as CREATE_COMPLETE."""
        return str(self.described["StackStatus"])

    @property
    def created(self) -> datetime:
        """The moment in which the stack was made, in UTC."""
        return cast(datetime, self.described["CreationTime"]).astimezone(UTC)

    @property
    def serves(self) -> str:
        """The model and the engine, in words."""
        told = [each["Description"] for each in _service_outputs(self.described) if each["OutputValue"] == self.service]
        return str(next(iter(told), self.described.get("Description"))).removeprefix(DESCRIPTION_PREFIX)

    @cached_property
    def label(self) -> StackLabel:
        """The model and the hosting mode. Raises UnknownStackError if the stack's template does not tell them."""
        label = self._services[self.service].label if self.service else StackLabel.from_metadata(self._metadata)
        if label is None:
            problem = f"the stack's template does not tell its model and hosting mode (Metadata.{METADATA_KEY})"
            raise UnknownStackError(f"{self.name}: {problem}; deploy it again.")
        return label

    @cached_property
    def _summary(self) -> dict[str, Any]:
        """The answer of GetTemplateSummary; empty if the stack's first change set was never executed."""
        try:
            answer: dict[str, Any] = self.clients("cloudformation").get_template_summary(StackName=self.stack_name)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":
                raise
            return {}
        return answer

    @property
    def _metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._summary.get("Metadata", "{}"))
        return found

    @property
    def _services(self) -> dict[str, ServiceLabel]:
        return ServiceLabel.all_of(self._metadata)

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of the deployment; empty if the stack was never complete."""
        found = {each["OutputKey"]: each["OutputValue"] for each in self.described.get("Outputs", [])}
        if self.service is None:
            return found
        own = self._services[self.service].outputs
        return {name: found[logical_id] for name, logical_id in own.items() if logical_id in found}

    @property
    def api_url(self) -> str | None:
        """The API's URL, which ends in a slash; None = the stack has no API."""
        return self.outputs.get("ApiUrl")

    @property
    def local_cloud(self) -> str | None:
        """The URL of the local cloud that holds the stack; None = AWS holds it."""
        return local_cloud(self.clients)

    @property
    def now(self) -> datetime:
        """The time, in UTC. The local cloud has a clock of its own, which can be ahead."""
        if not (url := self.local_cloud):
            return datetime.now(UTC)
        try:
            with urllib.request.urlopen(f"{url}/_slipway/clock", timeout=10) as answer:
                return datetime.fromtimestamp(json.load(answer)["now"], UTC)
        except (OSError, ValueError):  # an emulator that is not ours
            return datetime.now(UTC)

    @property
    def answered_by(self) -> str | None:
        """Words for the program that answers in place of the model; None on AWS, where the model itself answers."""
        if not (url := self.local_cloud):
            return None
        try:
            with urllib.request.urlopen(f"{url}/_slipway/model", timeout=10) as answer:
                name = json.load(answer)["name"] or "a text generator"
            if not self._makes_text:
                name = "a comparison of words"
        except (OSError, ValueError):  # an emulator that is not ours
            name = "an unknown program"
        return f"{name} answers in place of the model"

    def price(self, words: str) -> str:
        """The cost of what runs, in words; nothing is spent on the local cloud."""
        return f"on AWS {words}" if self.local_cloud else words

    @property
    def account(self) -> str:
        return str(self.described["StackId"]).split(":")[4]

    @property
    def region(self) -> str:
        return str(self.described["StackId"]).split(":")[3]

    @cached_property
    def unique_name(self) -> str:
        """The name of the endpoint or the machines, read from their log group, which outlives a failed deploy.

        It begins with the stack's name. Stack sets call the stack StackSet-<set>-<UUID>, so a portable template
        puts the deployment's name in its place. If no log group exists, return the name that `cdk deploy` would give.
        """
        groups = filter(None, map(_LOG_GROUP.fullmatch, self.resources.get("AWS::Logs::LogGroup", [])))
        made = f"{self.name}-{self.described['StackId'].split('/')[2].partition('-')[0]}"
        return next((group[1] for group in groups), made)

    @property
    def deploys_endpoint(self) -> bool:
        """Whether the stack has its endpoint or machines. A parameter of a portable template can leave them out."""
        parameters = {each["ParameterKey"]: each["ParameterValue"] for each in self.described.get("Parameters", [])}
        return parameters.get("DeployEndpoint") != "false"

    @property
    def component_name(self) -> str | None:
        """The name of the inference component with the model; None = the endpoint itself has the model.

        A stack that was never complete has no outputs, so its template tells.
        """
        if "EndpointName" in self.outputs:
            return self.outputs.get("InferenceComponentName")
        has_one = "AWS::SageMaker::InferenceComponent" in self._summary.get("ResourceTypes", [])
        return self.unique_name if has_one else None

    @property
    def shares_endpoint(self) -> bool:
        """Whether the model is a component on the endpoint of another stack."""
        has_own = "EndpointName" in self.outputs or "AWS::SageMaker::Endpoint" in self.resources
        return bool(self.component_name and not has_own and (self.outputs or self.component))

    @property
    def endpoint_name(self) -> str:
        if self.shares_endpoint and self.component:
            return str(self.component["EndpointName"])
        suffix = COMPONENT_ENDPOINT_SUFFIX if self.component_name else ""
        return self.outputs.get("EndpointName") or f"{self.unique_name}{suffix}"

    @cached_property
    def resources(self) -> dict[str, list[str]]:
        """The physical ids of the deployment's resources that exist, by type."""
        found: dict[str, list[str]] = {}
        pages = self.clients("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.stack_name)
        for each in (resource for page in pages for resource in page["StackResourceSummaries"]):
            exists = each["ResourceStatus"] != "DELETE_COMPLETE" and each.get("PhysicalResourceId")
            if exists and (self.service is None or self._owns(each["LogicalResourceId"])):
                found.setdefault(each["ResourceType"], []).append(each["PhysicalResourceId"])
        return found

    def _owns(self, logical_id: str) -> bool:
        """Return whether a resource is the service's: its id begins with no longer prefix of another service."""
        prefixes = {name: each.prefix for name, each in self._services.items() if logical_id.startswith(each.prefix)}
        return max(prefixes, key=lambda name: len(prefixes[name]), default=None) == self.service

    @cached_property
    def endpoint(self) -> dict[str, Any] | None:
        """The answer of SageMaker's DescribeEndpoint; None = the endpoint does not exist."""
        return _found(lambda: self.clients("sagemaker").describe_endpoint(EndpointName=self.endpoint_name))

    @cached_property
    def component(self) -> dict[str, Any] | None:
        """The answer of SageMaker's DescribeInferenceComponent; None = the component does not exist."""
        if (name := self.component_name) is None:
            return None
        return _found(lambda: self.clients("sagemaker").describe_inference_component(InferenceComponentName=name))

    @cached_property
    def functions(self) -> list[dict[str, Any]]:
        """The configuration of each Lambda function."""
        names, functions = self.resources.get("AWS::Lambda::Function", []), self.clients("lambda")
        return [functions.get_function_configuration(FunctionName=name) for name in names]

    @cached_property
    def variables(self) -> dict[str, str]:
        """The environment variables that all functions share, except the authorizer and the playground's function."""
        names, functions = self.resources["AWS::Lambda::Function"], self.clients("lambda")
        found = (functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"] for name in names)
        return dict(next(variables for variables in found if "REQUEST_SCHEMA" in variables))

    @property
    def _makes_text(self) -> bool:
        """Whether the model writes text, not vectors or scores; True for a stack that has no functions yet."""
        try:
            facts = json.loads(self.variables.get("OPENAI_FACTS", "{}"))
        except (LookupError, StopIteration, ClientError):
            return True
        return not (facts.get("embeds") or facts.get("reranks"))

    @property
    def bodies(self) -> list[str]:
        """The fields in which the engine takes a prompt, such as `inputs` and `messages`."""
        return list(json.loads(self.variables["REQUEST_SCHEMA"])["bodies"])


def _found(describe: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """Return the answer of a call to SageMaker; None = what it asks about does not exist."""
    try:
        return describe()
    except ClientError as error:
        if "Could not find" in str(error):
            return None
        raise


def deployed_stacks(clients: Clients) -> Iterator[DeployedStack]:
    """Yield the stacks that Slipway has deployed in the account and region, failed ones too.

    Also yield the services in stacks of a team's own, which are known once the stack is complete.
    """
    for page in clients("cloudformation").get_paginator("describe_stacks").paginate():
        for described in page["Stacks"]:
            if _is_ours(described):
                yield DeployedStack(described, clients)
            for output in _service_outputs(described):
                yield DeployedStack(described, clients, output["OutputValue"])


def find_stack(name: str, clients: Clients) -> DeployedStack:
    """Find the deployment's stack. Raises UnknownStackError, which names the nearest."""
    stack = existing_stack(name, clients)
    if stack is None:
        raise _unknown(name, "there is no such stack", clients)
    return stack


def existing_stack(name: str, clients: Clients) -> DeployedStack | None:
    """Return the stack or the service; None = none has the name.

    Raises UnknownStackError for a stack that is not Slipway's.
    """
    described = described_stack(name, clients)
    if described is None:
        return next((each for each in deployed_stacks(clients) if each.service == name), None)
    if not _is_ours(described):
        if services := [output["OutputValue"] for output in _service_outputs(described)]:
            raise UnknownStackError(f"{name} is a stack of your own app; name a service in it: {', '.join(services)}.")
        raise _unknown(name, "Slipway has not made the stack of this name", clients)
    return DeployedStack(described, clients)


def described_stack(name: str, clients: Clients) -> dict[str, Any] | None:
    """Return any stack of the account and region as DescribeStacks shows it; None = there is none of this name."""
    try:
        described: dict[str, Any] = clients("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return described


def _unknown(name: str, problem: str, clients: Clients) -> UnknownStackError:
    sts = clients("sts")
    where = f"in {sts.meta.region_name} of account {sts.get_caller_identity()['Account']}"
    known = [stack.name for stack in deployed_stacks(clients)]
    advice = f"did you mean {nearest(name, known)}?" if known else "nothing is deployed there."
    return UnknownStackError(f"{name}: {problem} {where}; {advice}")


def with_stack(name: str, region: str | None, verb: Callable[[DeployedStack], int]) -> int:
    """Run a verb on the stack, and return its exit status: 2 if the stack is unknown or AWS can't be asked."""
    return asking_aws(lambda: verb(find_stack(name, clients_in(region))))


def asking_aws(ask: Callable[[], int]) -> int:
    """Run `ask`, and return its exit status. If AWS can't be asked, print a sentence and return 2."""
    try:
        return ask()
    except UnknownStackError as error:
        print(error, file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    return 2


def _is_ours(described: dict[str, Any]) -> bool:
    return str(described.get("Description", "")).startswith(DESCRIPTION_PREFIX)


def _service_outputs(described: dict[str, Any]) -> list[dict[str, str]]:
    """Return the outputs that name services in a team's own stack; the description says what each serves."""
    outputs = described.get("Outputs", [])
    return [each for each in outputs if each.get("Description", "").startswith(DESCRIPTION_PREFIX)]
