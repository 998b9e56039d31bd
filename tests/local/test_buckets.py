"""S3 behaves as on AWS: objects that are not there, versions, conditions, permissions by key, signed links."""

import time
from typing import Any

import boto3
import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError

from local_cloud.cloud import Credentials, LocalCloud
from support.small_stacks import REGION, create, resource, statement

BUCKET = {
    "BucketEncryption": {
        "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]
    },
    "LifecycleConfiguration": {
        "Rules": [
            {
                "Id": "expire",
                "Status": "Enabled",
                "Prefix": "input/",
                "ExpirationInDays": 9,
                "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
                "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 2},
            }
        ]
    },
    "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
    "PublicAccessBlockConfiguration": {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    },
    "Tags": [{"Key": "slipway:deployment", "Value": "buckets"}],
    "VersioningConfiguration": {"Status": "Enabled"},
}


@pytest.fixture(scope="module")
def bucket(bare_cloud: LocalCloud) -> str:
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}
    insecure = {"Bool": {"aws:SecureTransport": "false"}}
    policy = {"Version": "2012-10-17", "Statement": [deny | {"Condition": insecure}]}
    resources = {
        "Bucket": resource("S3::Bucket", BUCKET),
        "Policy": resource("S3::BucketPolicy", {"Bucket": {"Ref": "Bucket"}, "PolicyDocument": policy}),
    }
    return create(bare_cloud, "buckets", resources)["Bucket"]


@pytest.fixture(scope="module")
def s3(bare_cloud: LocalCloud) -> Any:
    return bare_cloud.client("s3", region=REGION)


def code_of(call: Any) -> tuple[int, str]:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value.response["ResponseMetadata"]["HTTPStatusCode"], caught.value.response["Error"]["Code"]


def as_user(cloud: LocalCloud, *statements: dict[str, Any]) -> Any:
    """A client of a new user with these permissions."""
    return cloud.client("s3", region=REGION, credentials=cloud.create_user("reader", list(statements)))


def test_a_missing_object_is_not_found_for_those_who_may_list(bare_cloud: LocalCloud, bucket: str) -> None:
    get, lists = (
        statement("s3:GetObject", f"arn:aws:s3:::{bucket}/*"),
        statement("s3:ListBucket", f"arn:aws:s3:::{bucket}"),
    )
    user = as_user(bare_cloud, get, lists)
    assert code_of(lambda: user.get_object(Bucket=bucket, Key="output/nothing")) == (404, "NoSuchKey")
    assert code_of(lambda: user.head_object(Bucket=bucket, Key="output/nothing")) == (404, "404")


def test_a_missing_object_is_forbidden_for_those_who_may_not_list(bare_cloud: LocalCloud, bucket: str, s3: Any) -> None:
    s3.put_object(Bucket=bucket, Key="output/there", Body=b"x")
    user = as_user(bare_cloud, statement("s3:GetObject", f"arn:aws:s3:::{bucket}/*"))
    assert user.get_object(Bucket=bucket, Key="output/there")["Body"].read() == b"x"
    assert code_of(lambda: user.get_object(Bucket=bucket, Key="output/nothing")) == (403, "AccessDenied")
    assert code_of(lambda: user.head_object(Bucket=bucket, Key="output/nothing")) == (403, "403")


def test_permissions_by_key_prefix_are_kept(bare_cloud: LocalCloud, bucket: str) -> None:
    user = as_user(bare_cloud, statement("s3:PutObject", f"arn:aws:s3:::{bucket}/input/*"))
    user.put_object(Bucket=bucket, Key="input/mine", Body=b"x")
    assert code_of(lambda: user.put_object(Bucket=bucket, Key="output/mine", Body=b"x")) == (403, "AccessDenied")


def test_each_put_makes_a_version_that_can_be_read_and_removed(bucket: str, s3: Any) -> None:
    versions = [s3.put_object(Bucket=bucket, Key="versioned", Body=body)["VersionId"] for body in (b"1", b"2")]
    assert len(set(versions)) == 2
    assert s3.get_object(Bucket=bucket, Key="versioned", VersionId=versions[0])["Body"].read() == b"1"
    s3.delete_object(Bucket=bucket, Key="versioned")
    listed = s3.list_object_versions(Bucket=bucket, Prefix="versioned")
    assert {each["VersionId"] for each in listed["Versions"]} == set(versions)
    (marker,) = listed["DeleteMarkers"]
    named = [{"Key": "versioned", "VersionId": each} for each in [*versions, marker["VersionId"]]]
    s3.delete_objects(Bucket=bucket, Delete={"Objects": named})
    left = s3.list_object_versions(Bucket=bucket, Prefix="versioned")
    assert "Versions" not in left
    assert "DeleteMarkers" not in left


def test_a_put_can_demand_that_nothing_is_there(bucket: str, s3: Any) -> None:
    s3.put_object(Bucket=bucket, Key="once", Body=b"1", IfNoneMatch="*")
    refused = code_of(lambda: s3.put_object(Bucket=bucket, Key="once", Body=b"2", IfNoneMatch="*"))
    assert refused == (412, "PreconditionFailed")


def signing_client(cloud: LocalCloud, credentials: Credentials) -> Any:
    """A client that signs links as version 4, which objects with a key of KMS need."""
    return boto3.client(
        "s3",
        endpoint_url=cloud.url,
        region_name=REGION,
        aws_access_key_id=credentials.access_key_id,
        aws_secret_access_key=credentials.secret_access_key,
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )


def test_a_signed_link_works_until_it_expires(bare_cloud: LocalCloud, bucket: str, s3: Any) -> None:
    version = s3.put_object(Bucket=bucket, Key="output/large", Body=b"text")["VersionId"]
    wanted = {"Bucket": bucket, "Key": "output/large", "VersionId": version}
    client = signing_client(bare_cloud, bare_cloud.deployer)
    link = client.generate_presigned_url("get_object", wanted, ExpiresIn=3600)
    assert link.startswith(bare_cloud.url)
    assert requests.get(link, timeout=60).content == b"text"
    assert requests.get(link.replace("large", "other"), timeout=60).status_code == 403
    short, made = client.generate_presigned_url("get_object", wanted, ExpiresIn=1), time.time()
    while (answer := requests.get(short, timeout=60)).status_code == 200:
        assert time.time() - made < 60
        time.sleep(0.1)
    assert answer.status_code == 403
    assert "expired" in answer.text


def test_a_link_that_its_signer_may_not_follow_is_forbidden(bare_cloud: LocalCloud, bucket: str, s3: Any) -> None:
    s3.put_object(Bucket=bucket, Key="output/secret", Body=b"text")
    reader = bare_cloud.create_user("reader", [statement("s3:GetObject", f"arn:aws:s3:::{bucket}/input/*")])
    user = signing_client(bare_cloud, reader)
    link = user.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "output/secret"}, ExpiresIn=60)
    assert requests.get(link, timeout=10).status_code == 403


def test_a_stranger_without_a_key_gets_nothing(bare_cloud: LocalCloud, bucket: str, s3: Any) -> None:
    s3.put_object(Bucket=bucket, Key="output/private", Body=b"text")
    assert requests.get(f"{bare_cloud.url}/{bucket}/output/private", timeout=10).status_code == 403


def test_the_settings_of_the_template_are_those_of_the_bucket(bucket: str, s3: Any) -> None:
    encryption = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    assert encryption[0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    (rule,) = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert (rule["ID"], rule["Filter"], rule["Expiration"]) == ("expire", {"Prefix": "input/"}, {"Days": 9})
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 2}
    ownership = s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]["Rules"]
    assert ownership == BUCKET["OwnershipControls"]["Rules"]  # type: ignore[index]
    blocked = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert blocked == BUCKET["PublicAccessBlockConfiguration"]
    assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
