"""Each resource that holds data: its encryption, its network, how long the data stays, what a destroy does."""

from collections.abc import Callable
from typing import Any

from slipway.changes.template.resources import RETAINING, Resource, Resources, values_at
from slipway.changes.template.values import as_list, shown
from slipway.evidence.evidence import DataEvidence
from slipway.evidence.names import plain, short

_AWS_OWNED = "a key that AWS owns"
_TLS = "AWS's TLS endpoint, for principals with a permission"
_DAY_IN_SECONDS = 86_400

Describe = Callable[[Resource, Resources], str]


def _setting(resource: Resource, path: str) -> str:
    """Return the text at a path; "" if there is none."""
    found = values_at(resource.properties, path.split("."))
    return plain(shown(found[0])) if found else ""


def _key(path: str, otherwise: str = _AWS_OWNED) -> Describe:
    """Describe the customer's key that stands at a path."""

    def describe(resource: Resource, _: Resources) -> str:
        key = _setting(resource, path)
        return f"the key {key}" if key else otherwise

    return describe


def _says(text: str) -> Describe:
    return lambda *_: text


def _key_of_table(resource: Resource, _: Resources) -> str:
    key = _setting(resource, "SSESpecification.KMSMasterKeyId")
    is_kms = _setting(resource, "SSESpecification.SSEEnabled") == "true"
    return f"the key {key}" if key else "the account's key aws/dynamodb" if is_kms else _AWS_OWNED


def _key_of_bucket(resource: Resource, _: Resources) -> str:
    rule = "BucketEncryption.ServerSideEncryptionConfiguration.*.ServerSideEncryptionByDefault"
    key, algorithm = (_setting(resource, f"{rule}.{each}") for each in ("KMSMasterKeyID", "SSEAlgorithm"))
    return f"the key {key}" if key else "the account's key aws/s3" if "kms" in algorithm else "keys of S3 (SSE-S3)"


def _key_of_disks(resource: Resource, _: Resources) -> str:
    disks = values_at(resource.properties, ["LaunchTemplateData", "BlockDeviceMappings", "*", "Ebs"])
    keys = {plain(shown(each.get("KmsKeyId", ""))) for each in disks}
    if not disks or any(each.get("Encrypted") != "true" for each in disks):
        return "none, unless the account encrypts all volumes"
    return " and ".join(f"the key {each}" if each else "the account's key aws/ebs" for each in sorted(keys))


def _table_is_kept(resource: Resource, _: Resources) -> str:
    expires = _setting(resource, "TimeToLiveSpecification.AttributeName")
    restored = _setting(resource, "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled") == "true"
    rows = f"rows expire at their own time ({expires})" if expires else "rows stay until they are deleted"
    return rows + ("; every second of the last 35 days can be restored" if restored else "")


def _objects_are_kept(resource: Resource, _: Resources) -> str:
    rule = "LifecycleConfiguration.Rules.*"
    days, noncurrent = (
        _setting(resource, f"{rule}.{each}")
        for each in ("ExpirationInDays", "NoncurrentVersionExpiration.NoncurrentDays")
    )
    if not days:
        return "objects stay until they are deleted"
    return f"objects expire after {days} days" + (f", and older versions {noncurrent} days later" if noncurrent else "")


def _bucket_is_reached(resource: Resource, resources: Resources) -> str:
    blocks = as_list(resource.properties.get("PublicAccessBlockConfiguration", []))
    is_blocked = any(isinstance(each, dict) and set(each.values()) == {"true"} for each in blocks)
    public = "no public access" if is_blocked else "public access is not blocked"
    return f"{_TLS}; {public}{_only_tls(resource, resources)}{_access_log(resource)}"


def _access_log(resource: Resource) -> str:
    to = _setting(resource, "LoggingConfiguration.DestinationBucketName")
    return f"; each access is logged to {to}" if to else "; accesses are not logged"


def _only_tls(resource: Resource, resources: Resources) -> str:
    """Say whether a policy refuses calls without TLS."""
    own = "${" + resource.logical_id + "}"
    for each in resources.values():
        guarded = [
            shown(one) for key in ("Bucket", "Queues", "Topics") for one in as_list(each.properties.get(key, []))
        ]
        if own in guarded and "aws:SecureTransport" in shown(each.properties.get("PolicyDocument")):
            return "; a policy refuses calls without TLS"
    return ""


def _queue_is_reached(resource: Resource, resources: Resources) -> str:
    return _TLS + _only_tls(resource, resources)


def _messages_are_kept(resource: Resource, _: Resources) -> str:
    seconds = _setting(resource, "MessageRetentionPeriod")
    days = int(seconds) / _DAY_IN_SECONDS if seconds.isdecimal() else 4
    return f"messages are deleted after {days:g} days at most"


def _lines_are_kept(resource: Resource, _: Resources) -> str:
    days = _setting(resource, "RetentionInDays")
    return f"lines expire after {days} days" if days else "lines never expire"


def _function_is_reached(resource: Resource, _: Resources) -> str:
    subnets = values_at(resource.properties, ["VpcConfig", "SubnetIds"])
    if not subnets:
        return "no way in but Lambda's API; outside of VPCs"
    return f"no way in but Lambda's API; in the subnets {_texts(subnets[0])}"


def _model_is_reached(resource: Resource, _: Resources) -> str:
    isolated = _setting(resource, "EnableNetworkIsolation") == "true"
    subnets = values_at(resource.properties, ["VpcConfig", "Subnets"])
    place = f"in the subnets {_texts(subnets[0])}" if subnets else "in SageMaker's own network"
    return f"no way in but SageMaker's API; {place}; " + (
        "no network for the container" if isolated else "the container may open connections"
    )


def _machine_is_reached(resource: Resource, _: Resources) -> str:
    interfaces = values_at(resource.properties, ["LaunchTemplateData", "NetworkInterfaces", "*"])
    public = any(each.get("AssociatePublicIpAddress") == "true" for each in interfaces)
    places = [f"subnet {plain(shown(each.get('SubnetId', '')))}" for each in interfaces]
    return f"{', '.join(places)}; {'a' if public else 'no'} public address"


def _texts(value: Any) -> str:
    return ", ".join(plain(shown(each)) for each in as_list(value))


_LIVES_WITH_CALL = _says("memory of one environment")
_UNTIL_REPLACED = _says("until it is replaced")
# Type: words for the kind, what it holds, encryption, network, retention.
_KINDS: dict[str, tuple[str, str, Describe, Describe, Describe]] = {
    "AWS::DynamoDB::Table": ("table", "rows of jobs, or counts", _key_of_table, _says(_TLS), _table_is_kept),
    "AWS::S3::Bucket": ("bucket", "inputs and results", _key_of_bucket, _bucket_is_reached, _objects_are_kept),
    "AWS::SQS::Queue": (
        "queue",
        "names of jobs",
        _key("KmsMasterKeyId", "keys of SQS (SSE-SQS)"),
        _queue_is_reached,
        _messages_are_kept,
    ),
    "AWS::SNS::Topic": (
        "topic",
        "names and states of jobs, SageMaker's reason of a failure",
        _key("KmsMasterKeyId", "no key: SNS hands messages on at once"),
        _queue_is_reached,
        _says("none: messages are handed on"),
    ),
    "AWS::Logs::LogGroup": (
        "log group",
        "log lines",
        _key("KmsKeyId", "keys of CloudWatch"),
        _says(_TLS),
        _lines_are_kept,
    ),
    "AWS::Lambda::Function": (
        "function",
        "variables: names, no secrets",
        _key("KmsKeyArn"),
        _function_is_reached,
        _LIVES_WITH_CALL,
    ),
    "AWS::SageMaker::Model": (
        "model",
        "variables of the container",
        _says(_AWS_OWNED),
        _model_is_reached,
        _UNTIL_REPLACED,
    ),
    "AWS::SageMaker::EndpointConfig": (
        "instances",
        "weights, requests while they are answered",
        _key("KmsKeyId", "the disk's own hardware, or a key that AWS owns"),
        _says("no way in but SageMaker's API"),
        _says("until the instance ends"),
    ),
    "AWS::EC2::LaunchTemplate": (
        "disk of a machine",
        "weights, code, requests while they are answered",
        _key_of_disks,
        _machine_is_reached,
        _says("until the machine is replaced"),
    ),
    "AWS::CodeBuild::Project": (
        "build project",
        "files on their way to S3",
        _key("EncryptionKey", "the account's key aws/s3, for artefacts; there are none"),
        _says("no way in; it may open connections"),
        _says("until the build ends"),
    ),
    "AWS::ApiGateway::ApiKey": (
        "API key",
        "a secret value",
        _says(_AWS_OWNED),
        _says(_TLS),
        _says("until it is deleted"),
    ),
    "AWS::KMS::Key": (
        "key",
        "key material",
        _says("hardware of KMS"),
        _says(_TLS),
        lambda resource, _: "rotated each year" if _setting(resource, "EnableKeyRotation") == "true" else "not rotated",
    ),
    "AWS::Cognito::UserPool": (
        "user pool",
        "users and their passwords",
        _says(_AWS_OWNED),
        _says("public, over TLS"),
        _says("until a user is deleted"),
    ),
    "AWS::Cognito::UserPoolClient": (
        "client of the user pool",
        "a secret value",
        _says(_AWS_OWNED),
        _says(_TLS),
        _says("until it is deleted"),
    ),
    "AWS::SecretsManager::Secret": (
        "secret",
        "a secret value",
        _key("KmsKeyId", "the account's key aws/secretsmanager"),
        _says(_TLS),
        _says("until it is deleted"),
    ),
}
_TYPES_WITHOUT_DATA = {
    "ApiGateway": "Account Authorizer BasePathMapping BasePathMappingV2 Deployment DomainName DomainNameV2 "
    "GatewayResponse Method Resource RestApi Stage UsagePlan UsagePlanKey",
    "ApplicationAutoScaling": "ScalableTarget ScalingPolicy",
    "Budgets": "Budget",
    "CloudFormation": "WaitCondition WaitConditionHandle",
    "CloudWatch": "Alarm CompositeAlarm Dashboard",
    "Cognito": "UserPoolDomain UserPoolGroup UserPoolResourceServer",
    "EC2": "Instance InternetGateway Route RouteTable SecurityGroup SecurityGroupEgress SecurityGroupIngress Subnet "
    "SubnetRouteTableAssociation VPC VPCEndpoint VPCGatewayAttachment",
    "Events": "Rule",
    "IAM": "InstanceProfile ManagedPolicy Policy Role",
    "KMS": "Alias",
    "Lambda": "EventInvokeConfig EventSourceMapping LayerVersion Permission",
    "Route53": "RecordSet",
    "S3": "BucketPolicy",
    "SNS": "Subscription TopicPolicy",
    "SQS": "QueuePolicy",
    "SageMaker": "Endpoint InferenceComponent",
    "WAFv2": "WebACL WebACLAssociation",
}
WITHOUT_DATA = {f"AWS::{service}::{each}" for service, types in _TYPES_WITHOUT_DATA.items() for each in types.split()}
"""Types that hold settings, rules or addresses, but no data of callers."""


def data_of(resources: Resources) -> tuple[DataEvidence, ...]:
    """Return the resources that hold data, by kind and name."""
    found = [_described(each, resources) for each in resources.values() if each.type in _KINDS]
    return tuple(sorted(found, key=lambda each: (each.kind, each.name)))


def unknown_in(resources: Resources) -> tuple[str, ...]:
    """Return the resources of types that this module does not know."""
    return tuple(
        sorted(
            f"{short(each.logical_id)} ({each.type})"
            for each in resources.values()
            if each.type not in _KINDS and each.type not in WITHOUT_DATA
        )
    )


def _described(resource: Resource, resources: Resources) -> DataEvidence:
    kind, holds, encryption, network, retention = _KINDS[resource.type]
    return DataEvidence(
        short(resource.logical_id),
        kind,
        _content(resource) or holds,
        encryption(resource, resources),
        network(resource, resources),
        retention(resource, resources),
        _removal(resource),
    )


def _content(resource: Resource) -> str:
    """Return what a table's tag, or a bucket's name, says that it holds."""
    if short(resource.logical_id).endswith("DataCaptureBucket"):
        return "captured prompts and answers"
    tags = {
        each.get("Key"): each.get("Value")
        for each in as_list(resource.properties.get("Tags", []))
        if isinstance(each, dict)
    }
    words = {"jobs": "rows of jobs, with small results", "usage": "counts of requests and tokens"}
    return words.get(str(tags.get("slipway:content")), "")


def _removal(resource: Resource) -> str:
    protected = _setting(resource, "DeletionProtectionEnabled") == "true"
    said = "kept" if resource.deletion_policy in RETAINING else "deleted"
    replaced = "" if (resource.replace_policy in RETAINING) == (said == "kept") else "; kept when replaced"
    return said + replaced + ("; protected against deletion" if protected else "")
