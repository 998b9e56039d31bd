"""Hostile bodies and other callers' ids get a 4xx in our shape, and write nothing."""

import json
import secrets
from dataclasses import replace
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.stacks.deployed_stacks import Apis, assert_refused, caller_of, ended, resource_ids

MODES = ["gpt2", "async"]
BODY = {"inputs": "The sea is", "parameters": {"max_new_tokens": 3}}


def stored(cloud: LocalCloud, stack: Stack) -> set[str]:
    """Return the keys of all items and objects that a deployment's jobs have left."""
    (table,), (bucket,) = (resource_ids(cloud, stack, kind) for kind in ("AWS::DynamoDB::Table", "AWS::S3::Bucket"))
    scan = cloud.client("dynamodb", region=stack.region).get_paginator("scan").paginate(TableName=table)
    listing = cloud.client("s3", region=stack.region).get_paginator("list_objects_v2").paginate(Bucket=bucket)
    items = {str(item["pk"]) for page in scan for item in page["Items"]}
    return items | {found["Key"] for page in listing for found in page.get("Contents", [])}


HOSTILE = {
    "no body": b"",
    "no object": b"[]",
    "null": b"null",
    "empty object": b"{}",
    "empty list": b'{"inputs": []}',
    "empty text": b'{"inputs": ""}',
    "wrong type": b'{"inputs": {"a": 1}}',
    "list of wrong types": b'{"inputs": ["a", 1]}',
    "NaN": b'{"inputs": "a", "parameters": {"temperature": NaN}}',
    "Infinity": b'{"inputs": "a", "parameters": {"temperature": -Infinity}}',
    "huge number": b'{"inputs": "a", "parameters": {"temperature": 1e999}}',
    "huge integer": b'{"inputs": "a", "parameters": {"max_new_tokens": ' + b"9" * 5000 + b"}}",
    "true as a number": b'{"inputs": "a", "parameters": {"max_new_tokens": true}}',
    "deep": b'{"inputs": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "duplicate keys": b'{"inputs": "a", "inputs": "b"}',
    "lone surrogate": b'{"inputs": "\\ud800"}',
    "too large": b'{"inputs": "' + b"x" * 131_072 + b'"}',
    "10 MB": b'{"inputs": "' + b"x" * (10 * 1024 * 1024) + b'"}',
    "stream": b'{"inputs": "a", "stream": true}',
}


@pytest.mark.parametrize("mode", MODES)
def test_nothing_hostile_is_accepted_and_nothing_is_written(
    apis: Apis, cloud: LocalCloud, stacks: dict[str, Stack], mode: str
) -> None:
    client = apis(mode)
    for job in client.call("GET", "/jobs?limit=100")[2]["jobs"]:
        ended(client, job)  # left by other tests
    before = stored(cloud, stacks[mode])
    for name, body in HOSTILE.items():
        status, headers, answer = client.send("POST", "/jobs", body, {"content-type": "application/json"})
        assert 400 <= status < 500, (name, status, answer)
        assert set(answer["error"]) <= {"code", "message", "type", "param", "field"}, name
        assert len(headers["x-request-id"]) > 10, name
    assert stored(cloud, stacks[mode]) <= before  # expired ones may go


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\u00e9", "a\tb"])
def test_an_idempotency_key_is_printable_ascii_of_at_most_255(apis: Apis, key: str) -> None:
    headers: Any = {"content-type": "application/json", "Idempotency-Key": key.encode() if key == "caf\u00e9" else key}
    answer = apis("gpt2").send("POST", "/jobs", json.dumps(BODY).encode(), headers)
    assert_refused(answer, 400, "invalid_idempotency_key", "255")


@pytest.mark.parametrize("wait", ["26", "-1", "1.5", "x", ""])
@pytest.mark.parametrize(("method", "path"), [("POST", "/jobs"), ("GET", "/jobs/" + "0" * 32)])
def test_an_invalid_wait_is_refused_first(apis: Apis, method: str, path: str, wait: str) -> None:
    assert_refused(
        apis("gpt2").call(method, f"{path}?wait={wait}", BODY if method == "POST" else None),
        400,
        "invalid_parameter",
        "wait",
    )


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "next=x", "next=..%2F..", "next="])
def test_an_invalid_page_is_refused(apis: Apis, query: str) -> None:
    assert_refused(apis("gpt2").call("GET", f"/jobs?{query}"), 400, "invalid_parameter", query.partition("=")[0])


@pytest.fixture(scope="module")
def foreign_job(apis: Apis) -> str:
    """Submit a job as the owner; the tests ask for it as another caller."""
    _, _, job = apis("gpt2").call("POST", "/jobs", BODY)
    return str(ended(apis("gpt2"), job)["id"])


@pytest.fixture(scope="module")
def stranger(apis: Apis, cloud: LocalCloud, stacks: dict[str, Stack]) -> ApiClient:
    """Return another IAM user's client of the same API."""
    return caller_of(cloud, apis("gpt2"), "stranger")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize(
    "job_id",
    [
        "foreign",
        "0123456789abcdef0123456789abcdef",
        "0" * 31,
        "G" * 32,
        "..%2F..%2Fjobs",
        "%00",
        "%2e%2e",
        "job%230123456789abcdef0123456789abcdef",
        "x" * 3000,
        "%F0%9F%98%80",
    ],
)
def test_an_id_that_is_not_yours_looks_like_one_that_never_was(
    stranger: ApiClient, foreign_job: str, method: str, job_id: str
) -> None:
    never_was = stranger.call(method, f"/jobs/{secrets.token_hex(16)}")
    found = stranger.call(method, f"/jobs/{foreign_job if job_id == 'foreign' else job_id}")
    assert_refused(found, 404, "job_not_found")
    assert found[2] == never_was[2]
    assert set(found[1]) == set(never_was[1])


def test_a_foreign_job_is_in_no_list_and_survives_a_strangers_cancel(
    apis: Apis, stranger: ApiClient, foreign_job: str
) -> None:
    stranger.call("DELETE", f"/jobs/{foreign_job}")
    _, _, listed = stranger.call("GET", "/jobs")
    assert foreign_job not in [job["id"] for job in listed["jobs"]]
    assert apis("gpt2").call("GET", f"/jobs/{foreign_job}")[2]["status"] == "succeeded"


def test_a_page_token_of_another_caller_opens_nothing(apis: Apis, stranger: ApiClient) -> None:
    for _ in range(2):
        apis("gpt2").call("POST", "/jobs", BODY)
    _, _, page = apis("gpt2").call("GET", "/jobs?limit=1")
    assert page["next"]
    status, _, found = stranger.call("GET", f"/jobs?limit=100&next={page['next']}")
    assert (status, found["jobs"]) == (200, [])


def test_nobody_gets_in_without_a_signature(apis: Apis) -> None:
    nobody = replace(apis("gpt2"), credentials=None)
    for method, path in (("POST", "/jobs"), ("GET", "/jobs"), ("GET", "/jobs/x"), ("DELETE", "/jobs/x")):
        status, _, answer = nobody.call(method, path, BODY if method == "POST" else None)
        assert (status, set(answer)) == (403, {"error"})
