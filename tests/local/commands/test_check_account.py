"""`slipway doctor` on the local cloud: what only the account knows, and who may not ask."""

import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.engines import engine
from llm_hosting.deployment.finding import Finding
from llm_hosting.preflight.report import Report
from local_cloud.cloud import ACCOUNT, Credentials, LocalCloud
from slipway.account.account import Account
from slipway.account.findings import add_account_findings
from slipway.checking.check import check as check_file
from support.repository import ROOT
from support.stacks.small_stacks import statement
from support.stand_ins.adapters import adapter_files
from support.stand_ins.hub_models import safetensors

REGION, BUCKET = "eu-north-1", "checked-weights"
TYPE = "ml.g6.2xlarge"
VERSION = engine("lmi-vllm").versions[engine("lmi-vllm").default_version]
SHARD = "model-00002-of-00002.safetensors"
WHOLE = {
    "config.json": b"{}",
    "model-00001-of-00002.safetensors": safetensors({"a": ("U8", [1], 1)}),
    SHARD: safetensors({"b": ("U8", [1], 1)}),
}


@dataclass(frozen=True)
class Asked:
    """The findings about one deployment."""

    report: Report

    @property
    def passed(self) -> list[str]:
        return self.report.passed

    def of(self, rule: str) -> Finding:
        (found,) = (finding for finding in self.report.findings if finding.rule == rule)
        return found


class Checker:
    """Writes deployments and asks the account about them, as a user of the local cloud."""

    def __init__(self, cloud: LocalCloud, folder: Path) -> None:
        self.cloud, self.folder = cloud, folder

    def __call__(
        self, *, caller: Credentials | None = None, in_region: str = REGION, name: str = "asked", **sections: Any
    ) -> Asked:
        """Do what the command does, in this process, because a start of Python with boto3 takes most of a second."""
        result = check_file(self.write(name, **sections), ())
        assert result.deployment
        account = Account(lambda service: self.cloud.client(service, region=in_region, credentials=caller))
        return Asked(add_account_findings(result.deployment, result.report, account))

    def write(self, name: str = "asked", **sections: Any) -> Path:
        content = {"model": {"id": "Qwen/Qwen3-4B"}, "hosting": {"instance_type": TYPE}, **sections}
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(content))
        return path

    def command(self, path: Path, *more: str, caller: Credentials) -> subprocess.CompletedProcess[str]:
        """Run the command as a process; boto3 finds the cloud by AWS_ENDPOINT_URL."""
        environment = {
            "AWS_ENDPOINT_URL": self.cloud.url,
            "AWS_ACCESS_KEY_ID": caller.access_key_id,
            "AWS_SECRET_ACCESS_KEY": caller.secret_access_key,
        }
        return subprocess.run(
            [sys.executable, "-m", "slipway", "doctor", str(path), *more],
            cwd=ROOT,
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def check(bare_cloud: LocalCloud, tmp_path: Path) -> Checker:
    return Checker(bare_cloud, tmp_path)


@pytest.fixture(scope="module")
def prepared(bare_cloud: LocalCloud) -> None:
    """Prepare an account in which the deployment would start: image, quota, log role, bootstrap, bucket."""
    put_image(bare_cloud, REGION)
    grant(bare_cloud, TYPE, 2)
    set_log_role(bare_cloud, REGION)
    bootstrap(bare_cloud, "30")
    location = {"LocationConstraint": REGION}
    bare_cloud.client("s3", region=REGION).create_bucket(Bucket=BUCKET, CreateBucketConfiguration=location)


def put_image(cloud: LocalCloud, region: str) -> None:
    """Put the image into the local registry, which all accounts share."""
    ecr = cloud.client("ecr", region=region)
    ecr.create_repository(repositoryName=VERSION.repository)
    ecr.put_image(repositoryName=VERSION.repository, imageManifest="{}", imageTag=VERSION.tag)


def set_log_role(cloud: LocalCloud, region: str) -> None:
    path = "/cloudwatchRoleArn"
    change = {"op": "replace", "path": path, "value": f"arn:aws:iam::{ACCOUNT}:role/logs"}
    cloud.client("apigateway", region=region).update_account(patchOperations=[change])


def bootstrap(cloud: LocalCloud, version: str) -> None:
    parameter = {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": version, "Type": "String", "Overwrite": True}
    cloud.client("ssm", region=REGION).put_parameter(**parameter)


def grant(cloud: LocalCloud, instance_type: str, count: int) -> None:
    """Set the quota of an instance type."""
    quotas = cloud.client("service-quotas", region=REGION)
    for page in quotas.get_paginator("list_aws_default_service_quotas").paginate(ServiceCode="sagemaker"):
        for quota in page["Quotas"]:
            if quota["QuotaName"] == f"{instance_type} for endpoint usage":
                wanted = {"QuotaCode": quota["QuotaCode"], "DesiredValue": count}
                quotas.request_service_quota_increase(ServiceCode="sagemaker", **wanted)


def start_endpoint(cloud: LocalCloud, name: str, instance_type: str, count: int) -> None:
    """Start an endpoint as another stack would."""
    trust = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
    iam, sagemaker = cloud.client("iam", region=REGION), cloud.client("sagemaker", region=REGION)
    document = {"Version": "2012-10-17", "Statement": [trust]}
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(document))["Role"]["Arn"]
    allowed = {"Version": "2012-10-17", "Statement": [statement(["ecr:*", "logs:*"])]}
    iam.put_role_policy(RoleName=name, PolicyName="policy", PolicyDocument=json.dumps(allowed))
    image = f"763104351884.dkr.ecr.{REGION}.amazonaws.com/{VERSION.repository}:{VERSION.tag}"
    container = {"Image": image, "Environment": {"HF_MODEL_ID": "gpt2"}}
    sagemaker.create_model(ModelName=name, ExecutionRoleArn=role, PrimaryContainer=container)
    variant = {"VariantName": "v", "ModelName": name, "InstanceType": instance_type, "InitialInstanceCount": count}
    sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig={"Delay": 1})


def put_weights(cloud: LocalCloud, folder: str, files: dict[str, bytes]) -> dict[str, Any]:
    """Put files below s3://<bucket>/<folder>/, and return the section `model` that names them."""
    s3 = cloud.client("s3", region=REGION)
    for path, body in files.items():
        s3.put_object(Bucket=BUCKET, Key=f"{folder}/{path}", Body=body)
    return {"id": "Qwen/Qwen3-4B", "weights": f"s3://{BUCKET}/{folder}/"}


LEGAL = {f"legal/{path}": body for path, body in adapter_files().items()}


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no objects; copy the adapter there, and run `slipway stage asked`."),
        ({"legal/adapter_config.json": b"{}"}, "lacks adapter_model.safetensors of a LoRA adapter"),
        (LEGAL, "/legal.tar.gz, which SageMaker loads, is missing; run `slipway stage asked`."),
        (LEGAL | {"legal.tar.gz": b"packed"}, None),
    ],
)
def test_an_adapter_must_lie_in_the_bucket_with_its_archive(
    check: Checker, bare_cloud: LocalCloud, files: dict[str, bytes], said: str | None
) -> None:
    folder = check.folder.name  # of this test alone
    put_weights(bare_cloud, folder, files)
    model = {"id": "Qwen/Qwen3-4B", "adapters": {"legal": f"s3://{BUCKET}/{folder}/legal/"}}
    asked = check(model=model)
    if said is None:
        assert "adapters-in-bucket" in asked.passed
    else:
        found = asked.of("adapters-in-bucket")
        assert (found.field, found.level) == ("model.adapters.legal", "error")
        assert said in found.named("asked").message


@pytest.mark.usefixtures("prepared")
class TestAPreparedAccount:
    def test_has_no_findings(self, check: Checker, bare_cloud: LocalCloud) -> None:
        asked = check(model=put_weights(bare_cloud, "whole", WHOLE))
        assert asked.report.verdict == "ready", asked.report.findings
        checks = {"service-quota", "image-in-registry", "weights-in-bucket", "cloudwatch-role", "function-concurrency"}
        assert checks <= set(asked.passed)
        assert asked.report.not_checked == []

    def test_skips_checks_that_do_not_concern_the_deployment(self, check: Checker) -> None:
        asked = check(api={"access_logs": False})
        assert not {"weights-in-bucket", "cloudwatch-role", "gateway-timeout"} & set(asked.passed)

    def test_is_only_read(self, check: Checker, bare_cloud: LocalCloud) -> None:
        actions = [
            *(f"servicequotas:{name}" for name in ("ListServiceQuotas", "ListAWSDefaultServiceQuotas")),
            *(f"sagemaker:{name}" for name in ("ListEndpoints", "DescribeEndpoint", "DescribeEndpointConfig")),
            *("sts:GetCallerIdentity", "ecr:BatchGetImage", "apigateway:GET", "ssm:GetParameter", "iam:GetRole"),
            *("lambda:GetAccountSettings", "servicequotas:GetServiceQuota"),
            *("s3:GetBucketLocation", "s3:ListBucket", "s3:GetObject"),
        ]
        reader = bare_cloud.create_user("reader", [statement(actions)])
        request_timeout(bare_cloud, 60)
        hosting = {"instance_type": TYPE, "instance_count": {"min": 1, "max": 2}}
        model, api = put_weights(bare_cloud, "read", WHOLE), {"timeout_in_seconds": 60}
        asked = check(model=model, hosting=hosting, api=api, caller=reader)
        assert asked.report.verdict == "ready", asked.report.findings
        assert not [finding for finding in asked.report.findings if finding.level == "unknown"]

    def test_lacks_an_image_that_the_registry_does_not_have(self, check: Checker) -> None:
        asked = check(serving={"engine": "tgi"})
        found = asked.of("image-in-registry")
        assert (asked.report.verdict, found.level, found.field) == ("refused", "error", "serving.version")
        assert f"in {REGION} has no huggingface-pytorch-tgi-inference" in found.message

    def test_lacks_a_tag_of_a_repository_that_it_has(self, check: Checker) -> None:
        older = next(label for label in engine("lmi-vllm").versions if label != VERSION.label)
        assert asked_level(check(serving={"version": older}), "image-in-registry") == "error"

    def test_has_an_own_image_when_it_was_pushed(self, check: Checker, bare_cloud: LocalCloud) -> None:
        ecr = bare_cloud.client("ecr", region=REGION)
        ecr.create_repository(repositoryName="team/own")
        ecr.put_image(repositoryName="team/own", imageManifest="{}", imageTag="1-cu130")
        uri = "${AWS::AccountId}.dkr.ecr.${AWS::Region}.amazonaws.com/team/own:"
        assert "image-in-registry" in check(serving={"image_uri": f"{uri}1-cu130"}).passed
        found = check(serving={"image_uri": f"{uri}2-cu130"}).of("image-in-registry")
        assert (found.level, found.field) == ("error", "serving.image_uri")
        assert f"account {ACCOUNT} in {REGION} has no team/own 2-cu130" in found.message
        untagged = check(serving={"image_uri": uri.removesuffix(":")}).of("image-in-registry")
        assert f"account {ACCOUNT} in {REGION} has no team/own latest" in untagged.message


def asked_level(asked: Asked, rule: str) -> str:
    return str(asked.of(rule).level)


@pytest.mark.usefixtures("prepared")
class TestQuota:
    def test_of_none_refuses(self, check: Checker) -> None:
        found = check(hosting={"instance_type": "ml.g5.48xlarge"}).of("service-quota")
        assert found.level == "error"
        assert f"the account {ACCOUNT} may run 0 for endpoints in {REGION}" in found.message
        assert "ask Service Quotas for 2 of 'ml.g5.48xlarge for endpoint usage'" in found.message

    def test_of_one_lets_it_start_and_no_update(self, check: Checker) -> None:
        asked = check(hosting={"instance_type": "ml.g5.24xlarge"})
        assert asked_level(asked, "service-quota") == "warning"
        assert "an update needs old and new side by side and would fail" in asked.of("service-quota").message

    def test_ends_scaling(self, check: Checker) -> None:
        hosting = {"instance_type": TYPE, "instance_count": {"min": 1, "max": 3}}
        found = check(hosting=hosting).of("service-quota")
        assert (found.level, "scaling would stop at 2 of 3" in found.message) == ("warning", True)
        assert f"6 of '{TYPE} for endpoint usage'" in found.message

    def test_of_one_type_of_a_pool_is_enough_to_start(self, check: Checker) -> None:
        hosting = {"instance_type": ["ml.g5.48xlarge", "ml.g6.48xlarge"]}
        assert check(hosting=hosting).report.verdict == "refused"
        hosting = {"instance_type": ["ml.g6.48xlarge", "ml.g6.2xlarge"]}
        serving = {"tensor_parallel_degree": 1}
        assert asked_level(check(hosting=hosting, serving=serving), "service-quota") == "warning"

    def test_that_is_not_listed_is_unknown(self, check: Checker) -> None:
        assert asked_level(check(hosting={"instance_type": "ml.g5.16xlarge"}), "service-quota") == "unknown"

    def test_is_shared_with_other_endpoints_and_not_with_our_own(self, check: Checker, bare_cloud: LocalCloud) -> None:
        start_endpoint(bare_cloud, "mine-1a2b3c4d", "ml.g6e.xlarge", 1)
        hosting = {"instance_type": "ml.g6e.xlarge"}
        assert "service-quota" in check(name="mine", hosting=hosting).passed
        found = check(name="another", hosting=hosting).of("service-quota")
        assert "may run 2 for endpoints in eu-north-1, of which other endpoints use 1" in found.message
        assert "3 of 'ml.g6e.xlarge for endpoint usage'" in found.message


MACHINE: dict[str, Any] = {
    "model": {"id": "openai-community/gpt2"},
    "serving": {"engine": "transformers"},
    "hosting": {"mode": "ec2", "instance_type": "c5.xlarge"},
}


@pytest.mark.usefixtures("prepared")
class TestMachines:
    def test_need_vcpus_and_as_many_again_for_an_update(self, check: Checker, bare_cloud: LocalCloud) -> None:
        found = check(**MACHINE).of("service-quota")
        assert (found.level, found.field) == ("warning", "hosting.instance_type")
        assert f"the account {ACCOUNT} may run 5 vCPU of CPU types on EC2 in {REGION}; an update" in found.message
        larger = MACHINE | {"hosting": MACHINE["hosting"] | {"instance_type": "c5.2xlarge"}}
        found = check(**larger).of("service-quota")
        assert (found.level, "the machines need 8; ask Service Quotas for 16" in found.message) == ("error", True)
        quotas = bare_cloud.client("service-quotas", region=REGION)
        quotas.request_service_quota_increase(ServiceCode="ec2", QuotaCode="L-1216C47A", DesiredValue=8)
        assert "service-quota" in check(**MACHINE).passed

    def test_pull_no_image_and_have_a_tender_instead_of_workers(self, check: Checker, bare_cloud: LocalCloud) -> None:
        reserve(bare_cloud, "eu-west-2", left=10)
        asked = check(**MACHINE, in_region="eu-west-2", jobs={"max_waiting": 20})
        assert (
            "up to 22 (20 waiting callers, 1 task of each minute, 1 short call)"
            in asked.of("function-concurrency").message
        )
        assert not {"image-in-registry", "machine-network"} & {
            *asked.passed,
            *(each.rule for each in asked.report.findings),
        }

    def test_need_a_vpc_of_their_own_and_a_key_that_starts_may_use(
        self, check: Checker, bare_cloud: LocalCloud
    ) -> None:
        ec2 = bare_cloud.client("ec2", region="eu-west-1")
        assert {"vpc-quota", "volume-key"} <= set(check(**MACHINE, in_region="eu-west-1").passed)
        for number in range(4):  # and the default one
            ec2.create_vpc(CidrBlock=f"10.{number}.0.0/16")
        found = check(**MACHINE, in_region="eu-west-1").of("vpc-quota")
        assert (found.level, found.field) == ("error", "security.vpc")
        assert f"eu-west-1 of account {ACCOUNT} has 5 of at most 5 already; name an existing VPC" in found.message

    def test_need_subnets_that_lead_out_without_a_public_address(self, check: Checker, bare_cloud: LocalCloud) -> None:
        ec2 = bare_cloud.client("ec2", region=REGION)
        vpc = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
        other = ec2.create_vpc(CidrBlock="10.2.0.0/16")["Vpc"]["VpcId"]
        closed, public, private = (subnet_of(ec2, vpc, number) for number in range(3))
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        route_out(ec2, vpc, public, GatewayId=gateway)
        address = ec2.allocate_address(Domain="vpc")["AllocationId"]
        nat = ec2.create_nat_gateway(SubnetId=public, AllocationId=address)["NatGateway"]["NatGatewayId"]
        route_out(ec2, vpc, private, NatGatewayId=nat)

        def asked_of(vpc_id: str, *subnets: str) -> Asked:
            return check(**MACHINE, security={"vpc": {"vpc_id": vpc_id, "subnet_ids": list(subnets)}})

        assert "machine-network" in asked_of(vpc, private).passed
        found = asked_of(vpc, closed).of("machine-network")
        assert (found.level, found.field) == ("error", "security.vpc.subnet_ids")
        assert f"{closed} has no route to the internet" in found.message
        assert f"{public} leads to an internet gateway" in asked_of(vpc, public).of("machine-network").message
        assert f"{private} is in {vpc}, not in {other}" in asked_of(other, private).of("machine-network").message
        missing = "subnet-0123456789abcdef0"
        assert f"{missing} does not exist in {REGION}" in asked_of(vpc, missing).of("machine-network").message


@pytest.mark.usefixtures("prepared")
class TestContainersInAVpc:
    def test_need_a_way_to_s3(self, check: Checker, bare_cloud: LocalCloud) -> None:
        ec2 = bare_cloud.client("ec2", region=REGION)
        vpc = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
        subnets = [subnet_of(ec2, vpc, number, AvailabilityZone=f"{REGION}{'ab'[number]}") for number in range(2)]
        network = {"vpc": {"vpc_id": vpc, "subnet_ids": subnets}}
        weights = {"id": "Qwen/Qwen3-4B", "weights": f"s3://{BUCKET}/models/"}
        closed = [
            each for each in check(security=network, model=weights).report.findings if each.rule == "service-network"
        ]
        assert {each.level for each in closed} == {"error"}, closed
        assert f"{subnets[0]} has no route to the internet, and no endpoints of s3" in closed[0].message
        tables = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
        s3 = {"ServiceName": f"com.amazonaws.{REGION}.s3", "RouteTableIds": [each["RouteTableId"] for each in tables]}
        ec2.create_vpc_endpoint(VpcId=vpc, VpcEndpointType="Gateway", **s3)
        assert "service-network" in check(security=network, model=weights).passed


def subnet_of(ec2: Any, vpc: str, number: int, **members: str) -> str:
    made = ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.1.{number}.0/24", **members)
    return str(made["Subnet"]["SubnetId"])


def route_out(ec2: Any, vpc: str, subnet: str, **target: str) -> None:
    """Give the subnet its own route table, whose default route has this target."""
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **target)
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)


@pytest.mark.usefixtures("prepared")
class TestFunctions:
    def test_that_may_not_all_run_at_once_are_counted(self, check: Checker, bare_cloud: LocalCloud) -> None:
        # Another function reserves all but ten, which is what a new account may run.
        reserve(bare_cloud, "us-west-1", left=10)
        asked = check(in_region="us-west-1", jobs={"max_waiting": 20, "max_concurrency": 5})
        found = asked.of("function-concurrency")
        assert (found.level, found.field) == ("error", "jobs.max_waiting")
        assert f"account {ACCOUNT} may run 10 functions at once in us-west-1" in found.message
        workers = "5 workers, 1 task of each minute, 1 short call"
        assert f"up to 35 (8 calls of the model, 20 waiting callers, {workers})" in found.message
        assert "or use 3" in found.message
        assert "ask Service Quotas for 1000 'Concurrent executions' of AWS Lambda" in found.message

    def test_that_callers_are_held_in_leave_room_by_default(self, check: Checker, bare_cloud: LocalCloud) -> None:
        reserve(bare_cloud, "ca-central-1", left=10)
        found = check(in_region="ca-central-1").of("function-concurrency")
        assert found.level == "warning", "only calls of the model may be too many"
        assert "4 waiting callers, 4 workers, 1 task of each minute, 1 short call" in found.message

    def test_that_all_may_run_at_once_pass(self, check: Checker, bare_cloud: LocalCloud) -> None:
        reserve(bare_cloud, "us-west-2", left=35)
        jobs = {"max_waiting": 20, "max_concurrency": 5}
        assert "function-concurrency" in check(in_region="us-west-2", jobs=jobs).passed
        assert asked_level(check(in_region="us-west-2", jobs=jobs | {"max_waiting": 21}), "function-concurrency")

    def test_that_are_waited_for_longer_need_a_raised_quota(self, check: Checker, bare_cloud: LocalCloud) -> None:
        bare_region = "ap-northeast-3"
        found = check(in_region=bare_region, api={"timeout_in_seconds": 120}).of("gateway-timeout")
        assert (found.level, found.field) == ("error", "api.timeout_in_seconds")
        assert f"120 is refused in {bare_region} of account {ACCOUNT}, whose quota is 29 s" in found.message
        assert "ask Service Quotas for 120000" in found.message
        request_timeout(bare_cloud, 120, bare_region)
        assert "gateway-timeout" in check(in_region=bare_region, api={"timeout_in_seconds": 120}).passed


def request_timeout(cloud: LocalCloud, seconds: int, region: str = REGION) -> None:
    """Raise API Gateway's quota for the timeout."""
    quotas = cloud.client("service-quotas", region=region)
    wanted = {"QuotaCode": "L-E5AE38E3", "DesiredValue": 1000 * seconds}
    quotas.request_service_quota_increase(ServiceCode="apigateway", **wanted)


def reserve(cloud: LocalCloud, region: str, *, left: int) -> None:
    """Reserve the region's concurrency for one function, except `left`."""
    functions = cloud.client("lambda", region=region)
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = cloud.client("iam", region=region).create_role(RoleName=region, AssumeRolePolicyDocument=document)
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("main.py", "")
    named = {"Runtime": "python3.13", "Role": role["Role"]["Arn"], "Handler": "main.handler"}
    functions.create_function(FunctionName="greedy", Code={"ZipFile": code.getvalue()}, **named)
    limit = functions.get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    functions.put_function_concurrency(FunctionName="greedy", ReservedConcurrentExecutions=limit - left)


@pytest.mark.usefixtures("prepared")
class TestWeights:
    @pytest.mark.parametrize(
        ("files", "level", "said"),
        [
            ({}, "error", "holds no objects"),
            (WHOLE | {"": b""}, "error", "folders"),
            (WHOLE | {"onnx/": b""}, "error", "onnx/ is empty"),
            ({path: WHOLE[path] for path in list(WHOLE)[:2]}, "error", "lacks model-00002-of-00002.safetensors; copy"),
            (WHOLE | {SHARD: WHOLE[SHARD][:-1]}, "error", f"{SHARD} of s3://{BUCKET}/"),
            (WHOLE | {SHARD: b""}, "error", "it has no safetensors header, or is cut; copy all files"),
            (WHOLE | {"config.json": b"<html>Who are you?</html>"}, "error", "is an HTML page"),
            ({f"model/{path}": body for path, body in WHOLE.items()}, "warning", "name s3://"),
            (WHOLE | {"tokenizer.json": b""}, "warning", "tokenizer.json is empty"),
        ],
        ids=lambda value: value if isinstance(value, str) else None,
    )
    def test_that_cannot_be_loaded_are_named(
        self, check: Checker, bare_cloud: LocalCloud, files: dict[str, bytes], level: str, said: str
    ) -> None:
        folder = check.folder.name  # of this test alone
        found = check(model=put_weights(bare_cloud, folder, files)).of("weights-in-bucket")
        assert (found.level, found.field) == (level, "model.weights")
        assert said in found.message

    def test_in_a_format_that_the_engine_does_not_load_are_not_judged(
        self, check: Checker, bare_cloud: LocalCloud
    ) -> None:
        files = WHOLE | {"pytorch_model-00001-of-00002.bin": b"not read"}
        assert "weights-in-bucket" in check(model=put_weights(bare_cloud, "two-formats", files)).passed

    def test_that_may_only_be_listed_may_be_cut(self, check: Checker, bare_cloud: LocalCloud) -> None:
        model = put_weights(bare_cloud, "listed", WHOLE)
        actions = ["s3:ListBucket", "s3:GetBucketLocation"]
        found = check(model=model, caller=bare_cloud.create_user("lister", [statement(actions)]))
        assert found.of("weights-in-bucket").level == "unknown"
        assert "allow s3:GetObject there" in found.of("weights-in-bucket").message

    def test_in_a_bucket_that_is_not_there_are_refused(self, check: Checker) -> None:
        found = check(model={"id": "Qwen/Qwen3-4B", "weights": "s3://nobodys-bucket/a/"}).of("weights-in-bucket")
        assert (found.level, "there is no bucket nobodys-bucket" in found.message) == ("error", True)

    def test_in_another_region_are_refused(self, check: Checker, bare_cloud: LocalCloud) -> None:
        model = put_weights(bare_cloud, "elsewhere", WHOLE)
        found = check(in_region="eu-west-1", model=model).of("weights-in-bucket")
        assert found.level == "error"
        assert f"is in {REGION}, but SageMaker reads from its own region, eu-west-1" in found.message

    def test_that_were_staged_are_compared_with_their_manifest(self, check: Checker, bare_cloud: LocalCloud) -> None:
        model = put_weights(bare_cloud, "staged", WHOLE)
        put_manifest(bare_cloud, "staged", WHOLE, state="completing")
        assert "is not complete" in check(model=model).of("weights-in-bucket").message
        put_manifest(bare_cloud, "staged", WHOLE, state="complete")
        assert "weights-in-bucket" in check(model=model).passed
        put_manifest(bare_cloud, "staged", WHOLE | {"tokenizer.json": b"{}"}, state="complete")
        assert "tokenizer.json is missing" in check(model=model).of("weights-in-bucket").message
        put_manifest(bare_cloud, "staged", WHOLE, state="complete", model="Qwen/Qwen3-8B")
        assert asked_level(check(model=model), "weights-in-bucket") == "warning"


def put_manifest(
    cloud: LocalCloud, folder: str, files: dict[str, bytes], *, state: str, model: str = "Qwen/Qwen3-4B"
) -> None:
    """Put a manifest as `stage` writes it."""
    weights = f"s3://{BUCKET}/{folder}/"
    listed = [
        {"path": path, "size": len(body), "hub_checksum": "git:1", "part_size": 1 << 24, "upload_id": "1"}
        for path, body in files.items()
    ]
    manifest = {"state": state, "model": model, "revision": "main", "commit": "c" * 40, "weights": weights}
    body = json.dumps(manifest | {"files": listed}).encode()
    s3 = cloud.client("s3", region=REGION)
    s3.put_object(Bucket=BUCKET, Key=f".slipway/{folder}/manifest.json", Body=body)


def test_access_logs_need_a_role_of_the_region(check: Checker) -> None:
    found = check(in_region="ap-south-2").of("cloudwatch-role")
    assert (found.level, found.field) == ("error", "api.access_logs")
    assert "deploy slipway-account-settings" in found.message


@pytest.mark.usefixtures("prepared")
def test_an_account_that_is_not_bootstrapped_or_too_old_is_refused(check: Checker, bare_cloud: LocalCloud) -> None:
    bootstrap(bare_cloud, "5")
    found = check().of("bootstrap-version")
    bootstrap(bare_cloud, "30")
    assert (found.level, "has bootstrap version 5, and 6 is needed" in found.message) == ("error", True)
    found = check(in_region="ap-south-2").of("bootstrap-version")
    assert f"npx cdk bootstrap aws://{ACCOUNT}/ap-south-2 -c deployment=asked" in found.message


@pytest.mark.usefixtures("prepared")
def test_scaling_wants_the_service_linked_role(check: Checker, bare_cloud: LocalCloud) -> None:
    hosting = {"instance_type": TYPE, "instance_count": {"min": 1, "max": 2}}
    found = check(hosting=hosting).of("scaling-role")
    assert (found.level, "create-service-linked-role" in found.fix) == ("warning", True)
    iam, name = bare_cloud.client("iam", region=REGION), "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
    iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    asked = check(hosting=hosting)
    iam.delete_role(RoleName=name)
    assert "scaling-role" in asked.passed


def test_missing_permission_is_unknown_and_no_verdict(check: Checker, bare_cloud: LocalCloud) -> None:
    stranger = bare_cloud.create_user("stranger", [statement("sts:GetCallerIdentity")])
    asked = check(model={"id": "Qwen/Qwen3-4B", "weights": f"s3://{BUCKET}/any/"}, caller=stranger)
    assert asked.report.verdict == "not asked"
    for rule in ("bootstrap-version", "service-quota", "image-in-registry", "weights-in-bucket", "cloudwatch-role"):
        found = asked.of(rule)
        assert found.level == "unknown"
        assert found.message.startswith("AWS does not allow")


def test_the_command_asks_the_region_of_the_deployment_and_reports_unknowns(
    check: Checker, bare_cloud: LocalCloud
) -> None:
    stranger = bare_cloud.create_user("stranger", [statement("ecr:BatchGetImage")])
    path = check.write(region="ap-south-2")
    result = check.command(path, caller=stranger)
    assert (result.returncode, result.stderr) == (1, ""), "nothing was pushed there"
    assert "in ap-south-2 has no djl-inference" in " ".join(result.stdout.split())
    assert "AWS does not allow ListServiceQuotas" in " ".join(result.stdout.split())


def test_doctor_ends_with_2_if_aws_could_not_be_asked(check: Checker) -> None:
    wrong = Credentials("AKIAAAAAAAAAAAAAAAAA", "wrong")
    result = check.command(check.write(region=REGION), "--json", caller=wrong)
    report = json.loads(result.stdout)
    assert (result.returncode, result.stderr, report["verdict"]) == (2, "", "not asked")
    (found,) = (finding for finding in report["findings"] if finding["level"] == "unknown")
    assert found["rule"] == "account"
    assert "AWS does not accept the credentials" in found["message"]
    assert len(report["not_checked"]) == 5, "all but weights, scaling and timeout, which the deployment does not have"
    page = check.command(check.write(region=REGION), caller=wrong).stdout
    assert page.startswith(" NOT ASKED  asked: ")
    assert "`doctor` asks AWS" not in page, "it has just tried"
    assert check.command(check.write(region=REGION), "--strict", caller=wrong).returncode == 1


def test_another_region_than_the_deployments_is_wrong_use(check: Checker) -> None:
    result = check.command(check.write(region=REGION), "--region", "eu-west-1", caller=check.cloud.deployer)
    assert result.returncode == 2
    assert f"asked is made for {REGION}" in result.stderr


DOMAIN = "llm.example.com"


class TestTheFrontDoorOfAnApi:
    def test_needs_vpc_endpoints_that_lead_to_it(self, check: Checker, bare_cloud: LocalCloud) -> None:
        ec2 = bare_cloud.client("ec2", region=REGION)
        vpc = ec2.create_vpc(CidrBlock="10.3.0.0/16")["Vpc"]["VpcId"]
        right, wrong = (
            ec2.create_vpc_endpoint(
                VpcId=vpc, ServiceName=f"com.amazonaws.{REGION}.{service}", VpcEndpointType="Interface"
            )["VpcEndpoint"]["VpcEndpointId"]
            for service in ("execute-api", "sqs")
        )

        def asked_of(*ids: str) -> Asked:
            return check(api={"private": {"vpc_endpoint_ids": list(ids)}})

        assert "vpc-endpoints" in asked_of(right).passed
        found = asked_of(right, wrong).of("vpc-endpoints")
        assert (found.level, found.field) == ("error", "api.private.vpc_endpoint_ids")
        assert f"{wrong} leads to com.amazonaws.{REGION}.sqs, not to execute-api" in found.message
        assert f"vpce-0123abcd does not exist in {REGION}" in asked_of("vpce-0123abcd").of("vpc-endpoints").message

    def test_needs_a_certificate_for_its_domain(self, check: Checker, bare_cloud: LocalCloud) -> None:
        acm = bare_cloud.client("acm", region=REGION)

        def asked_of(arn: str) -> Asked:
            return check(api={"domain": {"name": DOMAIN, "certificate_arn": arn}})

        for name in (DOMAIN, "*.example.com"):
            assert "certificate" in asked_of(acm.request_certificate(DomainName=name)["CertificateArn"]).passed
        other = acm.request_certificate(DomainName="*.llm.example.com")["CertificateArn"]
        assert "covers *.llm.example.com, not llm.example.com" in asked_of(other).of("certificate").message
        missing = f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"
        assert f"does not exist in {REGION}" in asked_of(missing).of("certificate").message
        elsewhere = asked_of(missing.replace(REGION, "us-east-1")).of("certificate")
        assert "is in us-east-1 of account" in elsewhere.message

    def test_needs_the_zone_of_its_record(self, check: Checker, bare_cloud: LocalCloud) -> None:
        route53 = bare_cloud.client("route53", region=REGION)
        made = route53.create_hosted_zone(Name="example.com", CallerReference="asked")["HostedZone"]["Id"]
        arn = f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/0b1c2d3e"

        def asked_of(zone: str, name: str) -> Asked:
            return check(api={"domain": {"name": DOMAIN, "certificate_arn": arn, "zone": {"id": zone, "name": name}}})

        zone = made.rpartition("/")[2]
        assert "hosted-zone" in asked_of(zone, "example.com").passed
        assert "use example.com" in asked_of(zone, DOMAIN).of("hosted-zone").message
        assert "Z0NONE is no zone of account" in asked_of("Z0NONE", "example.com").of("hosted-zone").message

    def test_needs_the_web_acl_that_it_names(self, check: Checker, bare_cloud: LocalCloud) -> None:
        visible = {"SampledRequestsEnabled": False, "CloudWatchMetricsEnabled": False, "MetricName": "all"}
        made = bare_cloud.client("wafv2", region=REGION).create_web_acl(
            Name="common", Scope="REGIONAL", DefaultAction={"Allow": {}}, VisibilityConfig=visible
        )["Summary"]["ARN"]
        assert "web-acl" in check(api={"waf_acl_arn": made}).passed
        missing = f"{made.rpartition('/')[0]}/0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"
        assert f"does not exist in {REGION}" in check(api={"waf_acl_arn": missing}).of("web-acl").message
