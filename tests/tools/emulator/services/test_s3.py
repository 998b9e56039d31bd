"""S3 reports a missing object only to callers who may list the bucket, reads ranges of versions, and checks parts."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION, create, resource, statement


@pytest.fixture(scope="module")
def bucket(bare_cloud: LocalCloud) -> str:
    return create(bare_cloud, "buckets", {"Bucket": resource("S3::Bucket")})["Bucket"]


def code_of(call: Callable[[], object]) -> tuple[int, str]:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value.response["ResponseMetadata"]["HTTPStatusCode"], caught.value.response["Error"]["Code"]


def as_user(cloud: LocalCloud, *statements: dict[str, Any]) -> Any:
    """A client of a new user with these permissions."""
    return cloud.client("s3", region=REGION, credentials=cloud.create_user("reader", list(statements)))


def test_a_missing_object_is_not_found_for_those_who_may_list(bare_cloud: LocalCloud, bucket: str) -> None:
    get = statement("s3:GetObject", f"arn:aws:s3:::{bucket}/*")
    user = as_user(bare_cloud, get, statement("s3:ListBucket", f"arn:aws:s3:::{bucket}"))
    assert code_of(lambda: user.get_object(Bucket=bucket, Key="output/nothing")) == (404, "NoSuchKey")
    assert code_of(lambda: user.head_object(Bucket=bucket, Key="output/nothing")) == (404, "404")


def test_a_missing_object_is_forbidden_for_those_who_may_not_list(bare_cloud: LocalCloud, bucket: str) -> None:
    bare_cloud.client("s3", region=REGION).put_object(Bucket=bucket, Key="output/there", Body=b"x")
    user = as_user(bare_cloud, statement("s3:GetObject", f"arn:aws:s3:::{bucket}/*"))
    assert user.get_object(Bucket=bucket, Key="output/there")["Body"].read() == b"x"
    assert code_of(lambda: user.get_object(Bucket=bucket, Key="output/nothing")) == (403, "AccessDenied")
    assert code_of(lambda: user.head_object(Bucket=bucket, Key="output/nothing")) == (403, "403")


def test_a_part_of_a_version_is_read_as_one_of_the_current_object(bare_cloud: LocalCloud) -> None:
    name, s3 = "versions-in-parts", bare_cloud.client("s3", region=REGION)
    s3.create_bucket(Bucket=name)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    old = s3.put_object(Bucket=name, Key="file/1", Body=b"0123456789")["VersionId"]
    s3.put_object(Bucket=name, Key="file/1", Body=b"new")
    for span, text in (("bytes=2-4", b"234"), ("bytes=8-99", b"89")):
        found = s3.get_object(Bucket=name, Key="file/1", VersionId=old, Range=span)
        assert (found["ResponseMetadata"]["HTTPStatusCode"], found["Body"].read()) == (206, text)
    assert code_of(lambda: s3.get_object(Bucket=name, Key="file/1", VersionId=old, Range="bytes=10-")) == (
        416,
        "InvalidRange",
    )


def test_a_part_may_have_a_checksum_only_if_its_upload_announced_the_kind(bare_cloud: LocalCloud, bucket: str) -> None:
    s3 = bare_cloud.client("s3", region=REGION)

    def send(checksum: dict[str, str], **announced: str) -> str:
        upload = s3.create_multipart_upload(Bucket=bucket, Key="parts", **announced)["UploadId"]
        part = {"Bucket": bucket, "Key": "parts", "UploadId": upload, "PartNumber": 1, "Body": b"x"}
        return str(s3.upload_part(**part, **checksum)["ETag"])

    crc = {"ChecksumCRC32": "jNwWgw=="}
    with pytest.raises(ClientError, match="expected checksum Type: null, actual checksum Type: crc32"):
        send(crc)
    assert send(crc, ChecksumAlgorithm="CRC32")
