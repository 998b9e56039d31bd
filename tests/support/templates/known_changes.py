"""Small updates with a known meaning: the templates before and after, and the kinds of change that they must be.

Replacements follow the resource schemas ("Update requires" in the template reference). A comment names any other source.
"""

# ruff: noqa: E501  one row, one line

import json
from dataclasses import dataclass
from typing import Any

Template = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """One update. `meaning`: "<logical id> <kind>" of every change; `nothing` only if no other kind applies."""

    name: str
    before: Template
    after: Template
    meaning: set[str]


def of(**resources: dict[str, Any]) -> Template:
    """Return a template with these resources."""
    return {"Resources": resources}


def a(kind: str, properties: dict[str, Any] | None = None, **attributes: Any) -> dict[str, Any]:
    """Return a resource; its type is given without `AWS::`."""
    return {"Type": f"AWS::{kind}", "Properties": properties or {}, **attributes}


def one(name: str, kind: str, before: dict[str, Any], after: dict[str, Any], *kinds: str, **attributes: Any) -> Known:
    """Return an update that changes the properties of one resource, R."""
    return Known(
        name, of(R=a(kind, before, **attributes)), of(R=a(kind, after, **attributes)), {f"R {each}" for each in kinds}
    )


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def allow(action: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def role(*statements: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """Return a role with an inline policy."""
    inline = [{"PolicyName": "p", "PolicyDocument": policy(*statements)}] if statements else []
    return a("IAM::Role", {"AssumeRolePolicyDocument": TRUST, "Policies": inline, **properties})


def granted(name: str, before: list[dict[str, Any]], after: list[dict[str, Any]], *kinds: str) -> Known:
    """Return an update that changes the statements of a role, R."""
    return Known(name, of(R=role(*before)), of(R=role(*after)), {f"R {each}" for each in kinds})


TRUST = policy({"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"})
OPEN = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}
SCHEMA = [{"AttributeName": "id", "KeyType": "HASH"}]
TABLE = {"KeySchema": SCHEMA}
ENCRYPTED = {"ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
ALL_BLOCKED = {
    "BlockPublicAcls": True,
    "BlockPublicPolicy": True,
    "IgnorePublicAcls": True,
    "RestrictPublicBuckets": True,
}
READ = allow("s3:GetObject", "arn:aws:s3:::b/*")
NOTHING = "nothing"


def variant(**settings: Any) -> dict[str, Any]:
    return {"ProductionVariants": [{"VariantName": "v", "ModelName": "m", "InitialInstanceCount": 1, **settings}]}


def endpoint(instance_type: str, most: int = 1, *, asynchronous: bool = False, **properties: Any) -> Template:
    """Return an endpoint and its configuration. `most`: the largest number of instances, if it scales."""
    properties = {
        "EndpointName": "e",
        "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
        **properties,
    }
    target = {"ResourceId": "endpoint/e/variant/v", "MinCapacity": 1, "MaxCapacity": most}
    output: dict[str, Any] = {"AsyncInferenceConfig": {"OutputConfig": {}}} if asynchronous else {}
    resources = of(
        Config=a("SageMaker::EndpointConfig", variant(InstanceType=instance_type) | output),
        Endpoint=a("SageMaker::Endpoint", properties),
        Target=a("ApplicationAutoScaling::ScalableTarget", target),
    )
    return (
        resources
        if most > 1
        else of(**{name: each for name, each in resources["Resources"].items() if name != "Target"})
    )


def expiring(**rule: Any) -> dict[str, Any]:
    """Return a bucket whose objects expire."""
    return {"LifecycleConfiguration": {"Rules": [{"Status": "Enabled", **rule}]}}


def with_parameter(value: str, use: dict[str, Any]) -> Template:
    return {"Parameters": {"P": {"Type": "String", "Default": value}}, **of(R=use)}


def with_condition(value: str, resource: dict[str, Any]) -> Template:
    condition = {"On": {"Fn::Equals": [{"Ref": "P"}, "yes"]}}
    return {**with_parameter(value, {**resource, "Condition": "On"}), "Conditions": condition}


REPLACEMENT = [
    one("a table's name", "DynamoDB::Table", TABLE | {"TableName": "a"}, TABLE | {"TableName": "b"}, "replaced", "data-loss"),
    one("a table's keys may replace it", "DynamoDB::Table", TABLE, {"KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}]}, "may-be-replaced", "data-loss"),
    one("a table's billing", "DynamoDB::Table", TABLE, TABLE | {"BillingMode": "PAY_PER_REQUEST"}, NOTHING),
    one("a bucket's name", "S3::Bucket", {"BucketName": "a"}, {"BucketName": "b"}, "replaced", "data-loss"),
    one("a retained bucket's name", "S3::Bucket", {"BucketName": "a"}, {"BucketName": "b"}, "replaced", UpdateReplacePolicy="Retain"),
    one("a bucket's encryption", "S3::Bucket", {}, {"BucketEncryption": ENCRYPTED}, NOTHING),
    one("a queue becomes FIFO", "SQS::Queue", {}, {"FifoQueue": True}, "replaced", "data-loss"),
    one("a queue's patience", "SQS::Queue", {"VisibilityTimeout": 30}, {"VisibilityTimeout": 60}, NOTHING),
    one("a function's memory", "Lambda::Function", {"MemorySize": 128}, {"MemorySize": 256}, NOTHING),
    one("a function's code", "Lambda::Function", {"Code": {"S3Key": "a"}}, {"Code": {"S3Key": "b"}}, NOTHING),
    one("a function's name", "Lambda::Function", {"FunctionName": "a"}, {"FunctionName": "b"}, "replaced"),
    one("a function's package under a fixed name", "Lambda::Function", {"FunctionName": "a", "PackageType": "Zip"}, {"FunctionName": "a", "PackageType": "Image"}, "replaced", "refused"),
    one("a version's function", "Lambda::Version", {"FunctionName": "a"}, {"FunctionName": "b"}, "replaced"),
    one("an instance's image", "EC2::Instance", {"ImageId": "ami-1"}, {"ImageId": "ami-2"}, "replaced"),
    one("an instance's type", "EC2::Instance", {"InstanceType": "g6.xlarge"}, {"InstanceType": "g6.4xlarge"}, "may-be-replaced", "interruption", "price"),
    one("a key's policy id", "KMS::Key", {"KeyPolicy": policy(READ)}, {"KeyPolicy": {**policy(READ), "Id": "x"}}),
    one("a log group's class", "Logs::LogGroup", {"LogGroupName": "a"}, {"LogGroupName": "b"}, "replaced", "data-loss"),
    one("a model", "SageMaker::Model", {"PrimaryContainer": {"Image": "a"}}, {"PrimaryContainer": {"Image": "b"}}, "replaced"),
    one("a method of an API", "ApiGateway::Method", {"HttpMethod": "GET", "AuthorizationType": "AWS_IAM"}, {"HttpMethod": "PUT", "AuthorizationType": "AWS_IAM"}, "replaced", "callers-refused"),
    # a local index belongs to the table's creation: template reference, LocalSecondaryIndex ("Updates are not supported")
    one("a local index of a table", "DynamoDB::Table", TABLE, TABLE | {"LocalSecondaryIndexes": [{"IndexName": "i", "KeySchema": SCHEMA}]}, "refused"),
    one("a group's name of another network", "EC2::SecurityGroup", {"GroupName": "n", "GroupDescription": "d", "VpcId": "a"}, {"GroupName": "n", "GroupDescription": "d", "VpcId": "b"}, "replaced"),
    one("a group's description under a fixed name", "EC2::SecurityGroup", {"GroupName": "n", "GroupDescription": "d"}, {"GroupName": "n", "GroupDescription": "e"}, "replaced", "refused"),
    one("a name that only AWS knows", "SNS::Topic", {"TopicName": "a"}, {"TopicName": {"Fn::ImportValue": "n"}}, "may-be-replaced"),
    one("a name that AWS cannot know", "SNS::Topic", {"TopicName": "a"}, {"TopicName": {"Fn::Sub": "b-${AWS::StackName}"}}, "replaced"),
    one("a property that the type does not have", "SQS::Queue", {"Colour": "red"}, {"Colour": "blue"}, "unknown"),
]  # fmt: skip

SPREADING = [
    Known("a new configuration updates the endpoint", endpoint("ml.g5.xlarge"), endpoint("ml.g5.2xlarge"), {"Config replaced", "Config price", "Endpoint new-instances"}),
    Known("a scaled endpoint's type", endpoint("ml.g5.xlarge", most=4), endpoint("ml.g5.2xlarge", most=4), {"Config replaced", "Config price", "Endpoint refused", "Endpoint price"}),
    Known("a scaled endpoint's type, and its scaling goes", endpoint("ml.g5.xlarge", most=4), endpoint("ml.g5.2xlarge"), {"Config replaced", "Config price", "Endpoint refused", "Endpoint price", "Target removed"}),
    Known("an endpoint's type, and it is scaled from now on", endpoint("ml.g5.xlarge"), endpoint("ml.g5.2xlarge", most=4), {"Config replaced", "Config price", "Endpoint new-instances", "Endpoint price", "Target added"}),
    Known("how far an endpoint scales", endpoint("ml.g5.xlarge", most=2), endpoint("ml.g5.xlarge", most=4), {"Endpoint price", "Target nothing"}),
    Known("what an update heeds, alone", endpoint("ml.g5.xlarge"), endpoint("ml.g5.xlarge", RetainAllVariantProperties=True), {"Endpoint refused"}),
    Known("a real-time endpoint becomes asynchronous", endpoint("ml.g5.xlarge"), endpoint("ml.g5.xlarge", asynchronous=True), {"Config replaced", "Endpoint refused"}),
    Known(
        "a replaced key replaces the volume that refers to it",
        of(K=a("SNS::Topic", {"TopicName": "a"}), S=a("SNS::Subscription", {"TopicArn": {"Ref": "K"}, "Protocol": "sqs"})),
        of(K=a("SNS::Topic", {"TopicName": "b"}), S=a("SNS::Subscription", {"TopicArn": {"Ref": "K"}, "Protocol": "sqs"})),
        {"K replaced", "S replaced"},
    ),
    Known(
        "a replacement goes over two references",
        of(V=a("EC2::VPC", {"CidrBlock": "10.0.0.0/16"}), S=a("EC2::Subnet", {"VpcId": {"Ref": "V"}}), I=a("EC2::Instance", {"SubnetId": {"Fn::Sub": "${S}"}})),
        of(V=a("EC2::VPC", {"CidrBlock": "10.1.0.0/16"}), S=a("EC2::Subnet", {"VpcId": {"Ref": "V"}}), I=a("EC2::Instance", {"SubnetId": {"Fn::Sub": "${S}"}})),
        {"V replaced", "S replaced", "I replaced"},
    ),
    Known(
        "what may be replaced may replace",
        of(T=a("DynamoDB::Table", TABLE), M=a("Lambda::EventSourceMapping", {"EventSourceArn": {"Fn::GetAtt": "T.StreamArn"}})),
        of(T=a("DynamoDB::Table", {"KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}]}), M=a("Lambda::EventSourceMapping", {"EventSourceArn": {"Fn::GetAtt": "T.StreamArn"}})),
        {"T may-be-replaced", "T data-loss", "M may-be-replaced"},
    ),
    Known(
        "a launch template's new version replaces the instance",
        of(L=a("EC2::LaunchTemplate", {"LaunchTemplateData": {"ImageId": "a"}}), I=a("EC2::Instance", {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "L"}, "Version": {"Fn::GetAtt": ["L", "LatestVersionNumber"]}}})),
        of(L=a("EC2::LaunchTemplate", {"LaunchTemplateData": {"ImageId": "b"}}), I=a("EC2::Instance", {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "L"}, "Version": {"Fn::GetAtt": ["L", "LatestVersionNumber"]}}})),
        {"I replaced"},
    ),
    Known(
        "what a custom resource answers may replace",
        of(C=a("CloudFormation::CustomResource", {"ServiceToken": "t", "A": 1}), V=a("EC2::VPC", {"CidrBlock": {"Fn::GetAtt": "C.Cidr"}})),
        of(C=a("CloudFormation::CustomResource", {"ServiceToken": "t", "A": 2}), V=a("EC2::VPC", {"CidrBlock": {"Fn::GetAtt": "C.Cidr"}})),
        {"C unknown", "V may-be-replaced"},
    ),
    one("a launch template's type", "EC2::LaunchTemplate", {"LaunchTemplateData": {"InstanceType": "g6.xlarge"}}, {"LaunchTemplateData": {"InstanceType": "g6.4xlarge"}}, "price"),
    Known(
        "an update in place changes no reference",
        of(F=a("Lambda::Function", {"MemorySize": 128}), V=a("Lambda::Version", {"FunctionName": {"Ref": "F"}})),
        of(F=a("Lambda::Function", {"MemorySize": 256}), V=a("Lambda::Version", {"FunctionName": {"Ref": "F"}})),
        {"F nothing"},
    ),
]  # fmt: skip


def exporting(name: str) -> Template:
    return {**of(R=BUCKET), "Outputs": {"O": {"Value": "v", "Export": {"Name": name}}}}


BUCKET = a("S3::Bucket", {"Tags": [{"Key": "a", "Value": "b"}]})
THERE = [
    Known("removed", of(R=BUCKET), of(), {"R removed", "R data-loss"}),
    Known("removed and retained", of(R=BUCKET | {"DeletionPolicy": "Retain"}), of(), {"R removed"}),
    Known("removed, retained except on create", of(R=BUCKET | {"DeletionPolicy": "RetainExceptOnCreate"}), of(), {"R removed"}),
    Known("added", of(), of(R=BUCKET), {"R added"}),
    Known("another type", of(R=BUCKET), of(R=a("SQS::Queue")), {"R retyped"}),
    Known("renamed", of(R=BUCKET), of(S=BUCKET), {"R removed", "R data-loss", "S added"}),
    Known("renamed with a name that is taken", of(R=a("S3::Bucket", {"BucketName": "b"})), of(S=a("S3::Bucket", {"BucketName": "b"})), {"R removed", "R data-loss", "S added", "S refused"}),
    Known("renamed, changed, with a name that is taken", of(R=a("SQS::Queue", {"QueueName": "q"})), of(S=a("SQS::Queue", {"QueueName": "q", "DelaySeconds": 3})), {"R removed", "R data-loss", "S added", "S refused"}),
    Known("another has the name", of(R=a("SNS::Topic", {"TopicName": "a"}), S=a("SNS::Topic", {"TopicName": "b"})), of(R=a("SNS::Topic", {"TopicName": "b"})), {"R replaced", "R refused", "S removed"}),
    Known("a policy of the same bucket", of(B=BUCKET, R=a("S3::BucketPolicy", {"Bucket": {"Ref": "B"}, "PolicyDocument": policy()})), of(B=BUCKET, S=a("S3::BucketPolicy", {"Bucket": {"Ref": "B"}, "PolicyDocument": policy()})), {"R removed", "S added", "S refused"}),
    Known("a condition turns it off", with_condition("yes", BUCKET), with_condition("no", BUCKET), {"R removed", "R data-loss"}),
    Known("a condition turns it on", with_condition("no", BUCKET), with_condition("yes", BUCKET), {"R added"}),
    Known("a condition that only AWS knows", of(R=BUCKET), {**of(R=BUCKET | {"Condition": "C"}), "Conditions": {"C": {"Fn::Equals": [{"Ref": "AWS::AccountId"}, "1"]}}}, {"R removed"}),
    Known("an export goes", {**of(R=BUCKET), "Outputs": {"O": {"Value": "v", "Export": {"Name": "n"}}}}, of(R=BUCKET), {"Outputs.O removed"}),
    Known("an export under another name", exporting("n"), exporting("m"), {"Outputs.O removed"}),
    Known("an export of another output", exporting("n"), {**of(R=BUCKET), "Outputs": {"P": {"Value": "v", "Export": {"Name": "n"}}}}, set()),
    Known("an include in place of the properties", of(R=a("SQS::Queue")), of(R=a("SQS::Queue", {"Fn::Transform": {"Name": "AWS::Include"}})), {"R unknown"}),
    Known("a parameter's new value", with_parameter("a", a("S3::Bucket", {"BucketName": {"Ref": "P"}})), with_parameter("b", a("S3::Bucket", {"BucketName": {"Ref": "P"}})), {"R replaced", "R data-loss"}),
    Known("the retention goes", of(R=BUCKET | {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}), of(R=BUCKET), {"R data-loss"}),
    Known("a retention comes", of(R=BUCKET), of(R=BUCKET | {"DeletionPolicy": "Retain"}), {"R nothing"}),
]  # fmt: skip

QUIET = [
    one("tags", "SQS::Queue", {"Tags": [{"Key": "a", "Value": "b"}]}, {"Tags": [{"Key": "a", "Value": "c"}]}, NOTHING),
    Known("metadata", of(R=BUCKET | {"Metadata": {"a": 1}}), of(R=BUCKET | {"Metadata": {"a": 2}}), {"R nothing"}),
    Known("the order of creation", of(R=BUCKET, S=a("SQS::Queue")), of(R=BUCKET | {"DependsOn": "S"}, S=a("SQS::Queue")), {"R nothing"}),
    Known("two dependencies in another order", of(R=BUCKET | {"DependsOn": ["S", "T"]}), of(R=BUCKET | {"DependsOn": ["T", "S"]}), set()),
    Known("a dependency as a list", of(R=BUCKET | {"DependsOn": "S"}), of(R=BUCKET | {"DependsOn": ["S"]}), set()),
    Known("a condition that decides nothing", of(R=a("SQS::Queue", {"DelaySeconds": {"Fn::If": ["C", 3, "3"]}})), of(R=a("SQS::Queue", {"DelaySeconds": 3})), set()),
    one("attributes in another order", "DynamoDB::Table", {"AttributeDefinitions": [{"AttributeName": "a"}, {"AttributeName": "b"}]}, {"AttributeDefinitions": [{"AttributeName": "b"}, {"AttributeName": "a"}]}),
    one("the order of a set", "EC2::Instance", {"SecurityGroupIds": ["a", "b"]}, {"SecurityGroupIds": ["b", "a"]}),
    one("a number as text", "SQS::Queue", {"DelaySeconds": 3, "FifoQueue": True}, {"DelaySeconds": "3", "FifoQueue": "true"}),
    one("Join as Sub", "SQS::Queue", {"QueueName": {"Fn::Join": ["-", [{"Ref": "AWS::StackName"}, "q"]]}}, {"QueueName": {"Fn::Sub": "${AWS::StackName}-q"}}),
    one("the region as text", "SQS::Queue", {"QueueName": {"Fn::Sub": "q-${AWS::Region}"}}, {"QueueName": "q-us-east-1"}),
    one("GetAtt as text", "SQS::Queue", {"KmsMasterKeyId": {"Fn::GetAtt": ["K", "Arn"]}}, {"KmsMasterKeyId": {"Fn::GetAtt": "K.Arn"}}),
    one("a property without a value", "SQS::Queue", {}, {"QueueName": {"Ref": "AWS::NoValue"}}),
    one("no interruption of a function", "Lambda::Function", {"Runtime": "python3.11"}, {"Runtime": "python3.12"}, NOTHING),
]  # fmt: skip

KEPT = [
    one("a shorter retention of logs", "Logs::LogGroup", {"RetentionInDays": 30}, {"RetentionInDays": 7}, "data-loss"),
    one("logs get an end", "Logs::LogGroup", {}, {"RetentionInDays": 7}, "data-loss"),
    one("a longer retention of logs", "Logs::LogGroup", {"RetentionInDays": 7}, {"RetentionInDays": 30}, NOTHING),
    one("a time to live", "DynamoDB::Table", TABLE, TABLE | {"TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True}}, "data-loss"),
    one("no protection against deletion", "DynamoDB::Table", TABLE | {"DeletionProtectionEnabled": True}, TABLE, "data-loss"),
    one("no recovery to a point in time", "DynamoDB::Table", TABLE | {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}, TABLE, "data-loss"),
    one("objects expire earlier", "S3::Bucket", {"LifecycleConfiguration": {"Rules": [{"Status": "Enabled", "ExpirationInDays": 30}]}}, {"LifecycleConfiguration": {"Rules": [{"Status": "Enabled", "ExpirationInDays": 3}]}}, "data-loss"),
    one("fewer objects expire", "S3::Bucket", expiring(ExpirationInDays=7), expiring(ExpirationInDays=7, Prefix="tmp/"), NOTHING),
    one("more objects expire", "S3::Bucket", expiring(ExpirationInDays=7, Prefix="tmp/"), expiring(ExpirationInDays=7), "data-loss"),
    one("objects expire at an earlier date", "S3::Bucket", expiring(ExpirationDate="2030-01-01T00:00:00Z"), expiring(ExpirationDate="2029-01-01T00:00:00Z"), "data-loss"),
    one("versions are no longer kept", "S3::Bucket", {"VersioningConfiguration": {"Status": "Enabled"}}, {"VersioningConfiguration": {"Status": "Suspended"}}, "data-loss"),
    one("a rule is turned off", "Events::Rule", {"State": "ENABLED"}, {"State": "DISABLED"}, "interruption"),
]  # fmt: skip

DENIED = {"Effect": "Deny", "Action": "s3:DeleteBucket", "Resource": "*"}


def profile(*roles: str) -> dict[str, Any]:
    return a("IAM::InstanceProfile", {"Roles": [{"Ref": each} for each in roles]})


def launching(name: str) -> Template:
    """Return a launch template with the instance profile P, or with Q, which may do more."""
    arn = {"IamInstanceProfile": {"Arn": {"Fn::GetAtt": [name, "Arn"]}}}
    template = a("EC2::LaunchTemplate", {"LaunchTemplateData": arn})
    return of(R=role(READ), S=role(allow("s3:*")), P=profile("R"), Q=profile("S"), L=template)


def target(name: str) -> dict[str, Any]:
    return a(
        "Events::Rule", {"Targets": [{"Id": "t", "Arn": "arn:aws:sqs:::q", "RoleArn": {"Fn::GetAtt": [name, "Arn"]}}]}
    )


def either(value: Any) -> dict[str, Any]:
    """Return an Fn::If between the value and no value; only AWS knows which applies."""
    return {"Fn::If": ["C", value, {"Ref": "AWS::NoValue"}]}


def to(*principals: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Principal": {"AWS": list(principals)}, "Action": "kms:Decrypt", "Resource": "*"}


# Types that our templates do not hold: their schemas tell the replacements, and the shape tells a policy.
OTHERS = [
    one("a database's key, with a snapshot", "RDS::DBInstance", {"KmsKeyId": "a"}, {"KmsKeyId": "b"}, "replaced", UpdateReplacePolicy="Snapshot"),
    one("a database's storage encryption", "RDS::DBInstance", {"StorageEncrypted": False}, {"StorageEncrypted": True}, "replaced", "data-loss"),
    one("a stream's name", "Kinesis::Stream", {"Name": "a"}, {"Name": "b"}, "replaced", "data-loss"),
    one("a file system's encryption", "EFS::FileSystem", {"Encrypted": False}, {"Encrypted": True}, "replaced", "data-loss"),
    one("a nested path with *", "MSK::Replicator", {"ReplicationInfoList": [{"SourceKafkaClusterArn": "a", "TopicReplication": {"TopicsToReplicate": ["x"]}}]}, {"ReplicationInfoList": [{"SourceKafkaClusterArn": "b", "TopicReplication": {"TopicsToReplicate": ["x"]}}]}, "replaced"),
    one("beside a nested path with *", "MSK::Replicator", {"ReplicationInfoList": [{"SourceKafkaClusterArn": "a", "TopicReplication": {"TopicsToReplicate": ["x"]}}]}, {"ReplicationInfoList": [{"SourceKafkaClusterArn": "a", "TopicReplication": {"TopicsToReplicate": ["y"]}}]}, NOTHING),
    one("a custom resource", "CloudFormation::CustomResource", {"ServiceToken": "t", "A": 1}, {"ServiceToken": "t", "A": 2}, "unknown"),
    one("a stack with another template", "CloudFormation::Stack", {"TemplateURL": "a"}, {"TemplateURL": "b"}, "unknown"),
    one("what the macro of SAM makes", "Serverless::Function", {"Policies": ["a"]}, {"Policies": ["b"]}, "unknown"),
    one("a type without a schema", "Nowhere::Thing", {"A": 1}, {"A": 2}, "unknown"),
    one("what a group launches", "AutoScaling::AutoScalingGroup", {"LaunchTemplate": {"Version": "1"}}, {"LaunchTemplate": {"Version": "2"}}, "may-be-replaced", UpdatePolicy={"AutoScalingReplacingUpdate": {"WillReplace": True}}),
    Known("a group's update policy", of(R=a("AutoScaling::AutoScalingGroup")), of(R=a("AutoScaling::AutoScalingGroup", UpdatePolicy={"AutoScalingRollingUpdate": {}})), {"R nothing"}),
    one("a secret's lost policy", "SecretsManager::ResourcePolicy", {"SecretId": "s", "ResourcePolicy": policy(READ, DENIED)}, {"SecretId": "s", "ResourcePolicy": policy(READ)}, "permission-widened"),
    Known("a policy for a secret that is there", of(S=a("SecretsManager::Secret")), of(S=a("SecretsManager::Secret"), P=a("SecretsManager::ResourcePolicy", {"SecretId": {"Ref": "S"}, "ResourcePolicy": policy(READ | {"Principal": {"AWS": "123456789012"}})})), {"P added", "P permission-widened"}),
    Known("a permission by its principal", of(B=a("Events::EventBus")), of(B=a("Events::EventBus"), P=a("Events::EventBusPolicy", {"EventBusName": {"Ref": "B"}, "Action": "events:PutEvents", "Principal": "*"})), {"P added", "P permission-widened", "P public-exposure"}),
    one("a user's policy", "IAM::User", {}, {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/AdministratorAccess"]}, "permission-widened"),
    Known("a managed policy's text", of(R=role(ManagedPolicyArns=[{"Ref": "P"}]), P=a("IAM::ManagedPolicy", {"PolicyDocument": policy()})), of(R=role(ManagedPolicyArns=[{"Ref": "P"}]), P=a("IAM::ManagedPolicy", {"PolicyDocument": policy(READ)})), {"P permission-widened"}),
]  # fmt: skip

PERMISSION = [
    granted("a new statement", [READ], [READ, allow("s3:PutObject", "arn:aws:s3:::b/*")], "permission-widened"),
    granted("a new statement that is covered", [allow("s3:*")], [allow("s3:*"), READ], NOTHING),
    granted("a wildcard", [allow("s3:GetObject")], [allow("s3:Get*")], "permission-widened"),
    granted("a longer wildcard", [allow("s3:GetObjec?")], [allow("s3:GetObjec*")], "permission-widened"),
    granted("a narrower resource", [allow("s3:GetObject")], [READ], NOTHING),
    granted("a condition goes", [READ | {"Condition": {"Bool": {"aws:SecureTransport": "true"}}}], [READ], "permission-widened"),
    granted("a condition comes", [READ], [READ | {"Condition": {"Bool": {"aws:SecureTransport": "true"}}}], NOTHING),
    granted("a condition takes more", [READ | {"Condition": {"StringEquals": {"aws:a": "x"}}}], [READ | {"Condition": {"StringEquals": {"aws:a": ["x", "y"]}}}], "permission-widened"),
    granted("a condition refuses less", [READ | {"Condition": {"StringNotEquals": {"aws:a": ["x", "y"]}}}], [READ | {"Condition": {"StringNotEquals": {"aws:a": "x"}}}], "permission-widened"),
    granted("NotAction", [READ], [{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}], "permission-widened"),
    granted("a denial goes", [allow("s3:*"), {"Effect": "Deny", "Action": "s3:DeleteBucket", "Resource": "*"}], [allow("s3:*")], "permission-widened"),
    granted("two statements become one", [READ, allow("s3:PutObject", "arn:aws:s3:::b/*")], [allow(["s3:PutObject", "s3:GetObject"], "arn:aws:s3:::b/*")], NOTHING),
    granted("a scalar becomes a list", [allow("s3:GetObject")], [allow(["s3:GetObject"])]),
    granted("actions in other letters", [allow("s3:GetObject")], [allow("S3:getobject")], NOTHING),
    Known(
        "a statement moves to a policy of its own",
        of(R=role(READ)),
        of(R=role(), P=a("IAM::Policy", {"PolicyName": "p", "Roles": [{"Ref": "R"}], "PolicyDocument": policy(READ)})),
        {"R nothing", "P added"},
    ),
    Known(
        "a new policy of an old role",
        of(R=role()),
        of(R=role(), P=a("IAM::Policy", {"PolicyName": "p", "Roles": [{"Ref": "R"}], "PolicyDocument": policy(READ)})),
        {"P added", "P permission-widened"},
    ),
    Known(
        "an old role attaches a new managed policy",
        of(R=role()),
        of(R=role(ManagedPolicyArns=[{"Ref": "P"}]), P=a("IAM::ManagedPolicy", {"PolicyDocument": policy(READ)})),
        {"R permission-widened", "P added", "P permission-widened"},
    ),
    Known("a profile takes another role", of(R=role(READ), S=role(allow("s3:*")), P=profile("R")), of(R=role(READ), S=role(allow("s3:*")), P=profile("S")), {"P permission-widened"}),
    Known("a launch template takes another profile", launching("P"), launching("Q"), {"L permission-widened"}),
    Known("a rule's target acts as a wider role", of(R=role(), S=role(READ), E=target("R")), of(R=role(), S=role(READ), E=target("S")), {"E permission-widened"}),
    Known("a task gets a role", of(S=role(READ), T=a("ECS::TaskDefinition")), of(S=role(READ), T=a("ECS::TaskDefinition", {"TaskRoleArn": {"Fn::GetAtt": ["S", "Arn"]}})), {"T replaced", "T permission-widened"}),
    Known("a policy that may be there", of(R=role()), of(R=a("IAM::Role", {"AssumeRolePolicyDocument": TRUST, "Policies": [either({"PolicyName": "p", "PolicyDocument": policy(READ)})]})), {"R permission-widened"}),
    granted("a statement gets a condition of the template", [READ], [either(READ)], NOTHING),
    granted("a denial that may be there", [allow("s3:*")], [allow("s3:*"), either({"Effect": "Deny", "Action": "s3:DeleteBucket", "Resource": "*"})], NOTHING),
    granted("a denial may go", [allow("s3:*"), DENIED], [allow("s3:*"), either(DENIED)], "permission-widened"),
    granted("a denial goes with what it limits", [allow("s3:*"), DENIED, allow("sqs:SendMessage")], [allow("sqs:SendMessage")], NOTHING),
    granted("NotAction leaves out more", [{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}], [{"Effect": "Allow", "NotAction": ["iam:*", "kms:*"], "Resource": "*"}], NOTHING),
    granted("a part of the network", [READ | {"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}], [READ | {"Condition": {"IpAddress": {"aws:SourceIp": "10.1.0.0/16"}}}], NOTHING),
    # IAM user guide, "AWS account principals": the root delegates permissions; a named role has them itself
    one("a role beside its account", "KMS::Key", {"KeyPolicy": policy(to("123456789012"))}, {"KeyPolicy": policy(to("123456789012", "arn:aws:iam::123456789012:role/r"))}, "permission-widened"),
    one("an account by its root", "KMS::Key", {"KeyPolicy": policy(to("123456789012"))}, {"KeyPolicy": policy(to("arn:aws:iam::123456789012:root"))}),
    one("less than everything", "IAM::Role", {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/AdministratorAccess"]}, {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"]}, NOTHING),
    Known("a grant on a new queue", of(R=role()), of(R=role(allow("sqs:SendMessage", {"Fn::GetAtt": ["Q", "Arn"]})), Q=a("SQS::Queue")), {"R nothing", "Q added"}),
    granted("another asset", [allow("s3:GetObject", f"arn:aws:s3:::assets/{'a' * 64}.zip")], [allow("s3:GetObject", f"arn:aws:s3:::assets/{'b' * 64}.zip")], NOTHING),
    Known("a new role with its grants", of(), of(R=role(READ)), {"R added"}),
    Known("a managed policy is attached", of(R=role()), of(R=role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"])), {"R permission-widened"}),
    Known("a boundary goes", of(R=role(PermissionsBoundary="arn:aws:iam::1:policy/b")), of(R=role()), {"R permission-widened"}),
    Known(
        "another service may take the role",
        of(R=role()),
        of(R=role(AssumeRolePolicyDocument=policy({"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}))),
        {"R permission-widened"},
    ),
    Known(
        "another account may read a bucket",
        of(B=BUCKET),
        of(B=BUCKET, P=a("S3::BucketPolicy", {"Bucket": {"Ref": "B"}, "PolicyDocument": policy(OPEN | {"Principal": {"AWS": "123456789012"}})})),
        {"P added", "P permission-widened"},
    ),
    Known(
        "a function takes a role that may do more",
        of(F=a("Lambda::Function", {"Role": {"Fn::GetAtt": ["R", "Arn"]}}), R=role(READ)),
        of(F=a("Lambda::Function", {"Role": {"Fn::GetAtt": ["S", "Arn"]}}), R=role(READ), S=role(allow("s3:*"))),
        {"F permission-widened", "S added"},
    ),
    Known(
        "a function takes a role that may do the same",
        of(F=a("Lambda::Function", {"Role": {"Fn::GetAtt": ["R", "Arn"]}}), R=role(READ)),
        of(F=a("Lambda::Function", {"Role": {"Fn::GetAtt": ["S", "Arn"]}}), S=role(READ)),
        {"F nothing", "R removed", "S added"},
    ),
    Known(
        "a permission of a function that is made anew",
        of(F=a("Lambda::Function"), P=a("Lambda::Permission", {"FunctionName": {"Ref": "F"}, "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com", "SourceAccount": "1"})),
        of(F=a("Lambda::Function"), Q=a("Lambda::Permission", {"FunctionName": {"Fn::GetAtt": ["F", "Arn"]}, "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com", "SourceAccount": "1"})),
        {"P removed", "Q added"},
    ),
]  # fmt: skip


def method(authorization: str, verb: str = "GET") -> dict[str, Any]:
    """Return a method of the API, A."""
    return a("ApiGateway::Method", {"RestApiId": {"Ref": "A"}, "HttpMethod": verb, "AuthorizationType": authorization})


PRIVATE = a("ApiGateway::RestApi", {"EndpointConfiguration": {"Types": ["PRIVATE"]}})
NARROW = a(
    "ApiGateway::RestApi", {"Policy": policy(OPEN | {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}})}
)


def ingress(*cidrs: str) -> dict[str, Any]:
    rules = [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": each} for each in cidrs]
    return {"GroupDescription": "g", "SecurityGroupIngress": rules}


ADDRESS = {"LaunchTemplateData": {"NetworkInterfaces": [{"AssociatePublicIpAddress": True}]}}
EXPOSURE = [
    one("a method without authorization", "ApiGateway::Method", {"HttpMethod": "GET", "AuthorizationType": "AWS_IAM"}, {"HttpMethod": "GET", "AuthorizationType": "NONE"}, "public-exposure"),
    one("a method with a key", "ApiGateway::Method", {"HttpMethod": "GET", "AuthorizationType": "AWS_IAM"}, {"HttpMethod": "GET", "AuthorizationType": "NONE", "ApiKeyRequired": True}, "public-exposure", "callers-refused"),
    one("no public access block", "S3::Bucket", {"PublicAccessBlockConfiguration": ALL_BLOCKED}, {}, "public-exposure"),
    one("half a public access block", "S3::Bucket", {"PublicAccessBlockConfiguration": ALL_BLOCKED}, {"PublicAccessBlockConfiguration": ALL_BLOCKED | {"BlockPublicPolicy": False}}, "public-exposure"),
    one("a token of any scope", "ApiGateway::Method", {"HttpMethod": "GET", "AuthorizationType": "COGNITO_USER_POOLS", "AuthorizationScopes": ["a"]}, {"HttpMethod": "GET", "AuthorizationType": "COGNITO_USER_POOLS"}, "public-exposure"),
    one("methods of an OpenAPI document", "ApiGateway::RestApi", {"Body": {"paths": {"/": {"get": {"security": []}}}}}, {"Body": {"paths": {"/": {}}}}, "unknown"),
    one("a public ACL", "S3::Bucket", {}, {"AccessControl": "PublicRead"}, "public-exposure"),
    one("the world at port 22", "EC2::SecurityGroup", ingress("10.0.0.0/8"), ingress("0.0.0.0/0"), "public-exposure"),
    one("everybody may take a role", "IAM::Role", {"AssumeRolePolicyDocument": TRUST}, {"AssumeRolePolicyDocument": policy({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"})}, "permission-widened", "public-exposure"),
    Known("everybody may call a function", of(F=a("Lambda::Function")), of(F=a("Lambda::Function"), P=a("Lambda::Permission", {"FunctionName": {"Ref": "F"}, "Action": "lambda:InvokeFunction", "Principal": "*"})), {"P added", "P permission-widened", "P public-exposure"}),
    Known("a method with a fixed answer", of(A=a("ApiGateway::RestApi", {})), of(A=a("ApiGateway::RestApi", {}), M=a("ApiGateway::Method", {"RestApiId": {"Ref": "A"}, "HttpMethod": "ANY", "AuthorizationType": "NONE", "Integration": {"Type": "MOCK"}})), {"M added"}),
    Known("a fixed answer goes", of(A=a("ApiGateway::RestApi", {}), M=a("ApiGateway::Method", {"RestApiId": {"Ref": "A"}, "HttpMethod": "ANY", "AuthorizationType": "NONE", "Integration": {"Type": "MOCK"}})), of(A=a("ApiGateway::RestApi", {})), {"M removed"}),
    Known("a method of a private API", of(A=PRIVATE, M=method("AWS_IAM")), of(A=PRIVATE, M=method("NONE")), {"M nothing"}),
    Known("a method of an API that lets an organization in", of(A=NARROW, M=method("AWS_IAM")), of(A=NARROW, M=method("NONE")), {"M nothing"}),
    Known("the answer to a browser's OPTIONS", of(), of(M=method("NONE", "OPTIONS")), {"M added"}),
    one("a private range at port 22", "EC2::SecurityGroup", ingress("10.0.0.0/8"), ingress("10.0.0.0/8", "192.168.0.0/16"), NOTHING),
    one("a private API becomes regional", "ApiGateway::RestApi", {"EndpointConfiguration": {"Types": ["PRIVATE"]}}, {"EndpointConfiguration": {"Types": ["REGIONAL"]}}, "public-exposure"),
    one("a rule inside the one before", "EC2::SecurityGroup", {"SecurityGroupIngress": [{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}]}, ingress("0.0.0.0/0"), "replaced"),
    Known("a rule that may be there", of(G=a("EC2::SecurityGroup")), of(G=a("EC2::SecurityGroup", {"SecurityGroupIngress": [either({"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"})]})), {"G public-exposure"}),
    one("authorization that may be missing", "ApiGateway::Method", {"HttpMethod": "GET", "AuthorizationType": "AWS_IAM"}, {"HttpMethod": "GET", "AuthorizationType": {"Fn::If": ["C", "NONE", "AWS_IAM"]}}, "public-exposure"),
    Known("a public address under another id", of(L=a("EC2::LaunchTemplate", ADDRESS | {"A": 1})), of(M=a("EC2::LaunchTemplate", ADDRESS | {"A": 2})), {"L removed", "M added"}),
    one("a policy as text", "SQS::QueuePolicy", {"Queues": ["q"], "PolicyDocument": "{}"}, {"Queues": ["q"], "PolicyDocument": {"Fn::Sub": json.dumps(policy(OPEN | {"Resource": "arn:aws:logs:x:${!y}:z"})).replace("${!y}", "${AWS::AccountId}")}}, "permission-widened", "public-exposure"),
    *(Known(f"everybody in spite of {operator}", of(), of(Q=a("SQS::QueuePolicy", {"PolicyDocument": policy(OPEN | {"Condition": {operator: {key: value}}})})), {"Q added", "Q public-exposure"}) for operator, key, value in [
        ("StringEqualsIfExists", "aws:PrincipalOrgID", "o-1"), ("ForAllValues:StringEquals", "aws:PrincipalArn", "a"),
        ("StringLike", "aws:PrincipalArn", "arn:aws:iam::*:role/x"), ("ArnLike", "aws:SourceArn", "arn:aws:s3:::*")]),
    Known("everybody from one network", of(), of(A=a("ApiGateway::RestApi", {"Policy": policy(OPEN, OPEN | {"Effect": "Deny", "Condition": {"NotIpAddress": {"aws:SourceIp": "192.0.2.0/24"}}})})), {"A added"}),
    one("a container with the network is not public", "SageMaker::Model", {"EnableNetworkIsolation": True}, {"EnableNetworkIsolation": False}, "replaced"),
    Known(
        "a bucket for everybody",
        of(B=BUCKET),
        of(B=BUCKET, P=a("S3::BucketPolicy", {"Bucket": {"Ref": "B"}, "PolicyDocument": policy(OPEN)})),
        {"P added", "P permission-widened", "P public-exposure"},
    ),
    Known(
        "a new bucket for an organization",
        of(),
        of(B=BUCKET, P=a("S3::BucketPolicy", {"Bucket": {"Ref": "B"}, "PolicyDocument": policy(OPEN | {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}})})),
        {"B added", "P added"},
    ),
]  # fmt: skip


def api(**admission: Any) -> Template:
    """Return two routes of one API that let in the same callers."""
    return of(A=a("ApiGateway::RestApi"), **{verb: route(verb, **admission) for verb in ("Get", "Post")})


def route(verb: str, **admission: Any) -> dict[str, Any]:
    return a("ApiGateway::Method", {"RestApiId": {"Ref": "A"}, "HttpMethod": verb.upper(), **admission})


def authorizer(name: str, header: str = "x-api-key") -> Template:
    """Return an API with keys whose authorizer has this logical id."""
    resources = api(**KEY | {"AuthorizerId": {"Ref": name}})["Resources"]
    return of(**resources, **{name: a("ApiGateway::Authorizer", {"Type": "TOKEN", "IdentitySource": header})})


def planned(verb: str, **admission: Any) -> Template:
    """Return an API with a usage plan."""
    return of(A=a("ApiGateway::RestApi"), M=route(verb, **admission), P=a("ApiGateway::UsagePlan"))


def letting_in(*accounts: str) -> dict[str, Any]:
    return policy(allow("execute-api:Invoke", "execute-api:/v1/*", Principal={"AWS": [*accounts]}))


IAM, NONE = {"AuthorizationType": "AWS_IAM"}, {"AuthorizationType": "NONE"}
KEY = {"AuthorizationType": "CUSTOM", "ApiKeyRequired": True}
CALLERS = [
    Known("signed callers need keys", api(**IAM), api(**KEY), {"A callers-refused"}),
    Known("callers with keys have to sign", api(**KEY), api(**IAM), {"A callers-refused"}),
    Known("everybody has to sign", api(**NONE), api(**IAM), {"A callers-refused"}),
    Known("everybody needs a key", api(**NONE), api(**KEY), {"A callers-refused"}),
    Known("nobody has to sign", api(**IAM), api(**NONE), {"A public-exposure"}),
    Known("nobody needs a key", api(**KEY), api(**NONE), {"A public-exposure"}),
    Known("the same authorizer under another id", authorizer("B"), authorizer("C"), {"B removed", "C added", "Get nothing", "Post nothing"}),
    Known("a key in another header", authorizer("B"), authorizer("B", "Authorization"), {"A callers-refused", "B nothing"}),
    Known("fewer scopes", api(**IAM | {"AuthorizationScopes": ["a", "b"]}), api(**IAM | {"AuthorizationScopes": ["a"]}), {"A callers-refused"}),
    Known("more scopes", api(**IAM | {"AuthorizationScopes": ["a"]}), api(**IAM | {"AuthorizationScopes": ["a", "b"]}), {"Get nothing", "Post nothing"}),
    Known("a route goes", api(**IAM), of(A=a("ApiGateway::RestApi"), Get=route("Get", **IAM)), {"Post removed", "A callers-refused"}),
    Known("a route under another id", of(A=a("ApiGateway::RestApi"), M=route("Get", **IAM)), of(A=a("ApiGateway::RestApi"), N=route("Get", **IAM)), {"M removed", "N added"}),
    Known("an open route is new on an open API", of(A=a("ApiGateway::RestApi"), Get=route("Get", **NONE)), api(**NONE), {"Post added"}),
    Known("an open route is new beside a signed one", of(A=a("ApiGateway::RestApi"), Get=route("Get", **IAM)), of(A=a("ApiGateway::RestApi"), Get=route("Get", **IAM), Post=route("Post", **NONE)), {"Post added", "A public-exposure"}),
    Known("an API goes", api(**IAM), of(), {"A removed", "A callers-refused", "Get removed", "Post removed"}),
    Known("a plan goes", planned("Get", **KEY), of(A=a("ApiGateway::RestApi"), M=route("Get", **KEY)), {"P removed", "P callers-refused"}),
    Known("a plan goes that no route needs", planned("Get", **IAM), of(A=a("ApiGateway::RestApi"), M=route("Get", **IAM)), {"P removed"}),
    one("an API's policy names fewer", "ApiGateway::RestApi", {"Policy": letting_in("1", "2")}, {"Policy": letting_in("1")}, "callers-refused"),
    one("a stage's name is in its URL", "ApiGateway::Stage", {"StageName": "v1"}, {"StageName": "v2"}, "replaced", "callers-refused"),
]  # fmt: skip

KNOWN = [*REPLACEMENT, *OTHERS, *SPREADING, *THERE, *QUIET, *KEPT, *PERMISSION, *EXPOSURE, *CALLERS]
