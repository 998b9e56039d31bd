"""S3 as AWS runs it where the emulator differs: settings of templates, full buckets, and objects that are not there."""

from typing import Any

from local_cloud.emulator import s3_hooks
from local_cloud.emulator.cloudformation_hooks import extend_resource_type, tag_with_stack

# Members of a rule that have the same name in a template and in the API.
_RULE_MEMBERS = ("AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration", "Status")


def _complete(name: str, properties: dict[str, Any]) -> None:
    s3_hooks.set_tags(name, {tag["Key"]: tag["Value"] for tag in properties.get("Tags") or []})
    lifecycle = properties.get("LifecycleConfiguration") or {}
    s3_hooks.set_lifecycle(name, [_rule(rule) for rule in lifecycle.get("Rules") or []])
    encryption = properties.get("BucketEncryption") or {}
    for rule in encryption.get("ServerSideEncryptionConfiguration") or []:
        default = rule["ServerSideEncryptionByDefault"]
        key, bucket_key = default.get("KMSMasterKeyID", ""), bool(rule.get("BucketKeyEnabled"))
        s3_hooks.set_encryption(name, default["SSEAlgorithm"], key, bucket_key)
    for rule in (properties.get("OwnershipControls") or {}).get("Rules") or []:
        s3_hooks.set_object_ownership(name, rule["ObjectOwnership"])


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    """A lifecycle rule of a template in the words of the API."""
    expiration: dict[str, Any] = {}
    if "ExpirationInDays" in rule:
        expiration["Days"] = int(rule["ExpirationInDays"])
    if "ExpiredObjectDeleteMarker" in rule:
        expiration["ExpiredObjectDeleteMarker"] = rule["ExpiredObjectDeleteMarker"]
    made: dict[str, Any] = {"Filter": {"Prefix": rule.get("Prefix", "")}}
    made |= {member: rule[member] for member in _RULE_MEMBERS if member in rule}
    made |= {"ID": rule["Id"]} if "Id" in rule else {}
    return made | ({"Expiration": expiration} if expiration else {})


def _refuse_full(name: str) -> None:
    if not s3_hooks.bucket_is_empty(name):
        raise ValueError(
            f"The bucket you tried to delete is not empty. You must delete all versions in the bucket. ({name})"
        )


def install() -> None:
    s3_hooks.hide_missing_objects()
    tag_with_stack("AWS::S3::Bucket")
    extend_resource_type("AWS::S3::Bucket", complete=_complete, check_delete=_refuse_full)
