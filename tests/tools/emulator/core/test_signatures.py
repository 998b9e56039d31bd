"""The local cloud refuses the signatures that AWS refuses."""

from collections.abc import Callable

import pytest
import requests
from botocore.auth import S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.compat import HTTPHeaders
from botocore.credentials import Credentials

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION

IDENTITY = "?Action=GetCallerIdentity&Version=2011-06-15"


class WithoutHost:
    """A signer that signs every header except the host."""

    def headers_to_sign(self, request: AWSRequest) -> HTTPHeaders:
        headers: HTTPHeaders = super().headers_to_sign(request)  # type: ignore[misc]
        del headers["host"]
        headers["x-other"] = "signed in its place"
        return headers


class HeaderWithoutHost(WithoutHost, SigV4Auth): ...  # type: ignore[misc]


class QueryWithoutHost(WithoutHost, SigV4QueryAuth): ...  # type: ignore[misc]


class S3QueryWithoutHost(WithoutHost, S3SigV4QueryAuth): ...  # type: ignore[misc]


def key(cloud: LocalCloud) -> Credentials:
    return Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)


def call(url: str, auth: Callable[[], SigV4Auth]) -> requests.Response:
    request = AWSRequest("GET", url)
    auth().add_auth(request)
    return requests.get(request.url, headers={**dict(request.headers), "x-other": "signed in its place"}, timeout=30)


@pytest.fixture(scope="module")
def stored(bare_cloud: LocalCloud) -> str:
    """The URL of a stored object."""
    s3 = bare_cloud.client("s3", region=REGION)
    s3.create_bucket(Bucket="signed-for")
    s3.put_object(Bucket="signed-for", Key="object", Body=b"read")
    return f"{bare_cloud.url}/signed-for/object"


def test_a_link_is_followed_until_it_expires(bare_cloud: LocalCloud, stored: str) -> None:
    answer = call(stored, lambda: S3SigV4QueryAuth(key(bare_cloud), "s3", REGION, expires=300))
    assert (answer.status_code, answer.text) == (200, "read")
    assert call(bare_cloud.url + IDENTITY, lambda: SigV4QueryAuth(key(bare_cloud), "sts", REGION, expires=604_800)).ok


@pytest.mark.parametrize("expires", [-1, 604_801, 10**12])
def test_a_signed_link_is_valid_for_a_week_at_most_and_for_no_negative_time(
    bare_cloud: LocalCloud, stored: str, expires: int
) -> None:
    answers = (
        call(stored, lambda: S3SigV4QueryAuth(key(bare_cloud), "s3", REGION, expires=expires)),
        call(bare_cloud.url + IDENTITY, lambda: SigV4QueryAuth(key(bare_cloud), "sts", REGION, expires=expires)),
    )
    for answer in answers:
        assert not answer.ok
        assert "AuthorizationQueryParametersError" in answer.text


def test_a_signature_that_leaves_out_the_host_is_refused(bare_cloud: LocalCloud, stored: str) -> None:
    answers = {
        "header": call(bare_cloud.url + IDENTITY, lambda: HeaderWithoutHost(key(bare_cloud), "sts", REGION)),
        "query": call(bare_cloud.url + IDENTITY, lambda: QueryWithoutHost(key(bare_cloud), "sts", REGION)),
        "header for S3": call(stored, lambda: HeaderWithoutHost(key(bare_cloud), "s3", REGION)),
        "link to an object": call(stored, lambda: S3QueryWithoutHost(key(bare_cloud), "s3", REGION)),
    }
    for kind, answer in answers.items():
        assert answer.status_code in (400, 403), kind
        assert "'Host'" in answer.text or "headers present in the request which were not signed" in answer.text, kind
