"""`slipway purge`: what it finds, shows, refuses and removes, on small stand-ins for AWS's services."""

import io
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError

from llm_hosting import DESCRIPTION_PREFIX
from slipway.leftovers.purge import purge
from slipway.shared.aws_clients import clients_in
from slipway.shared.terminal import ask_on_terminal
from support.repository import ROOT
from support.stand_ins.ec2 import StandInEc2, instance, volume

TABLE, BUCKET, LOG_GROUP = "chat-Table-1A", "chat-bucket-1a", "/aws/sagemaker/Endpoints/chat-1a2b3c4d"
ARNS = [
    f"arn:aws:dynamodb:eu-west-1:111122223333:table/{TABLE}",
    f"arn:aws:s3:::{BUCKET}",
    f"arn:aws:logs:eu-west-1:111122223333:log-group:{LOG_GROUP}",
]
CIPHER_KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234"
SAGEMAKER = "arn:aws:sagemaker:eu-west-1:111122223333"
HOSTING = [
    *(f"{SAGEMAKER}:endpoint-config/configuration-{each}" for each in (1, 2, 3)),
    *(f"{SAGEMAKER}:model/model-{each}" for each in (1, 2, 3)),
    f"{SAGEMAKER}:endpoint/chat-1a2b3c4d",
]


def refusal(operation: str, code: str, message: str = "") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


class Account:
    """One account and region as far as purge asks: every service is this object itself."""

    meta = SimpleNamespace(region_name="eu-west-1")

    def __init__(self, *, stack: str | None = None, arns: list[str] = ARNS, protected: bool = False) -> None:
        self.stack, self.arns = stack, arns
        self.description = f"{DESCRIPTION_PREFIX}gpt2 on tgi"
        self.tables = {TABLE: {"TableStatus": "ACTIVE", "ItemCount": 12345, "TableSizeBytes": 3_400_000}}
        self.tables[TABLE]["DeletionProtectionEnabled"] = protected
        self.versions = {(f"output/{number}", "v1"): 1_000 for number in range(2_500)}
        self.markers = {("output/0", "v2"), ("output/1", "v2")}
        self.uploads = {("output/9", "u1")}
        self.content = "jobs"
        self.buckets = {BUCKET}
        self.groups = {LOG_GROUP: 1_200_000, f"{LOG_GROUP}-of-another": 7}
        self.locked: set[str] = set()
        self.key_state = "Enabled"
        self.in_stack: list[str] = []
        self.refuses_to_delete_tables = False
        self.ec2 = StandInEc2()
        # Three versions: SageMaker went back to the second by itself, CloudFormation holds the third for deployed.
        self.keys = {"k1": "chat-search-0a1b2c3d"}
        self.endpoints = {"chat-1a2b3c4d": {"EndpointStatus": "InService", "EndpointConfigName": "Configuration-2"}}
        self.configurations = {f"Configuration-{each}": f"Model-{each}" for each in (1, 2, 3)}
        self.models = {*self.configurations.values(), "Model-of-another"}
        self.components: dict[str, tuple[str, dict[str, str]]] = {}  # endpoint and specification
        self.component_status, self.refuses_components = "InService", 0

    def _list_stack_resources(self, StackName: str) -> Iterator[Any]:
        assert StackName == "chat"
        yield {"StackResourceSummaries": [{"PhysicalResourceId": HOSTING[2]}, {"LogicalResourceId": "NotMadeYet"}]}
        yield {"StackResourceSummaries": [{"PhysicalResourceId": each} for each in (HOSTING[5], *self.in_stack)]}

    def _listed(self, noun: str, kind: str, names: Iterable[str]) -> Iterator[Any]:
        for name in list(names):  # one on each page; ARNs are in lower case
            arn = f"{SAGEMAKER}:{kind}/{name.lower()}"
            yield {f"{noun}s": [{f"{noun}Name": name, f"{noun}Arn": arn, "CreationTime": datetime(2026, 11, 22)}]}

    def _list_endpoints(self, PaginationConfig: Any) -> Iterator[Any]:
        return self._listed("Endpoint", "endpoint", self.endpoints)

    def _list_endpoint_configs(self, PaginationConfig: Any) -> Iterator[Any]:
        return self._listed("EndpointConfig", "endpoint-config", self.configurations)

    def _list_models(self, PaginationConfig: Any) -> Iterator[Any]:
        return self._listed("Model", "model", self.models)

    def describe_endpoint(self, EndpointName: str) -> Any:
        return self.endpoints[EndpointName]

    def describe_endpoint_config(self, EndpointConfigName: str) -> Any:
        return {"ProductionVariants": [{"ModelName": self.configurations[EndpointConfigName]}]}

    def _list_inference_components(self, PaginationConfig: Any) -> Iterator[Any]:
        for name, (endpoint, _) in list(self.components.items()):
            arn = f"{SAGEMAKER}:inference-component/{name}"
            made = datetime(2026, 11, 22)
            yield {
                "InferenceComponents": [
                    {
                        "InferenceComponentName": name,
                        "InferenceComponentArn": arn,
                        "EndpointName": endpoint,
                        "CreationTime": made,
                    }
                ]
            }

    def describe_inference_component(self, InferenceComponentName: str) -> Any:
        if InferenceComponentName not in self.components:
            message = f'Could not find inference component "{InferenceComponentName}".'
            raise refusal("DescribeInferenceComponent", "ValidationException", message)
        _, specification = self.components[InferenceComponentName]
        named = {"InferenceComponentName": InferenceComponentName, "Specification": specification}
        return named | {"InferenceComponentStatus": self.component_status}

    def delete_inference_component(self, InferenceComponentName: str) -> None:
        if self.refuses_components:
            self.refuses_components -= 1
            message = f'Cannot update in-progress inference component "{InferenceComponentName}".'
            raise refusal("DeleteInferenceComponent", "ValidationException", message)
        others = [spec.get("BaseInferenceComponentName") for _, spec in self.components.values()]
        assert InferenceComponentName not in others, "an adapter stands on it"
        del self.components[InferenceComponentName]

    def delete_endpoint(self, EndpointName: str) -> None:
        assert EndpointName not in [endpoint for endpoint, _ in self.components.values()], "components stand on it"
        del self.endpoints[EndpointName]

    def delete_endpoint_config(self, EndpointConfigName: str) -> None:
        del self.configurations[EndpointConfigName]

    def delete_model(self, ModelName: str) -> None:
        self.models.remove(ModelName)

    def describe_key(self, KeyId: str) -> Any:
        return {"KeyMetadata": {"KeyId": "1234", "Description": "Slipway: data of chat", "KeyState": self.key_state}}

    def schedule_key_deletion(self, KeyId: str, PendingWindowInDays: int) -> None:
        assert all(each["TableStatus"] == "DELETING" for each in self.tables.values()), "it could not be read any more"
        assert not self.buckets, "a bucket could not be read any more"
        assert (KeyId, PendingWindowInDays) == (CIPHER_KEY, 30)
        self.key_state = "PendingDeletion"

    def __call__(self, service: str) -> Any:
        return self.ec2 if service == "ec2" else self

    def describe_stacks(self, StackName: str) -> Any:
        if self.stack is None:
            message = f"Stack with id {StackName} does not exist"
            raise refusal("DescribeStacks", "ValidationError", message)
        return {"Stacks": [{"StackName": "chat", "StackStatus": self.stack, "Description": self.description}]}

    def _describe_stacks(self) -> Iterator[Any]:
        yield {"Stacks": []}

    def get_caller_identity(self) -> Any:
        return {"Account": "111122223333"}

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=getattr(self, f"_{operation}"))

    def _get_resources(self, TagFilters: Any) -> Iterator[Any]:
        assert TagFilters == [{"Key": "slipway:deployment", "Values": ["chat"]}]
        for arn in self.arns:  # one on each page
            tags = [{"Key": "slipway:content", "Value": self.content}] if self.content and ":table/" in arn else []
            yield {"ResourceTagMappingList": [{"ResourceARN": arn, "Tags": tags}]}
        yield {"ResourceTagMappingList": []}

    def _list_object_versions(self, Bucket: str) -> Iterator[Any]:
        if Bucket not in self.buckets:
            raise refusal("ListObjectVersions", "NoSuchBucket")
        keys = list(self.versions)
        for page in (keys[start : start + 1000] for start in range(0, len(keys), 1000)):
            yield {"Versions": [{"Key": k, "VersionId": v, "Size": self.versions[k, v]} for k, v in page]}
        yield {"DeleteMarkers": [{"Key": key, "VersionId": version} for key, version in list(self.markers)]}
        yield {}

    def _list_multipart_uploads(self, Bucket: str) -> Iterator[Any]:
        yield {"Uploads": [{"Key": key, "UploadId": upload} for key, upload in list(self.uploads)]}
        yield {}

    def delete_objects(self, Bucket: str, Delete: Any) -> Any:
        assert 0 < len(Delete["Objects"]) <= 1000, "S3 takes a thousand at once"
        failed = []
        for each in Delete["Objects"]:
            if each["Key"] in self.locked:
                failed.append({"Key": each["Key"], "Code": "AccessDenied"})
            else:
                self.versions.pop((each["Key"], each["VersionId"]), None)
                self.markers.discard((each["Key"], each["VersionId"]))
        return {"Errors": failed} if failed else {}

    def abort_multipart_upload(self, Bucket: str, Key: str, UploadId: str) -> None:
        self.uploads.remove((Key, UploadId))

    def delete_bucket(self, Bucket: str) -> None:
        if self.versions or self.markers or self.uploads:
            raise refusal("DeleteBucket", "BucketNotEmpty")
        self.buckets.remove(Bucket)

    def describe_table(self, TableName: str) -> Any:
        if TableName not in self.tables:
            raise refusal("DescribeTable", "ResourceNotFoundException")
        return {"Table": self.tables[TableName]}

    def delete_table(self, TableName: str) -> None:
        if self.refuses_to_delete_tables:
            raise refusal("DeleteTable", "AccessDeniedException", "not authorized")
        self.tables[TableName]["TableStatus"] = "DELETING"

    def describe_log_groups(self, logGroupNamePrefix: str) -> Any:
        found = [name for name in self.groups if name.startswith(logGroupNamePrefix)]
        return {"logGroups": [{"logGroupName": name, "storedBytes": self.groups[name]} for name in found]}

    def delete_log_group(self, logGroupName: str) -> None:
        del self.groups[logGroupName]

    def get_api_key(self, apiKey: str) -> Any:
        if apiKey not in self.keys:
            raise refusal("GetApiKey", "NotFoundException")
        return {"name": self.keys[apiKey]}

    def delete_api_key(self, apiKey: str) -> None:
        del self.keys[apiKey]

    @property
    def holds_no_files(self) -> bool:
        return not any((self.buckets, self.versions, self.markers, self.uploads))

    @property
    def is_untouched(self) -> bool:
        whole = len(self.versions) == 2_500 and self.markers and self.uploads and self.buckets and len(self.groups) == 2
        return bool(whole and self.tables[TABLE]["TableStatus"] == "ACTIVE")


class WithService(Account):
    """The same with the service `services-chat` in a team's own stack, which left nothing behind."""

    def describe_stacks(self, StackName: str) -> Any:
        raise refusal("DescribeStacks", "ValidationError", f"Stack with id {StackName} does not exist")

    def _describe_stacks(self) -> Iterator[Any]:
        output = {"OutputKey": "A", "OutputValue": "services-chat", "Description": self.description}
        yield {"Stacks": [{"StackName": "services", "StackStatus": self.stack, "Outputs": [output]}]}

    def _list_stack_resources(self, StackName: str) -> Iterator[Any]:
        yield {"StackResourceSummaries": []}

    def _get_resources(self, TagFilters: Any) -> Iterator[Any]:
        yield {"ResourceTagMappingList": []}


@dataclass
class Person:
    """Types the same at every prompt."""

    types: str
    asked: list[str] = field(default_factory=list)

    def __call__(self, prompt: str) -> str:
        self.asked.append(prompt)
        return self.types


def test_retained_resources_are_shown_and_removed_after_the_name_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    account, person = Account(), Person("chat")
    assert purge("chat", account, person) == 0
    assert account.tables[TABLE]["TableStatus"] == "DELETING"
    assert account.holds_no_files
    assert list(account.groups) == [f"{LOG_GROUP}-of-another"]
    assert len(person.asked) == 1
    said = capsys.readouterr().out
    shown, _, removed = said.partition("Removed resources cannot be restored.")
    assert "Left of chat in eu-west-1 of account 111122223333" in shown
    for name, holds in (
        (TABLE, "about 12,345 items, 3.4 MB"),
        (BUCKET, "2,502 versions of objects, 2.5 MB, 1 unfinished uploads"),
        (LOG_GROUP, "1.2 MB"),
    ):
        (line,) = (line for line in shown.splitlines() if f" {name} " in line)
        assert line.endswith(holds)
        assert f"{name}\n" in removed


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("jobs", "table: jobs and short answers"),
        ("usage", "table: what keys have used"),
        ("", "table: its tag slipway:content is missing, so what it holds is not known"),
    ],
)
def test_a_table_is_told_by_its_tag_whatever_its_name(
    content: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    account = Account()
    account.content = content
    purge("chat", account, Person(""))
    assert any(kind in line and TABLE in line for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("typed", ["", "y", "yes", "Chat", "chat2"])
def test_nothing_is_removed_unless_the_name_is_typed(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account()
    assert purge("chat", account, Person(typed)) == 1
    assert "nothing was removed" in capsys.readouterr().err
    assert account.is_untouched


def test_yes_removes_without_asking() -> None:
    account = Account()
    assert purge("chat", account, None) == 0
    assert not account.buckets


def test_values_of_keys_go_with_a_stack_that_is_gone_and_never_before() -> None:
    arns = [f"arn:aws:apigateway:eu-west-1::/apikeys/{key_id}" for key_id in ("k1", "revoked")]
    assert purge("chat", living := Account(stack="CREATE_COMPLETE", arns=arns), None) == 0
    assert living.keys
    assert purge("chat", account := Account(arns=arns), None) == 0
    assert not account.keys


@pytest.mark.parametrize("status", ["DELETE_FAILED", "ROLLBACK_COMPLETE"])
def test_nothing_of_a_service_is_removed_while_its_stack_has_failed(
    status: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert purge("services-chat", WithService(stack=status), None) == 1
    said = f"Your stack services is {status}; deploy your app, and then purge services-chat.\n"
    assert capsys.readouterr().err == said


def test_a_service_goes_with_its_part_of_the_app(capsys: pytest.CaptureFixture[str]) -> None:
    assert purge("services-chat", WithService(stack="CREATE_COMPLETE", arns=[]), None) == 0
    assert "its own resources go after you remove it from your app, and deploy." in capsys.readouterr().out


@pytest.mark.parametrize("status", ["DELETE_FAILED", "ROLLBACK_COMPLETE"])
def test_nothing_is_removed_while_a_failed_stack_exists(status: str, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(stack=status)
    assert purge("chat", account, None) == 1
    said = capsys.readouterr().err
    assert f"The stack chat still exists ({status}); destroy it first: slipway destroy chat" in said
    assert account.is_untouched


def test_somebody_elses_stack_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(stack="CREATE_COMPLETE")
    account.description = "A shop"
    assert purge("chat", account, None) == 2
    assert "Slipway has not made the stack of this name" in capsys.readouterr().err
    assert account.is_untouched


def test_updates_leave_what_neither_the_stack_nor_its_endpoint_uses(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(stack="UPDATE_COMPLETE", arns=[*ARNS, *HOSTING])
    account.in_stack = [TABLE, BUCKET, LOG_GROUP]
    assert purge("chat", account, Person("chat")) == 0
    assert account.configurations.keys() == {"Configuration-2", "Configuration-3"}
    assert account.models == {"Model-2", "Model-3", "Model-of-another"}
    assert account.endpoints
    assert account.is_untouched
    said = capsys.readouterr().out
    assert "Left of earlier stacks and updates of chat in eu-west-1 of account 111122223333, whose stack stays" in said
    assert "endpoint configuration           Configuration-1  made 2026-11-22" in said
    assert purge("chat", account, Person("no")) == 0
    said = capsys.readouterr().out
    assert "Nothing of earlier stacks and updates of chat is left" in said
    assert "its own resources go after `slipway destroy chat`" in said


def test_earlier_stacks_leave_what_the_stack_does_not_have() -> None:
    """The account is in the state after a destroy and a new deploy of the same name."""
    account = Account(stack="CREATE_COMPLETE")
    account.in_stack = ["chat-Table-2B", BUCKET]
    assert purge("chat", account, Person("chat")) == 0
    assert account.tables[TABLE]["TableStatus"] == "DELETING"
    assert list(account.groups) == [f"{LOG_GROUP}-of-another"]
    assert (account.buckets, len(account.versions)) == ({BUCKET}, 2_500)


@pytest.mark.parametrize("status", ["UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED", "DELETE_FAILED"])
def test_nothing_is_unused_while_a_stack_is_on_its_way(status: str, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(stack=status, arns=HOSTING)
    assert purge("chat", account, None) == 1
    is_busy = status.endswith("IN_PROGRESS")
    assert ("wait until CloudFormation is done" if is_busy else "destroy it first") in capsys.readouterr().err
    assert len(account.configurations) == 3


def test_nothing_is_unused_while_the_endpoint_is_updated(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(stack="UPDATE_COMPLETE", arns=HOSTING)
    account.endpoints["chat-1a2b3c4d"]["EndpointStatus"] = "Updating"
    assert purge("chat", account, None) == 1
    assert "The endpoint chat-1a2b3c4d is Updating; try again" in capsys.readouterr().err
    assert len(account.configurations) == 3


def test_an_endpoint_without_its_stack_bills_and_goes_first(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(arns=[*ARNS, *HOSTING])
    assert purge("chat", account, Person("chat")) == 0
    assert not account.endpoints
    assert not account.configurations
    assert account.models == {"Model-of-another"}
    assert account.holds_no_files
    first = capsys.readouterr().out.splitlines()[2]
    assert first.split() == ["endpoint:", "its", "instances", "bill", "chat-1a2b3c4d", "InService"]


def test_components_go_before_their_endpoint_and_adapters_before_their_base(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    account = Account(arns=[f"{SAGEMAKER}:endpoint/chat-1a2b3c4d-ic", f"{SAGEMAKER}:inference-component/chat-1a2b3c4d"])
    account.endpoints = {"chat-1a2b3c4d-ic": {"EndpointStatus": "InService", "EndpointConfigName": "Configuration-3"}}
    account.components = {
        "chat-1a2b3c4d": ("chat-1a2b3c4d-ic", {"ModelName": "Model-3"}),
        "chat-1a2b3c4d-legal": ("chat-1a2b3c4d-ic", {"BaseInferenceComponentName": "chat-1a2b3c4d"}),
        "of-another": ("another", {"ModelName": "Model-of-another"}),
    }
    account.refuses_components = 2  # its copies are ending
    assert purge("chat", account, None) == 0
    assert (list(account.components), account.endpoints) == (["of-another"], {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [line[-2] for line in lines] == ["chat-1a2b3c4d-legal", "chat-1a2b3c4d", "chat-1a2b3c4d-ic"]


def test_a_component_that_does_not_go_is_named_and_its_endpoint_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = iter(range(0, 100_000, 60))
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    account = Account(arns=[f"{SAGEMAKER}:endpoint/chat-1a2b3c4d-ic"])
    account.endpoints = {"chat-1a2b3c4d-ic": {"EndpointStatus": "InService", "EndpointConfigName": "Configuration-3"}}
    account.components = {"chat-1a2b3c4d": ("chat-1a2b3c4d-ic", {"ModelName": "Model-3"})}
    account.refuses_components = 1_000
    assert purge("chat", account, None) == 1
    assert "The component chat-1a2b3c4d is not gone yet; purge again" in capsys.readouterr().err
    assert account.endpoints


def test_a_model_that_only_a_component_names_is_in_use() -> None:
    own = f"{SAGEMAKER}:inference-component/chat-1a2b3c4d"
    account = Account(stack="UPDATE_COMPLETE", arns=[*HOSTING, own])
    account.in_stack = [own]
    account.components = {"chat-1a2b3c4d": ("chat-1a2b3c4d", {"ModelName": "Model-1"})}
    assert purge("chat", account, None) == 0
    assert "Model-1" in account.models
    assert account.components


def test_nothing_is_unused_while_a_component_changes(capsys: pytest.CaptureFixture[str]) -> None:
    own = f"{SAGEMAKER}:inference-component/chat-1a2b3c4d"
    account = Account(stack="UPDATE_COMPLETE", arns=[*HOSTING, own])
    account.in_stack, account.component_status = [own], "Updating"
    account.components = {"chat-1a2b3c4d": ("chat-1a2b3c4d", {"ModelName": "Model-1"})}
    assert purge("chat", account, None) == 1
    assert "The component chat-1a2b3c4d is Updating; try again" in capsys.readouterr().err
    assert len(account.configurations) == 3


def test_a_component_of_an_earlier_stack_on_another_endpoint_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    own, earlier = (f"{SAGEMAKER}:inference-component/{name}" for name in ("chat-1a2b3c4d", "chat-99887766"))
    account = Account(stack="UPDATE_COMPLETE", arns=[own, earlier])
    account.in_stack = [own]
    account.components = {
        "chat-1a2b3c4d": ("shared", {"ModelName": "Model-1"}),
        "chat-99887766": ("shared", {"ModelName": "Model-2"}),
    }
    assert purge("chat", account, None) == 0
    assert list(account.components) == ["chat-1a2b3c4d"]


def test_a_protected_table_keeps_everything_and_the_message_has_the_command_that_lifts_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    account = Account(protected=True)
    assert purge("chat", account, None) == 1
    said = capsys.readouterr().err
    assert f"aws dynamodb update-table --no-deletion-protection-enabled --table-name {TABLE}" in said
    assert account.is_untouched


def test_a_second_purge_finds_nothing_while_tags_linger(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account()
    purge("chat", account, None)
    capsys.readouterr()
    assert purge("chat", account, Person("no")) == 0
    assert "Nothing of chat is left in eu-west-1" in capsys.readouterr().out
    del account.tables[TABLE]
    assert purge("chat", account, Person("no")) == 0


def test_the_message_for_nothing_found_names_the_region(capsys: pytest.CaptureFixture[str]) -> None:
    assert purge("chat", Account(arns=[]), None) == 0
    said = capsys.readouterr().out
    assert "Nothing of chat is left in eu-west-1 of account 111122223333" in said
    assert "slipway:deployment=chat" in said


def test_a_log_group_is_found_by_an_arn_that_ends_in_a_star() -> None:
    account = Account(arns=[f"{ARNS[2]}:*"])
    assert purge("chat", account, None) == 0
    assert list(account.groups) == [f"{LOG_GROUP}-of-another"]


def test_a_tagged_resource_of_another_kind_is_named_and_stays(capsys: pytest.CaptureFixture[str]) -> None:
    queue = "arn:aws:sqs:eu-west-1:111122223333:mine"
    assert purge("chat", Account(arns=[queue]), None) == 0
    assert f"not removed, because Slipway does not create this kind of resource: {queue}" in capsys.readouterr().out


def test_an_object_that_cannot_be_removed_is_named_and_a_later_purge_removes_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    account = Account()
    account.locked = {"output/7"}
    assert purge("chat", account, None) == 1
    assert f"output/7 in {BUCKET} was not removed: AccessDenied." in capsys.readouterr().err
    account.locked = set()
    assert purge("chat", account, None) == 0
    assert not account.buckets


def test_machines_and_disks_that_outlived_their_stack_are_removed_by_their_tags(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arn = "arn:aws:ec2:eu-west-1:111122223333:instance"
    account = Account(arns=[f"{arn}/i-1", f"{arn}/i-gone"])  # the tagging API lists what is gone for some time
    account.ec2 = StandInEc2(
        instance("i-1", state="stopped"),
        instance("i-gone", state="terminated"),
        instance("i-other", deployment="chatter"),
        volumes=[volume("vol-1", of="i-1"), volume("vol-loose", of=None), volume("vol-o", of=None, deployment="other")],
    )
    assert purge("chat", account, None) == 0
    said = capsys.readouterr().out
    assert "machine: bills while it runs, its disk always  i-1        stopped" in said
    assert "not removed" not in said
    assert "i-gone" not in said
    states = {each["InstanceId"]: each["State"]["Name"] for each in account.ec2.instances}
    assert states == {"i-1": "shutting-down", "i-gone": "terminated", "i-other": "running"}
    assert [each["VolumeId"] for each in account.ec2.volumes] == ["vol-1", "vol-o"]


def test_beside_the_stack_machines_stay_and_a_disk_without_one_goes() -> None:
    account = Account(stack="UPDATE_COMPLETE", arns=[])
    account.ec2 = StandInEc2(instance("i-1"), volumes=[volume("vol-1", of="i-1"), volume("vol-loose", of=None)])
    assert purge("chat", account, None) == 0
    assert [each["State"]["Name"] for each in account.ec2.instances] == ["running"]
    assert [each["VolumeId"] for each in account.ec2.volumes] == ["vol-1"]


def test_a_large_bucket_is_counted_up_to_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(arns=ARNS[1:2])
    account.versions = {(f"output/{number}", "v1"): 1 for number in range(150_000)}
    purge("chat", account, None)
    assert "more than 101,000 versions" in capsys.readouterr().out
    assert not account.buckets


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (NoCredentialsError(), "There are no AWS credentials"),
        (NoRegionError(), "use --region"),
        (EndpointConnectionError(endpoint_url="https://x"), "AWS could not be asked"),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), "The local cloud at http://127.0.0.1:1 has ended"),
        (refusal("GetResources", "ExpiredToken"), "AWS does not accept the credentials (ExpiredToken)"),
        (refusal("GetResources", "AccessDeniedException", "not authorized"), "does not allow GetResources: not auth"),
        (refusal("DeleteTable", "LimitExceededException", "too many"), "DeleteTable failed: too many"),
        (KeyboardInterrupt(), "stopped"),
    ],
)
def test_a_problem_is_one_sentence_and_exit_status_1(
    error: BaseException, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(service: str) -> Any:
        raise error

    assert purge("chat", failing, None) == 1
    said = capsys.readouterr().err.strip()
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_refused_removal_is_reported_after_the_removed_resources(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account()
    account.refuses_to_delete_tables = True
    assert purge("chat", account, None) == 1
    assert "AWS does not allow DeleteTable" in capsys.readouterr().err


def test_the_region_is_the_option_or_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert clients_in(None)("sts").meta.region_name == "eu-west-1"
    assert clients_in("us-east-2")("sts").meta.region_name == "us-east-2"


def test_nothing_is_removed_without_a_terminal_and_without_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    account = Account()
    monkeypatch.setattr(sys, "stdin", io.StringIO("chat\n"))
    assert purge("chat", account, partial(ask_on_terminal, to="remove", done="removed")) == 2
    assert "Nothing was removed: there is no terminal to ask on. Use --yes" in capsys.readouterr().err
    assert account.is_untouched


@pytest.mark.parametrize("name", ["slipway-account-settings", "deployments/gpt2.yaml", "a,b", "-1"])
def test_an_invalid_name_is_refused_before_aws_is_asked(name: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "slipway", "purge", "--", name], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "is not a deployment's name" in result.stderr


def test_a_key_goes_after_all_that_it_encrypts_and_can_be_restored_for_a_while(
    capsys: pytest.CaptureFixture[str],
) -> None:
    account = Account(arns=[CIPHER_KEY, *ARNS])
    assert purge("chat", account, ask=None) == 0
    assert account.key_state == "PendingDeletion"
    shown = capsys.readouterr().out
    assert "KMS key" in shown
    assert "Slipway: data of chat; it can be restored for 30 days after this" in shown


def test_a_key_that_is_about_to_be_deleted_is_not_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(arns=[CIPHER_KEY])
    account.key_state = "PendingDeletion"
    assert purge("chat", account, ask=None) == 0
    assert "Nothing of chat is left" in capsys.readouterr().out


def test_the_key_of_an_earlier_stack_stays_while_there_is_a_stack(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(stack="UPDATE_COMPLETE", arns=[CIPHER_KEY])
    account.endpoints = {}
    assert purge("chat", account, ask=None) == 0
    assert account.key_state == "Enabled"
