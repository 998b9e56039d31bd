"""Stack sets deploy to accounts and regions in the order and with the failure tolerance of AWS."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from local_cloud.cloud import ACCOUNT, LocalCloud
from local_cloud.emulator.stack_sets.preferences import Preferences
from support.patience import wait_for
from support.stacks.small_stacks import StackFailedError, create, delete, function, resource, role, statement, update
from support.stand_ins.organizations import REGION, Organization, Sets

TEMPLATE: dict[str, Any] = {
    "Parameters": {"Value": {"Type": "String", "Default": "one"}},
    "Resources": {
        "Note": resource("SSM::Parameter", {"Name": "/note", "Type": "String", "Value": {"Ref": "Value"}}),
    },
}
TOPIC = {"Resources": {"Topic": resource("SNS::Topic")}}


@pytest.fixture(scope="module")
def organization(bare_cloud: LocalCloud) -> Organization:
    return Organization(bare_cloud)


@pytest.fixture(scope="module")
def sets(bare_cloud: LocalCloud) -> Sets:
    return Sets(bare_cloud)


def group(*units: str, regions: tuple[str, ...] = (REGION,), **more: Any) -> dict[str, Any]:
    overrides = {"ParameterOverrides": more.pop("overrides")} if "overrides" in more else {}
    return {"DeploymentTargets": {"OrganizationalUnitIds": list(units)} | more, "Regions": list(regions)} | overrides


def stack_set(name: str, *groups: dict[str, Any], template: Any = TEMPLATE, **properties: Any) -> dict[str, Any]:
    own = {
        "StackSetName": name,
        "PermissionModel": "SERVICE_MANAGED",
        "AutoDeployment": {"Enabled": False},
        "TemplateBody": json.dumps(template),
        "StackInstancesGroup": list(groups),
    }
    return resource("CloudFormation::StackSet", own | properties)


def note(organization: Organization, account: str, region: str = REGION) -> str:
    found = organization.client("ssm", account, region).get_parameter(Name="/note")
    return str(found["Parameter"]["Value"])


def test_every_account_of_a_unit_and_of_the_units_in_it_gets_its_own_stack(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    unit = organization.unit("all")
    innermost = organization.unit("innermost", organization.unit("inner", unit))
    accounts = [organization.account(unit), organization.account(innermost)]
    create(bare_cloud, "all", {"Set": stack_set("all", group(unit))})
    for account in accounts:
        assert organization.stacks(account) == {"all": "CREATE_COMPLETE"}
        assert note(organization, account) == "one"
    assert sets.instances("all") == {(account, REGION): ("CURRENT", "SUCCEEDED") for account in accounts}
    assert sets.operations("all") == [("CREATE", "SUCCEEDED")]


def failing_in(*accounts: str) -> dict[str, Any]:
    """A template whose stack fails in these accounts if its parameter is `bad`."""
    fails = {"Fn::Or": [{"Fn::Equals": [{"Ref": "AWS::AccountId"}, each]} for each in [*accounts, "none"]]}
    bad = {"Fn::Equals": [{"Ref": "Value"}, "bad"]}
    broken = function("", Runtime="python9.9", Role="arn:aws:iam::1:role/none")
    resources = TEMPLATE["Resources"] | {"Broken": broken | {"Condition": "Fails", "DependsOn": "Note"}}
    return TEMPLATE | {"Conditions": {"Fails": {"Fn::And": [bad, fails]}}, "Resources": resources}


def value(text: str) -> list[dict[str, str]]:
    return [{"ParameterKey": "Value", "ParameterValue": text}]


@pytest.mark.parametrize("concurrency", ["SEQUENTIAL", "PARALLEL"])
def test_an_update_takes_the_regions_in_order_and_stops_when_too_many_accounts_failed(
    concurrency: str, bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    """One of three accounts fails in the first region: the others stay, and the parent stack updates the set back."""
    unit, regions = organization.unit(concurrency), ("eu-west-1", REGION)
    accounts = sorted(organization.account(unit) for _ in range(3))
    template = failing_in(accounts[1])
    # Strict concurrency with no tolerated failure: one account at a time.
    preferences = {"RegionOrder": [REGION], "RegionConcurrencyType": concurrency, "MaxConcurrentPercentage": 100}
    groups = group(unit, regions=regions)
    named = {"template": template, "OperationPreferences": preferences}
    create(bare_cloud, concurrency, {"Set": stack_set(concurrency, groups, **named)})
    with pytest.raises(StackFailedError, match="UPDATE_ROLLBACK_COMPLETE") as failed:
        update(bare_cloud, concurrency, {"Set": stack_set(concurrency, groups, Parameters=value("bad"), **named)})
    assert f"{accounts[1]} in {REGION}: ResourceLogicalId:Broken" in failed.value.reasons[0]
    operations = sets.api.list_stack_set_operations(StackSetName=concurrency)["Summaries"]
    bad = sets.api.list_stack_set_operation_results(StackSetName=concurrency, OperationId=operations[1]["OperationId"])
    by_status = {(each["Account"], each["Region"]): each["Status"] for each in bad["Summaries"]}
    stopped, untouched = ["SUCCEEDED", "FAILED", "CANCELLED"], ["CANCELLED"] * 3
    assert [by_status[account, REGION] for account in accounts] == stopped
    second = stopped if concurrency == "PARALLEL" else untouched
    assert [by_status[account, "eu-west-1"] for account in accounts] == second
    assert sets.operations(concurrency) == [("CREATE", "SUCCEEDED"), ("UPDATE", "FAILED"), ("UPDATE", "SUCCEEDED")]
    assert set(sets.instances(concurrency).values()) == {("CURRENT", "SUCCEEDED")}
    assert [note(organization, each) for each in accounts] == ["one"] * 3


def test_an_operation_with_tolerated_failures_succeeds_and_leaves_the_failed_instances_outdated(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    """34 % of three accounts is one account; 33 % is rounded down to none."""
    unit = organization.unit("tolerant")
    accounts = sorted(organization.account(unit) for _ in range(3))
    tolerant = {"FailureTolerancePercentage": 34, "MaxConcurrentPercentage": 100}
    template = failing_in(accounts[0])
    create(bare_cloud, "tolerant", {"Set": stack_set("tolerant", group(unit), template=template)})

    def changed(preferences: dict[str, Any], **properties: Any) -> None:
        properties |= {"template": template, "OperationPreferences": preferences}
        update(bare_cloud, "tolerant", {"Set": stack_set("tolerant", group(unit), **properties)})

    changed(tolerant, Parameters=value("bad"))
    states = [sets.instances("tolerant")[account, REGION] for account in accounts]
    assert states == [("OUTDATED", "FAILED"), ("CURRENT", "SUCCEEDED"), ("CURRENT", "SUCCEEDED")]
    assert sets.operations("tolerant")[-1] == ("UPDATE", "SUCCEEDED")
    instance = sets.api.describe_stack_instance(
        StackSetName="tolerant", StackInstanceAccount=accounts[0], StackInstanceRegion=REGION
    )["StackInstance"]
    assert "ResourceType:AWS::Lambda::Function" in instance["StatusReason"]
    with pytest.raises(StackFailedError):
        changed({"FailureTolerancePercentage": 33}, Parameters=value("bad"), Description="again")
    soft = {"ConcurrencyMode": "SOFT_FAILURE_TOLERANCE", "MaxConcurrentPercentage": 100}
    with pytest.raises(StackFailedError):
        changed(soft, Parameters=value("bad"), Description="soft")
    operation = sets.api.list_stack_set_operations(StackSetName="tolerant")["Summaries"][1]["OperationId"]
    found = sets.api.list_stack_set_operation_results(StackSetName="tolerant", OperationId=operation)["Summaries"]
    assert sorted(each["Status"] for each in found) == ["FAILED", "SUCCEEDED", "SUCCEEDED"]
    assert (
        sets.api.describe_stack_set_operation(StackSetName="tolerant", OperationId=operation)["StackSetOperation"][
            "Status"
        ]
        == "FAILED"
    )


@pytest.mark.parametrize(
    ("given", "failures", "at_once"),
    [
        ({"FailureToleranceCount": 2, "MaxConcurrentCount": 3}, 0, 3),
        ({"FailureToleranceCount": 2, "MaxConcurrentCount": 3}, 2, 1),
        ({"FailureToleranceCount": 2, "MaxConcurrentCount": 9}, 0, 3),
        ({"FailureToleranceCount": 9, "MaxConcurrentPercentage": 9}, 0, 1),
        ({"FailureToleranceCount": 9, "MaxConcurrentPercentage": 29}, 0, 2),
        ({"ConcurrencyMode": "SOFT_FAILURE_TOLERANCE", "MaxConcurrentCount": 3}, 0, 3),
    ],
)
def test_the_concurrency_limits_how_many_of_ten_accounts_run_at_once(
    given: dict[str, Any], failures: int, at_once: int
) -> None:
    assert Preferences(given).at_once(10, failures) == at_once


def test_a_stack_whose_creation_failed_is_replaced(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    unit = organization.unit("anew")
    account = organization.account(unit)
    tolerant = {"template": failing_in(account), "OperationPreferences": {"FailureToleranceCount": 1}}
    create(bare_cloud, "anew", {"Set": stack_set("anew", group(unit), Parameters=value("bad"), **tolerant)})
    assert organization.stacks(account) == {"anew": "ROLLBACK_COMPLETE"}
    update(bare_cloud, "anew", {"Set": stack_set("anew", group(unit), **tolerant)})
    assert organization.stacks(account) == {"anew": "CREATE_COMPLETE"}
    assert sets.instances("anew") == {(account, REGION): ("CURRENT", "SUCCEEDED")}


def test_a_stack_that_cannot_be_deleted_is_inoperable(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    unit = organization.unit("full")
    account = organization.account(unit)
    template = {"Resources": {"Bucket": resource("S3::Bucket", {"BucketName": "full-of-objects"})}}
    create(bare_cloud, "full", {"Set": stack_set("full", group(unit), template=template)})
    s3 = organization.client("s3", account)
    s3.put_object(Bucket="full-of-objects", Key="key", Body=b"")
    with pytest.raises(StackFailedError, match="DELETE_FAILED"):
        delete(bare_cloud, "full")
    assert sets.instances("full") == {(account, REGION): ("INOPERABLE", "INOPERABLE")}
    s3.delete_object(Bucket="full-of-objects", Key="key")
    delete(bare_cloud, "full")
    assert organization.stacks(account) == {}


def test_organizations_refuses_unknown_parents_and_knows_whose_members_are(organization: Organization) -> None:
    account, unknown = organization.account(), "ou-none-00000000"
    with pytest.raises(ClientError, match="ParentNotFound"):
        organization.api.list_accounts_for_parent(ParentId=unknown)
    with pytest.raises(ClientError, match="SourceParentNotFound"):
        organization.move(account, organization.unit("other"), organization.root)
    policy = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::shared/*"}
    known = organization.client("organizations", account).describe_organization()["Organization"]["Id"]
    condition = {"Condition": {"StringEquals": {"aws:PrincipalOrgID": known}}}
    s3 = organization.client("s3", ACCOUNT)
    s3.create_bucket(Bucket="shared")
    s3.put_object(Bucket="shared", Key="key", Body=b"text")
    s3.put_bucket_policy(Bucket="shared", Policy=json.dumps({"Version": "2012-10-17", "Statement": policy | condition}))
    assert organization.client("s3", account).get_object(Bucket="shared", Key="key")["Body"].read() == b"text"
    stranger = organization.cloud.client("s3", region=REGION, credentials=organization.cloud.deployer_in("4" * 12))
    with pytest.raises(ClientError, match="AccessDenied"):
        stranger.get_object(Bucket="shared", Key="key")


def test_overrides_and_new_and_removed_units_need_no_update_of_the_others(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    units = [organization.unit(f"edited-{number}") for number in range(3)]
    accounts = [organization.account(unit) for unit in units]
    create(bare_cloud, "edited", {"Set": stack_set("edited", group(units[0]), group(units[1]))})
    groups = group(units[1], overrides=value("two")), group(units[2])
    update(bare_cloud, "edited", {"Set": stack_set("edited", *groups)})
    assert organization.stacks(accounts[0]) == {}
    assert [note(organization, each) for each in accounts[1:]] == ["two", "one"]
    assert [action for action, _ in sets.operations("edited")[2:]] == ["DELETE", "CREATE", "UPDATE"]
    shown = sets.api.describe_stack_instance(
        StackSetName="edited", StackInstanceAccount=accounts[1], StackInstanceRegion=REGION
    )
    assert shown["StackInstance"]["ParameterOverrides"] == value("two")
    described = sets.api.describe_stack_set(StackSetName="edited")["StackSet"]
    assert json.loads(described["TemplateBody"]) == TEMPLATE
    delete(bare_cloud, "edited")
    assert [organization.stacks(each) for each in accounts[1:]] == [{}, {}]


def test_accounts_are_filtered_and_the_management_account_gets_nothing(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    unit = organization.unit("filtered")
    accounts = [organization.account(unit) for _ in range(2)]
    organization.move(ACCOUNT, organization.root, unit)
    try:
        chosen = group(unit, Accounts=accounts[:1], AccountFilterType="DIFFERENCE")
        create(bare_cloud, "filtered", {"Set": stack_set("filtered", chosen)})
        assert set(sets.instances("filtered")) == {(accounts[1], REGION)}
        chosen = group(unit, Accounts=[accounts[0], ACCOUNT], AccountFilterType="INTERSECTION")
        update(bare_cloud, "filtered", {"Set": stack_set("filtered", chosen)})
        assert set(sets.instances("filtered")) == {(accounts[0], REGION)}
    finally:
        organization.move(ACCOUNT, unit, organization.root)


@pytest.mark.parametrize("retains", [False, True])
def test_an_account_that_joins_gets_its_stacks_in_order_and_one_that_leaves_keeps_or_loses_them(
    retains: bool, bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    """The failure tolerance does not apply to automatic deployments."""
    unit, name = organization.unit(f"automatic-{retains}"), f"automatic-{retains}"
    staying, coming, fails = organization.account(unit), organization.account(), organization.account()
    automatic = {"Enabled": True, "RetainStacksOnAccountRemoval": retains}
    before = stack_set(f"{name}-before", group(unit), AutoDeployment=automatic, Parameters=value("bad"))
    before["Properties"]["TemplateBody"] = json.dumps(failing_in(fails))
    arn = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stackset/${{Before}}"
    after = stack_set(name, group(unit), AutoDeployment=automatic | {"DependsOn": [{"Fn::Sub": arn}]})
    after["Properties"]["TemplateBody"] = json.dumps(TOPIC)
    manual = stack_set(f"{name}-manual", group(unit), template=TOPIC)
    create(bare_cloud, name, {"Before": before, "After": after, "Manual": manual})
    both = {f"{name}-before": "CREATE_COMPLETE", name: "CREATE_COMPLETE"}
    for account in (fails, coming):
        organization.move(account, organization.root, unit)
    organization.wait_for_stacks(coming, both)
    assert organization.stacks(fails) == {f"{name}-before": "ROLLBACK_COMPLETE"}
    organization.move(coming, unit, organization.root)
    wait_for(lambda: (coming, REGION) not in sets.instances(name) or None, "the end of the instance")
    wait_for(lambda: (coming, REGION) not in sets.instances(f"{name}-before") or None, "the end of the instance")
    assert organization.stacks(coming) == (both if retains else {})
    assert organization.stacks(staying) == both | {f"{name}-manual": "CREATE_COMPLETE"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Capabilities": []}, "Requires capabilities : [CAPABILITY_IAM]"),
        ({"CallAs": "DELEGATED_ADMIN"}, "delegated admin account of an organization"),
        ({"Parameters": [*value("one"), {"ParameterKey": "No", "ParameterValue": ""}]}, "[No] do not exist"),
        ({"template": TEMPLATE | {"Transform": "AWS::LanguageExtensions"}}, "macros"),
        ({"template": TEMPLATE | {"Resources": {"Inner": resource("CloudFormation::Stack")}}}, "nested stacks"),
        ({"StackInstancesGroup": [group("ou-none-00000000")]}, "ou-none-00000000 does not exist"),
        ({"StackInstancesGroup": [group("r-0"), group("r-0", overrides=value("2"))]}, "more than one"),
        ({"StackInstancesGroup": [group(Accounts=["123456789012"])]}, "needs OrganizationalUnitIds"),
        ({"StackInstancesGroup": [group("r-0", Accounts=["123456789012"])]}, "AccountFilterType"),
    ],
)
def test_what_stack_sets_refuse_is_refused(change: Any, said: str, bare_cloud: LocalCloud) -> None:
    iam = role([statement("s3:*")])
    resources = {"Resources": {"Role": iam}} if "Capabilities" in change else {}
    template = change.pop("template", TEMPLATE | resources)
    refused = stack_set("refused", **({"template": template} | change))
    with pytest.raises(StackFailedError) as failed:
        create(bare_cloud, "refused", {"Set": refused})
    assert said in failed.value.reasons[0]
    delete(bare_cloud, "refused")


def test_a_template_of_one_megabyte_is_read_from_a_bucket_of_the_administrators_account(
    bare_cloud: LocalCloud, organization: Organization
) -> None:
    unit = organization.unit("from-a-bucket")
    account = organization.account(unit)

    def put(bucket: str, size: int, owner: str) -> str:
        s3 = organization.client("s3", owner)
        s3.create_bucket(Bucket=bucket)
        content = json.dumps(TEMPLATE | {"Metadata": {"Text": ""}})
        s3.put_object(Bucket=bucket, Key="key", Body=content.replace('""', f'"{"x" * (size - len(content))}"'))
        return f"https://s3.{REGION}.amazonaws.com/{bucket}/key"

    def create_from(url: str) -> None:
        own = stack_set("from-a-bucket", group(unit), TemplateURL=url)
        del own["Properties"]["TemplateBody"]
        create(bare_cloud, "from-a-bucket", {"Set": own})

    for bucket, size, owner, said in (
        ("too-large", 1_000_001, ACCOUNT, "1000000"),
        ("another-accounts", 60_000, account, "not found"),
    ):
        with pytest.raises(StackFailedError) as failed:
            create_from(put(bucket, size, owner))
        assert said in failed.value.reasons[0]
        delete(bare_cloud, "from-a-bucket")
    create_from(put("large-enough", 1_000_000, ACCOUNT))
    assert note(organization, account) == "one"


def test_a_delegated_administrator_deploys_and_reads_the_sets_of_the_management_account(
    bare_cloud: LocalCloud, organization: Organization
) -> None:
    unit = organization.unit("delegated")
    administrator = organization.account(unit)
    iam = organization.client("iam", ACCOUNT)
    iam.create_role(**trusted("Administration", {"Service": "cloudformation.amazonaws.com"}))
    role = {"AdministrationRoleARN": f"arn:aws:iam::{ACCOUNT}:role/Administration"}
    mine = stack_set("self-managed", PermissionModel="SELF_MANAGED", **role)
    del mine["Properties"]["AutoDeployment"]
    create(bare_cloud, "self-managed", {"Set": mine})
    cloudformation = organization.client("cloudformation", administrator)
    with pytest.raises(ClientError, match="delegated admin account"):
        cloudformation.list_stack_sets(CallAs="DELEGATED_ADMIN")
    with pytest.raises(ClientError, match="AccessDenied"):
        organization.client("organizations", administrator).list_roots()
    service = "member.org.stacksets.cloudformation.amazonaws.com"
    organization.api.register_delegated_administrator(AccountId=administrator, ServicePrincipal=service)
    own = stack_set("delegated", group(unit), CallAs="DELEGATED_ADMIN")
    cloudformation.create_stack(StackName="fleet", TemplateBody=json.dumps({"Resources": {"Set": own}}))
    organization.wait_for_stacks(administrator, {"delegated": "CREATE_COMPLETE"})
    shown = cloudformation.list_stack_sets(CallAs="DELEGATED_ADMIN")["Summaries"]
    names = [each["StackSetName"] for each in shown]
    assert ("delegated" in names, "self-managed" in names) == (True, False)
    assert cloudformation.list_stack_sets()["Summaries"] == []
    assert organization.client("organizations", administrator).list_roots()["Roots"][0]["Id"] == organization.root
    cloudformation.delete_stack(StackName="fleet")
    organization.wait_for_stacks(administrator, {})


def trusted(name: str, principal: dict[str, str]) -> dict[str, Any]:
    trust = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    document = {"Version": "2012-10-17", "Statement": [trust]}
    return {"RoleName": name, "AssumeRolePolicyDocument": json.dumps(document)}


def test_a_self_managed_set_needs_its_roles(bare_cloud: LocalCloud, organization: Organization, sets: Sets) -> None:
    account = organization.account()
    targets = {"DeploymentTargets": {"Accounts": [account]}, "Regions": [REGION]}
    own = stack_set("own", targets, PermissionModel="SELF_MANAGED")
    del own["Properties"]["AutoDeployment"]

    def refusal() -> str:
        with pytest.raises(StackFailedError) as failed:
            create(bare_cloud, "own", {"Set": own})
        delete(bare_cloud, "own")
        return str(failed.value.reasons[0])

    administration = "AWSCloudFormationStackSetAdministrationRole"
    assert "trust relationship to CloudFormation service" in refusal()
    iam = organization.client("iam", ACCOUNT)
    iam.create_role(**trusted(administration, {"Service": "cloudformation.amazonaws.com"}))
    execution = "AWSCloudFormationStackSetExecutionRole"
    assert f"Account {account} should have '{execution}' role" in refusal()
    stranger = trusted(execution, {"AWS": "arn:aws:iam::999999999999:root"})
    organization.client("iam", account).create_role(**stranger)
    assert f"trust relationship to Role '{administration}'" in refusal()
    document = trusted(execution, {"AWS": f"arn:aws:iam::{ACCOUNT}:root"})["AssumeRolePolicyDocument"]
    organization.client("iam", account).update_assume_role_policy(RoleName=execution, PolicyDocument=document)
    create(bare_cloud, "own", {"Set": own})
    assert note(organization, account) == "one"


@pytest.mark.parametrize("is_managed", [False, True])
def test_an_operation_waits_for_another_only_with_managed_execution(
    is_managed: bool, bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    """An account that joins starts an operation, which runs until its stack gets a signal."""
    unit, name = organization.unit(f"busy-{is_managed}"), f"busy-{is_managed}"
    condition = {"Handle": {"Ref": "Handle"}, "Timeout": 3600, "Count": 1}
    waiting = {
        "Handle": resource("CloudFormation::WaitConditionHandle"),
        "Wait": resource("CloudFormation::WaitCondition", condition),
    }
    own = {"AutoDeployment": {"Enabled": True}, "ManagedExecution": {"Active": is_managed}}
    busy = stack_set(name, group(unit), template=TEMPLATE | {"Resources": waiting}, **own)
    create(bare_cloud, name, {"Set": busy})
    account = organization.account(unit)
    cloudformation = organization.client("cloudformation", account)

    def handle() -> str | None:
        for stack in cloudformation.describe_stacks()["Stacks"]:
            for each in cloudformation.describe_stack_resources(StackName=stack["StackName"])["StackResources"]:
                if each["LogicalResourceId"] == "Handle":
                    return str(each.get("PhysicalResourceId") or "") or None
        return None

    url = wait_for(handle, "the handle")
    busy["Properties"]["Description"] = "changed"
    try:
        if is_managed:
            with ThreadPoolExecutor(1) as executor:
                updating = executor.submit(update, bare_cloud, name, {"Set": busy})
                wait_for(lambda: sets.operations(name)[-1] == ("UPDATE", "QUEUED") or None, "the queued operation")
                signal(url)
                updating.result()
            assert sets.operations(name) == [("CREATE", "SUCCEEDED"), ("UPDATE", "SUCCEEDED")]
        else:
            with pytest.raises(StackFailedError, match="in progress"):
                update(bare_cloud, name, {"Set": busy})
    finally:
        signal(url)
        organization.wait_for_stacks(account, {name: "CREATE_COMPLETE"})


def signal(url: str) -> None:
    answer = {"Status": "SUCCESS", "UniqueId": "one", "Data": "", "Reason": ""}
    requests.put(url, data=json.dumps(answer), timeout=30)
