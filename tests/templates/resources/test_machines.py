"""`hosting.mode: ec2`: machines without a way in, set up at the deploy, made last, replaced for their content alone."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_hosting.hosting.ec2_hosting import Ec2Hosting
from llm_hosting.jobs.store import JobStore
from llm_hosting.sources import Sources
from llm_hosting.surroundings import Surroundings
from support.deployments.good_one import ON_EC2, Changes, resolved
from support.deployments.known_deployments import SHIPPED
from support.repository import ROOT
from support.templates.house_rules import statements_of
from support.templates.template_parts import Template, all_of, functions, only, properties, referred, resources

MACHINES = ["gpt2-ec2", "own-network"]


@pytest.fixture
def machine_templates(templates: dict[str, Template]) -> list[Template]:
    return [templates[name] for name in MACHINES]


def launched(template: Template) -> list[dict[str, Any]]:
    """Return the data of each launch template."""
    return [each["LaunchTemplateData"] for each in all_of(template, "EC2::LaunchTemplate")]


def script(data: dict[str, Any]) -> str:
    """Return the user data as text; each reference stands as its JSON."""
    parts = data["UserData"]["Fn::Base64"]["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else json.dumps(part) for part in parts)


def test_shipped_deployments_download_one_commit_of_their_model(templates: dict[str, Template]) -> None:
    for name in (name for name in SHIPPED if name in templates and name.endswith("-ec2")):
        for data in launched(templates[name]):
            assert re.search(r"^MODEL_REVISION=[0-9a-f]{40}$", script(data), re.MULTILINE), name


def test_no_port_is_open_and_only_tls_leads_out(machine_templates: list[Template]) -> None:
    for template in machine_templates:
        group = properties(template, "EC2::SecurityGroup")
        assert group.get("SecurityGroupIngress", []) == []
        (out,) = group["SecurityGroupEgress"]
        assert (out["IpProtocol"], out["FromPort"], out["ToPort"], out["CidrIp"]) == ("tcp", 443, 443, "0.0.0.0/0")
        assert not resources(template, "EC2::SecurityGroupIngress") + resources(template, "EC2::SecurityGroupEgress")
        for data in launched(template):
            ((named,),) = (each["Groups"] for each in data["NetworkInterfaces"])
            assert referred(template, named) == group


def test_a_machine_demands_imdsv2_with_one_hop_and_has_no_ssh_key(machine_templates: list[Template]) -> None:
    for template in machine_templates:
        for data in launched(template):
            assert data["MetadataOptions"] == {
                "HttpEndpoint": "enabled",
                "HttpPutResponseHopLimit": 1,
                "HttpTokens": "required",
            }
        assert '"KeyName"' not in json.dumps(template)


def test_the_disk_is_encrypted_and_deleted_with_its_machine_and_a_shutdown_only_stops(
    templates: dict[str, Template],
) -> None:
    expected: dict[str, dict[str, Any]] = {
        "gpt2-ec2": {"VolumeSize": 17},
        "own-network": {
            "VolumeSize": 20,
            "KmsKeyId": "arn:aws:kms:us-east-1:111122223333:key/1111abcd-0000-4000-8000-000000000002",
        },
    }
    for name, volume in expected.items():
        for data in launched(templates[name]):
            (mapping,) = data["BlockDeviceMappings"]
            assert mapping["Ebs"] == {"Encrypted": True, "VolumeType": "gp3", "DeleteOnTermination": True, **volume}
            assert data["InstanceInitiatedShutdownBehavior"] == "stop"


def test_the_image_is_found_at_the_launch_by_the_processor(templates: dict[str, Template]) -> None:
    stem = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-"
    assert {data["ImageId"] for data in launched(templates["gpt2-ec2"])} == {f"{stem}x86_64"}
    assert {data["ImageId"] for data in launched(templates["own-network"])} == {f"{stem}arm64"}


def test_a_network_of_its_own_gives_public_addresses_to_machines_only_and_has_no_nat(
    templates: dict[str, Template],
) -> None:
    template = templates["gpt2-ec2"]
    assert {each["MapPublicIpOnLaunch"] for each in all_of(template, "EC2::Subnet")} == {False}
    assert [each["AssociatePublicIpAddress"] for each in launched(template)[0]["NetworkInterfaces"]] == [True]
    kinds = {each["Type"] for each in template["Resources"].values()}
    assert not {"AWS::EC2::NatGateway", "AWS::EC2::EIP"} & kinds
    assert {"Fn::GetAZs": ""} in [each["AvailabilityZone"]["Fn::Select"][1] for each in all_of(template, "EC2::Subnet")]


def test_machines_in_the_users_network_take_its_subnets_in_turn_without_a_public_address(
    templates: dict[str, Template],
) -> None:
    template = templates["own-network"]
    kinds = {each["Type"] for each in template["Resources"].values()}
    assert not {"AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::InternetGateway", "AWS::EC2::Route"} & kinds
    assert properties(template, "EC2::SecurityGroup")["VpcId"] == "vpc-0a1b2c3d4e5f60718"
    interfaces = [data["NetworkInterfaces"][0] for data in launched(template)]
    assert [each["SubnetId"] for each in interfaces] == ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"]
    assert [each["AssociatePublicIpAddress"] for each in interfaces] == [False, False]


def test_each_machine_has_its_number_and_the_tags_that_permissions_check(templates: dict[str, Template]) -> None:
    template = templates["own-network"]
    numbers = []
    for instance in all_of(template, "EC2::Instance"):
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        assert tags["slipway:deployment"] == {"Ref": "AWS::StackName"}
        assert instance["PropagateTagsToVolumeOnCreation"] is True
        own = template["Resources"][instance["LaunchTemplate"]["LaunchTemplateId"]["Ref"]]
        assert f"\nMACHINE_NUMBER={tags['slipway:machine']}\n" in script(own["Properties"]["LaunchTemplateData"])
        numbers.append(tags["slipway:machine"])
    assert numbers == ["0", "1"]


def test_the_machine_gets_the_variables_of_the_functions_and_its_own(templates: dict[str, Template]) -> None:
    for name in MACHINES:
        template = templates[name]
        text = script(launched(template)[0]).partition("END_OF_ENVIRONMENT'\n")[2].partition("\nEND_OF_ENVIRONMENT")[0]
        given = dict(line.split("=", 1) for line in text.splitlines())
        variables = functions(template)["route"]["Environment"]["Variables"]
        assert variables.keys() - given.keys() == {"OPENAI_FACTS", "OPENAI_ROUTES"}
        for variable in variables.keys() & given.keys():
            value = variables[variable]
            assert given[variable] == (value if isinstance(value, str) else json.dumps(value)), variable
        own = {
            "MODEL_REVISION",
            "MODEL_WEIGHTS",
            "MAX_MODEL_LEN",
            "HUB_TOKEN_SECRET_ARN",
            "MACHINE_NUMBER",
            "LOG_GROUP",
        }
        assert own | {"AWS_REGION"} <= given.keys()
    assert given["MODEL_WEIGHTS"] == "s3://example-weights/models/qwen3-0.6b/"
    assert (given["MACHINES"], given["IDLE_MINUTES"], given["MAX_BATCH_SIZE"]) == ("2", "10", "2")


def test_the_variables_are_lines_that_systemd_reads_as_they_are(templates: dict[str, Template]) -> None:
    for name in MACHINES:
        text = script(launched(templates[name])[0])
        lines = text.partition("END_OF_ENVIRONMENT'\n")[2].partition("\nEND_OF_ENVIRONMENT")[0].splitlines()
        for line in lines:
            value = line.partition("=")[2]
            is_reference = value.startswith(('{"Ref"', '{"Fn'))
            assert is_reference or not (set(value) & set("\\'`$") or value.startswith('"')), line


def test_user_data_fits_into_the_limit_of_ec2(templates: dict[str, Template]) -> None:
    for name in MACHINES:
        assert all(
            len(script(data)) < 15_000 for data in launched(templates[name])
        )  # 16 kB after references are resolved


def test_a_deploy_waits_for_the_signal_of_each_machine(templates: dict[str, Template]) -> None:
    template = templates["own-network"]
    waits = [each for each in template["Resources"].values() if each["Type"] == "AWS::CloudFormation::WaitCondition"]
    assert [each["Properties"]["Count"] for each in waits] == [1, 1]
    assert [each["Properties"]["Timeout"] for each in waits] == ["900", "900"]
    scripts = [script(data) for data in launched(template)]
    for wait in waits:
        assert json.dumps(wait["Properties"]["Handle"]) in "".join(scripts)
        (machine,) = wait["DependsOn"]
        assert template["Resources"][machine]["Type"] == "AWS::EC2::Instance"
    assert len({json.dumps(wait["Properties"]["Handle"]) for wait in waits}) == 2


def test_machines_are_created_last_and_deleted_first(machine_templates: list[Template]) -> None:
    for template in machine_templates:
        of_machines = {"AWS::EC2::LaunchTemplate", "AWS::EC2::Instance"}
        of_machines |= {"AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::WaitConditionHandle"}
        of_machines |= {"AWS::CloudWatch::Dashboard"}  # names the machines
        others = {name for name, each in template["Resources"].items() if each["Type"] not in of_machines}
        for instance in resources(template, "EC2::Instance"):
            assert others <= set(instance["DependsOn"])


def test_a_machine_has_no_permission_of_ec2_and_reads_no_other_object_of_the_asset_bucket(
    machine_templates: list[Template],
) -> None:
    for template in machine_templates:
        role = only(template, "IAM::InstanceProfile")["Properties"]["Roles"][0]
        mine = [each for each in resources(template, "IAM::Policy") if role in each["Properties"]["Roles"]]
        statements = [statement for policy in mine for statement in statements_of(policy)]
        actions = {action for each in statements for action in listed(each["Action"])}
        assert not {action for action in actions if action.startswith(("ec2:", "iam:", "sts:"))}
        places = [place for each in statements for place in listed(each["Resource"])]
        assets = [text for place in places if "cdk-hnb659fds-assets" in (text := json.dumps(place))]
        assert len(assets) == 1
        assert re.search(r"/[0-9a-f]{64}\.zip\"", assets[0])


def test_machines_start_and_stop_by_the_tag_of_their_stack(machine_templates: list[Template]) -> None:
    for template in machine_templates:
        own = {"StringEquals": {"aws:ResourceTag/slipway:deployment": {"Ref": "AWS::StackName"}}}
        found = set()
        for policy in resources(template, "IAM::Policy"):
            for statement in statements_of(policy):
                changing = {"ec2:StartInstances", "ec2:StopInstances"} & set(listed(statement["Action"]))
                assert not changing or statement["Condition"] == own
                found |= changing
        assert found == {"ec2:StartInstances", "ec2:StopInstances"}


def test_functions_that_start_machines_may_let_ec2_use_the_key_of_the_volume(templates: dict[str, Template]) -> None:
    statements = [
        each for policy in resources(templates["own-network"], "IAM::Policy") for each in statements_of(policy)
    ]
    starting = [each for each in statements if "ec2:StartInstances" in listed(each["Action"])]
    granting = [each for each in statements if each["Action"] == "kms:CreateGrant"]
    assert len(granting) == len(starting) == 3  # generate, route, every_minute
    assert {each["Resource"] for each in granting} == {
        "arn:aws:kms:us-east-1:111122223333:key/1111abcd-0000-4000-8000-000000000002"
    }
    assert all(each["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}} for each in granting)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_only_a_change_of_content_replaces_a_machine_and_its_wait(tmp_path: Path) -> None:
    changes: dict[str, Changes] = {
        "plain": {},
        "alarms": {"alarms": {"failed_job_rate": 0.5}, "logs": {"retention_in_days": 7}},
        "routes": {"api": {"openai": False}},
        "disk": {"hosting": {"volume_size_in_gb": 30}},
        "idle": {"hosting": {"idle_minutes": 5}},
        "renewal": {"hosting": {"renewal": 1}},
        "timeout": {"hosting": {"startup_timeout_in_seconds": 1200}},
    }
    machines = machines_of(changes, tmp_path)
    assert machines["alarms"] == machines["routes"] == machines["plain"]
    others = [machines[name] for name in ("plain", "disk", "idle", "renewal", "timeout")]
    assert len({name for ids in others for name in ids}) == 3 * len(others), "a template, a handle and a wait"


def test_a_change_of_a_routes_code_replaces_no_machine(tmp_path: Path) -> None:
    functions = tmp_path / "functions"
    shutil.copytree(ROOT / "lambda_src", functions)
    before = machines_of({"plain": {}}, tmp_path / "before", functions)
    (functions / "inference_api" / "handlers" / "models.py").write_text("changed = True\n")
    assert machines_of({"plain": {}}, tmp_path / "after", functions) == before


def machines_of(
    changes: dict[str, Changes], folder: Path, functions: Path = ROOT / "lambda_src"
) -> dict[str, list[str]]:
    """Return the logical ids of launch templates, wait conditions and handles for each of these changes on EC2."""
    sources = Sources(functions=functions, models=ROOT / "model_src", handlers=())
    app = cdk.App(outdir=str(folder))
    for name, change in changes.items():
        merged = {section: {**ON_EC2.get(section, {}), **change.get(section, {})} for section in {**ON_EC2, **change}}
        resolution = resolved(merged)
        stack = cdk.Stack(app, name)
        around = Surroundings(cdk.Aws.STACK_NAME, "chat-1")
        store = JobStore(stack, "JobStore", settings=resolution.deployment.jobs, surroundings=around)
        Ec2Hosting(stack, "Default", resolution=resolution, sources=sources, surroundings=around, store=store)
    return {
        stack.stack_name: sorted(
            name
            for name, each in stack.template["Resources"].items()
            if "WaitCondition" in each["Type"] or each["Type"] == "AWS::EC2::LaunchTemplate"
        )
        for stack in app.synth().stacks
    }
