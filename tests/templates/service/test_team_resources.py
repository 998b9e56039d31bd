"""What a team passes to `LlmService`: network, keys, topic, log bucket, boundary, domain."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.model import Deployment
from llm_hosting.service.team_resources import TeamResources
from local_cloud.checks import lint
from slipway import LlmService
from support.templates.services import ON_MACHINES, REALTIME, SLEEPING, an_app, asynchronous, synthesized
from support.templates.template_parts import Template, all_of, only, properties

CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/1"
TOPIC = "arn:aws:sns:us-east-1:111122223333:ops"


class Team(cdk.Stack):
    """The stack of what a team already has. A service of another stack uses it."""

    def __init__(self, scope: cdk.App, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.vpc = ec2.Vpc(self, "Vpc", max_azs=2, restrict_default_security_group=False)
        self.key = kms.Key(self, "Key", enable_key_rotation=True)
        self.topic = sns.Topic(self, "Topic", enforce_ssl=True)
        self.logs = s3.Bucket(self, "Logs", enforce_ssl=True)
        self.boundary = iam.ManagedPolicy.from_managed_policy_name(self, "Boundary", "team-boundary")
        self.domain = apigateway.DomainName(
            self,
            "Domain",
            domain_name="llm.example.com",
            certificate=acm.Certificate.from_certificate_arn(self, "Certificate", CERTIFICATE),
        )
        for part, findings in (
            (self.vpc, ["VPC7"]),
            (self.logs, ["S1"]),
        ):
            cdk.Validations.of(part).acknowledge(
                *(cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{each}", reason="the team's") for each in findings)
            )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Template]:
    def fill(app: cdk.App) -> None:
        team = Team(app, "team")
        everything: dict[str, Any] = {
            "vpc": team.vpc,
            "data_key": team.key,
            "log_key": team.key,
            "log_bucket": team.logs,
            "alarm_topic": team.topic,
            "paging_topic": team.topic,
            "permissions_boundary": team.boundary,
            "domain": team.domain,
        }
        deployments: dict[str, Path | Deployment] = {
            "chat": asynchronous(),
            "now": REALTIME,
            "zero": SLEEPING,
            "ec2": ON_MACHINES,
        }
        for name, deployment in deployments.items():
            stack = cdk.Stack(app, f"team-{name}")
            service = LlmService(stack, "Default", deployment=deployment, base_path=name, **everything)
            cdk.CfnOutput(stack, "ServiceUrl", value=service.url)

    return synthesized(tmp_path_factory.mktemp("team"), fill)


@pytest.fixture(scope="module", params=["team-chat", "team-now", "team-zero", "team-ec2"])
def template(request: pytest.FixtureRequest, made: dict[str, Template]) -> Template:
    return made[request.param]


def test_the_data_key_encrypts_all_that_takes_a_key(template: Template) -> None:
    (table,) = all_of(template, "DynamoDB::Table")
    assert table["SSESpecification"]["SSEType"] == "KMS"
    (rule,) = properties(template, "S3::Bucket")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    for kind, key in (
        ("SQS::Queue", "KmsMasterKeyId"),
        ("SNS::Topic", "KmsMasterKeyId"),
        ("Lambda::Function", "KmsKeyArn"),
    ):
        assert [each for each in all_of(template, kind) if key not in each] == []


def test_the_key_of_the_logs_encrypts_every_log_group(template: Template, made: dict[str, Template]) -> None:
    assert [each for each in all_of(template, "Logs::LogGroup") if "KmsKeyId" not in each] == []
    allowed = json.dumps(properties(made["team"], "KMS::Key")["KeyPolicy"])
    assert '"logs."' in allowed
    assert allowed.count("kms:EncryptionContext:aws:logs:arn") == 1, "one statement for all services"


def test_who_uses_the_data_may_use_the_key(template: Template) -> None:
    users = {"dynamodb:", "s3:GetObject", "s3:PutObject", "sqs:"}
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::IAM::Policy" and "Artefacts" not in name:
            said = json.dumps(resource["Properties"]["PolicyDocument"])
            if "Key" in name or any(each in said for each in users):
                assert "kms:Decrypt" in said, name


def test_sns_may_put_messages_into_the_encrypted_queue(made: dict[str, Template]) -> None:
    statements = properties(made["team"], "KMS::Key")["KeyPolicy"]["Statement"]
    (allowed,) = [each for each in statements if each["Principal"] == {"Service": "sns.amazonaws.com"}]
    assert allowed["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]


def test_an_endpoint_with_a_volume_encrypts_it_with_the_data_key(made: dict[str, Template]) -> None:
    # ml.g5 and ml.g6 have disks of their own, for which SageMaker takes no key.
    assert "KmsKeyId" not in properties(made["team-now"], "SageMaker::EndpointConfig")
    output = properties(made["team-chat"], "SageMaker::EndpointConfig")["AsyncInferenceConfig"]["OutputConfig"]
    assert "KmsKeyId" in output
    launch = properties(made["team-ec2"], "EC2::LaunchTemplate")["LaunchTemplateData"]
    assert "KmsKeyId" in launch["BlockDeviceMappings"][0]["Ebs"]


def test_containers_and_machines_are_in_private_subnets_of_the_vpc(made: dict[str, Template]) -> None:
    for name in ("team-now", "team-chat"):
        network = properties(made[name], "SageMaker::Model")["VpcConfig"]
        assert len(network["Subnets"]) == 2
        assert "PrivateSubnet" in json.dumps(network["Subnets"])
    asleep = made["team-zero"]
    networks = [properties(asleep, kind)["VpcConfig"] for kind in ("SageMaker::Model", "SageMaker::EndpointConfig")]
    assert networks[0] == networks[1], "without a model the configuration names the network, too"
    (interface,) = properties(made["team-ec2"], "EC2::LaunchTemplate")["LaunchTemplateData"]["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is False
    assert all_of(made["team-ec2"], "EC2::VPC") == []


def test_alarms_notify_the_topic(template: Template) -> None:
    told = [each for each in all_of(template, "CloudWatch::Alarm") if each.get("OKActions")]
    assert told
    assert all("Topic" in json.dumps(each["AlarmActions"]) for each in told)


def test_the_log_bucket_gets_the_access_logs_of_the_job_bucket(template: Template, made: dict[str, Template]) -> None:
    logging = properties(template, "S3::Bucket")["LoggingConfiguration"]
    assert logging["LogFilePrefix"] == {"Fn::Join": ["", [{"Ref": "AWS::StackName"}, "/"]]}
    assert "logging.s3.amazonaws.com" in json.dumps(properties(made["team"], "S3::BucketPolicy"))


def test_every_role_has_the_boundary(template: Template) -> None:
    assert [each for each in all_of(template, "IAM::Role") if "PermissionsBoundary" not in each] == []


def test_the_domain_serves_the_api_below_its_path(made: dict[str, Template]) -> None:
    assert properties(made["team-now"], "ApiGateway::BasePathMapping")["BasePath"] == "now"
    url = json.dumps(made["team-now"]["Outputs"]["ServiceUrl"])
    assert '"https://"' in url
    assert '"/now/"' in url


def test_cfn_lint_is_silent(made: dict[str, Template], tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.json" for name in made if name != "team"]
    for path in paths:
        path.write_text(json.dumps(made[path.stem]))
    lint(paths, ["us-east-1"])


def test_nothing_of_it_is_there_by_default(templates: dict[str, Template]) -> None:
    assert "VpcConfig" not in properties(templates["gpt2"], "SageMaker::Model")
    assert "LoggingConfiguration" not in only(templates["gpt2"], "S3::Bucket")["Properties"]
    assert "KMS" not in json.dumps(properties(templates["gpt2"], "DynamoDB::Table"))


VPC = {"vpc_id": "vpc-0a1b2c3d4e5f60718", "subnet_ids": ["subnet-0a1b2c3d4e5f60718"]}
MACHINES = {
    "model": {"id": "gpt2"},
    "serving": {"engine": "transformers"},
    "hosting": {"mode": "ec2", "instance_type": "c5.xlarge"},
}


def test_what_contradicts_the_deployment_is_refused_in_one_message(tmp_path: Path) -> None:
    app = an_app(tmp_path)
    team = Team(app, "team")
    stack = cdk.Stack(app, "Services", env=cdk.Environment(region="eu-west-1"))
    deployment = asynchronous(region="us-east-1", alarms={"topic_arn": TOPIC})
    with pytest.raises(DeploymentError) as refused:
        LlmService(
            stack, "Chat", deployment=deployment, alarm_topic=team.topic, subnets=ec2.SubnetSelection(), base_path="/x"
        )
    assert refused.value.problems == [
        "region: us-east-1 is not the stack's eu-west-1; remove it, or move the stack.",
        "alarm_topic: the deployment has alarms.topic_arn, too; remove one of the two.",
        "subnets: are those of a VPC; pass vpc, too.",
        "base_path: is a path of a domain; pass domain, too, or set api.domain.",
        "base_path: '/x' begins or ends with a slash; write it without.",
    ]


@pytest.mark.parametrize("argument", [each.name for each in fields(TeamResources)])
def test_another_kind_of_object_is_named_with_an_example(tmp_path: Path, argument: str) -> None:
    stack = cdk.Stack(an_app(tmp_path), "Services")
    given: Any = {argument: ["vpc-1"]}
    with pytest.raises(DeploymentError, match=rf"{argument}: \['vpc-1'\] is another kind of object; pass \w+"):
        LlmService(stack, "Chat", deployment=asynchronous(), **given)


def test_objects_of_another_region_are_refused(tmp_path: Path) -> None:
    stack = cdk.Stack(an_app(tmp_path), "Services", env=cdk.Environment(account="111122223333", region="eu-west-1"))
    key = kms.Key.from_key_arn(stack, "Key", "arn:aws:kms:us-east-1:111122223333:key/1")
    topic = sns.Topic.from_topic_arn(stack, "Topic", TOPIC)
    given: dict[str, Any] = {"data_key": key, "log_key": key, "alarm_topic": topic, "paging_topic": topic}
    with pytest.raises(DeploymentError) as refused:
        LlmService(stack, "Chat", deployment=asynchronous(), **given)
    assert refused.value.problems == [
        f"{name}: is in us-east-1, but the stack is in eu-west-1; pass one of the stack's region."
        for name in ("data_key", "log_key", "alarm_topic", "paging_topic")
    ]


def test_a_budget_tells_the_topic_of_the_file_or_of_the_team(tmp_path: Path) -> None:
    def fill(app: cdk.App) -> None:
        topic = sns.Topic.from_topic_arn(cdk.Stack(app, "Elsewhere"), "Topic", TOPIC)
        budget = {"operations": {"monthly_budget_in_usd": 900}}
        LlmService(cdk.Stack(app, "of-team"), "Default", deployment=asynchronous(**budget), alarm_topic=topic)
        LlmService(cdk.Stack(app, "of-file"), "Default", deployment=asynchronous(**budget, alarms={"topic_arn": TOPIC}))

    made = synthesized(tmp_path, fill)
    for name in ("of-team", "of-file"):
        budget = only(made[name], "Budgets::Budget")
        assert budget["Properties"]["Budget"] == {
            "BudgetLimit": {"Amount": 900, "Unit": "USD"},
            "BudgetType": "COST",
            "CostFilters": {
                "TagKeyValue": [{"Fn::Join": ["", ["user:slipway:deployment$", {"Ref": "AWS::StackName"}]]}]
            },
            "TimeUnit": "MONTHLY",
        }
        told = budget["Properties"]["NotificationsWithSubscribers"]
        assert [(each["Notification"]["NotificationType"], each["Notification"]["Threshold"]) for each in told] == [
            ("ACTUAL", 80),
            ("ACTUAL", 100),
            ("FORECASTED", 100),
        ]
        assert {each["Address"] for one in told for each in one["Subscribers"]} == {TOPIC}


def test_a_budget_that_tells_nobody_is_refused(tmp_path: Path) -> None:
    deployment = asynchronous(operations={"monthly_budget_in_usd": 900})
    with pytest.raises(
        DeploymentError, match=r"tells nobody without a topic; set alarms\.topic_arn, or pass alarm_topic"
    ):
        LlmService(cdk.Stack(an_app(tmp_path), "Services"), "Chat", deployment=deployment)


def test_an_alias_is_not_taken_for_its_key(tmp_path: Path) -> None:
    stack = cdk.Stack(an_app(tmp_path), "Services")
    with pytest.raises(DeploymentError, match="data_key: is an alias, which IAM does not take for its key"):
        LlmService(
            stack, "Chat", deployment=asynchronous(), data_key=kms.Alias.from_alias_name(stack, "Alias", "alias/team")
        )


def test_containers_that_load_from_the_hub_need_private_subnets(tmp_path: Path) -> None:
    stack = cdk.Stack(an_app(tmp_path), "Services")
    vpc = ec2.Vpc(stack, "Vpc", nat_gateways=0)
    public = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    with pytest.raises(DeploymentError, match="subnets: some are public"):
        LlmService(stack, "Chat", deployment=asynchronous(), vpc=vpc, subnets=public)
    with pytest.raises(DeploymentError, match=r"vpc: There are no 'Private' subnet groups in this VPC.*; pass subnets"):
        LlmService(stack, "Jobs", deployment=asynchronous(), vpc=vpc)


def test_two_networks_are_refused(tmp_path: Path) -> None:
    app = an_app(tmp_path)
    deployment = Deployment.model_validate(MACHINES | {"security": {"vpc": VPC}})
    with pytest.raises(DeploymentError, match=r"vpc: the deployment has security.vpc, too"):
        LlmService(cdk.Stack(app, "Services"), "Chat", deployment=deployment, vpc=Team(app, "team").vpc)


def test_a_log_bucket_needs_a_job_bucket(tmp_path: Path) -> None:
    app = an_app(tmp_path)
    with pytest.raises(DeploymentError, match="log_bucket: without jobs there is no bucket"):
        LlmService(
            cdk.Stack(app, "Services"),
            "Chat",
            deployment=Path("tests/deployments/jobs-off.yaml"),
            log_bucket=Team(app, "team").logs,
        )


def test_a_domain_is_named_once_and_leads_to_no_private_api(tmp_path: Path) -> None:
    app = an_app(tmp_path)
    team, stack = Team(app, "team"), cdk.Stack(app, "Services")
    own = {"name": "a.example.com", "certificate_arn": "arn:aws:acm:us-east-1:111122223333:certificate/0b1c2d3e"}
    with pytest.raises(DeploymentError, match=r"domain: the deployment has api.domain, too; remove one of the two"):
        LlmService(stack, "Chat", deployment=asynchronous(api={"domain": own}), domain=team.domain)
    private = {"private": {"vpc_endpoint_ids": ["vpce-0a1b2c3d4e5f60718"]}}
    with pytest.raises(DeploymentError, match=r"domain: is a public domain, which can't lead to a private API"):
        LlmService(stack, "Jobs", deployment=asynchronous(api=private), domain=team.domain)
