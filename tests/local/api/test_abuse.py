"""Hostile requests on every route, and callers who try to read what belongs to another, with each kind of caller."""

import gzip
import http.client
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from llm_hosting.api.routes import ROUTES
from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.stacks.deployed_stacks import Answer, Apis, caller_of, ended, ended_batch, resource_ids
from support.stand_ins.issuer import Issuer

DEPLOYMENTS = {"iam": "qwen3-4b", "api-key": "playground", "jwt": "with-jwt"}
BOUNDARY = "line-between"
JSON, FORM = "application/json", f"multipart/form-data; boundary={BOUNDARY}"
PROMPT = {"inputs": "The sea is", "parameters": {"max_new_tokens": 3}}
LINE = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "a", "max_tokens": 1}}
OWNED = [each for each in ROUTES if "{id}" in each.path]
_VECTORS = ("/embeddings", "/rerank")  # neither model makes them
POSTS = [each.path for each in ROUTES if each.method == "POST" and each.path not in (*_VECTORS, "/files")]
# Headers by which somebody may try to be another caller, or to turn a request into another one.
CLAIMS = (
    *("x-owner", "x-caller", "x-user", "x-forwarded-user", "x-remote-user", "x-principal-id", "x-amzn-oidc-identity"),
    *("x-api-key-id", "x-amz-security-principal", "openai-organization", "openai-project", "cookie"),
)
# What a request holds is read alike, whoever sends it.
ONE_KIND = pytest.mark.parametrize("door", ["api-key"], indirect=True)
TURNS = {"x-http-method-override": "DELETE", "x-method-override": "DELETE", "x-original-url": "/v1/jobs/x"}


@dataclass(frozen=True)
class Caller:
    """A client of a deployed API that sends its key as both kinds of routes want it."""

    api: ApiClient

    @property
    def secret(self) -> str | None:
        """Return the key or the token; None = the caller signs."""
        return self.api.api_key or self.api.token

    @property
    def bearer(self) -> dict[str, str]:
        """Return the header that OpenAI's routes read a key from; empty = the caller has none."""
        return {"authorization": f"Bearer {self.api.api_key}"} if self.api.api_key else {}

    def ask(
        self, method: str, path: str, data: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        kind = {} if data is None else {"content-type": JSON}
        return self.api.send(method, path, data, {**self.bearer, **kind, **(headers or {})})

    def raw(self, method: str, path: str, headers: Sequence[tuple[str, str]], data: bytes = b"") -> tuple[int, bytes]:
        """Send headers as they are, also twice; only for callers with a key or a token."""
        where = urlsplit(self.api.url)
        connection = http.client.HTTPConnection(where.netloc, timeout=60)
        connection.putrequest(method, where.path + path.lstrip("/"), skip_accept_encoding=True)
        key = str(self.secret)
        own = [("x-api-key", key), ("authorization", f"Bearer {key}"), ("content-length", str(len(data)))]
        for name, value in [*own, *headers, ("connection", "close")]:
            connection.putheader(name, value)
        connection.endheaders(data)
        with connection.getresponse() as answer:
            return answer.status, answer.read()


@dataclass(frozen=True)
class Door:
    """A deployed API with two callers, and the ids of what the first of them owns, by the first part of its route."""

    stack: Stack
    owner: Caller
    stranger: Caller
    ids: Mapping[str, str]


def form(*parts: tuple[str, str]) -> bytes:
    pieces = [f"--{BOUNDARY}\r\nContent-Disposition: form-data; {names}\r\n\r\n{text}" for names, text in parts]
    return "\r\n".join([*pieces, f"--{BOUNDARY}--\r\n"]).encode()


PURPOSE, FILE = ('name="purpose"', "batch"), ('name="file"; filename="in.jsonl"', json.dumps(LINE))


def another_caller(cloud: LocalCloud, api: ApiClient, issuer: Issuer) -> ApiClient:
    """Return a client of the same API as somebody else."""
    if api.token:
        return replace(api, token=issuer.token(sub="intruder"))
    if not api.api_key:
        return caller_of(cloud, api, "intruder")
    gateway = cloud.client("apigateway", region=api.region)
    stages = next(each for each in gateway.get_usage_plans()["items"] if each["apiStages"][0]["apiId"] in api.url)
    plan = gateway.create_usage_plan(name="intruder", apiStages=stages["apiStages"])  # without a throttle
    key = gateway.create_api_key(name="intruder", enabled=True, value=secrets.token_hex(16))
    gateway.create_usage_plan_key(usagePlanId=plan["id"], keyId=key["id"], keyType="API_KEY")
    return replace(api, api_key=key["value"])


@pytest.fixture(scope="module", params=DEPLOYMENTS)
def door(
    apis: Apis, cloud: LocalCloud, stacks: dict[str, Stack], issuer: Issuer, request: pytest.FixtureRequest
) -> Door:
    name = DEPLOYMENTS[request.param]
    api = apis(name)
    if request.param == "jwt":
        api = replace(api, token=issuer.token())
    owner = Caller(api)
    job = ended(api, api.call("POST", "/jobs", PROMPT)[2])
    file = owner.ask("POST", "/files", form(PURPOSE, FILE), {"content-type": FORM})[2]
    new = {"endpoint": "/v1/completions", "completion_window": "24h", "input_file_id": file["id"]}
    batch = owner.ask("POST", "/batches", json.dumps(new).encode())[2]
    ended_batch(api, batch, owner.bearer)
    ids = {"jobs": job["id"], "files": file["id"], "batches": batch["id"]}
    return Door(stacks[name], owner, Caller(another_caller(cloud, api, issuer)), ids)


def never_was(like: str) -> str:
    """Return an id of the same form that nobody ever had."""
    prefix, mark, rest = like.rpartition("-" if "-" in like else "_")
    return prefix + mark + secrets.token_hex(len(rest) // 2)


def kind_of(path: str) -> str:
    return path.split("/")[1]


@pytest.mark.parametrize("route", OWNED, ids=lambda route: route.id)
def test_what_belongs_to_another_looks_like_what_never_was(door: Door, route: Any) -> None:
    theirs = door.ids[kind_of(route.path)]
    unknown = never_was(theirs)
    answers = []
    for each in (unknown, theirs):
        path = route.path.replace("{id}", each)
        data = b"{}" if route.method == "POST" else None
        for claims in ({}, dict.fromkeys(CLAIMS, theirs), TURNS):
            status, headers, body = door.stranger.ask(route.method, f"{path}?owner={theirs}&caller=x", data, claims)
            answers.append((status, set(headers), json.dumps(body).replace(each, "ID")))
    assert answers[0][0] == 404
    assert len({str(sorted(each[1])) + each[2] for each in answers}) == 1, answers


@pytest.mark.parametrize("route", OWNED, ids=lambda route: route.id)
def test_no_spelling_of_an_id_opens_it(door: Door, route: Any) -> None:
    kind = kind_of(route.path)
    theirs = door.ids[kind]
    spellings = (
        *(theirs.upper(), f"{theirs}%00", f"{theirs};a=1", f"%20{theirs}", f"{theirs}%0d%0ax:y", f"%2e%2f{theirs}"),
        *(f"..%2F{kind}%2F{theirs}", f"x%2F..%2F{theirs}", f"..%252F{theirs}", f"%EF%BC%8F{theirs}", f"{theirs}%2F"),
        *("%2e%2e", "..", "*", "%25", "%F0%9F%98%80", "%ff", "a" * 3000, "__proto__", "$ne", "{}", "' or 1=1"),
    )
    for each in spellings:
        path = route.path.replace("{id}", each.replace(" ", "%20"))
        data = b"{}" if route.method == "POST" else None
        status, _, body = door.stranger.ask(route.method, path, data)
        assert status in (400, 403, 404), (each, status, body)
        assert set(body) == {"error"}, each


def test_a_list_shows_nothing_of_another_caller(door: Door) -> None:
    for kind, theirs in door.ids.items():
        for query in ("", f"?after={theirs}", f"?owner={theirs}", "?limit=100"):
            status, _, body = door.stranger.ask("GET", f"/{kind}{query}", None, dict.fromkeys(CLAIMS, theirs))
            assert status in (200, 400, 404), body
            assert not any(each in json.dumps(body).replace(query[7:], "") for each in door.ids.values())


def test_a_batch_reads_no_file_of_another_caller(door: Door) -> None:
    answers = []
    for file in (never_was(door.ids["files"]), door.ids["files"]):
        new = {"endpoint": "/v1/completions", "completion_window": "24h", "input_file_id": file}
        status, _, body = door.stranger.ask("POST", "/batches", json.dumps(new).encode())
        answers.append((status, json.dumps(body).replace(file, "ID")))
    assert answers[0] == answers[1]
    assert answers[0][0] in (400, 404)


def test_no_header_or_field_turns_a_request_into_another(door: Door) -> None:
    path = f"/jobs/{door.ids['jobs']}"
    for headers in (TURNS, {"x-http-method": "DELETE", "x-rewrite-url": "/v1/jobs"}):
        assert door.owner.ask("GET", f"{path}?_method=DELETE", None, headers)[2]["status"] == "succeeded"


def stored(cloud: LocalCloud, stack: Stack) -> set[str]:
    """Return the keys of all items and objects of a deployment."""
    (table,), (bucket,) = (resource_ids(cloud, stack, kind)[:1] for kind in ("AWS::DynamoDB::Table", "AWS::S3::Bucket"))
    scan = cloud.client("dynamodb", region=stack.region).get_paginator("scan").paginate(TableName=table)
    listing = cloud.client("s3", region=stack.region).get_paginator("list_objects_v2").paginate(Bucket=bucket)
    items = {str(item["pk"]) for page in scan for item in page["Items"]}
    return items | {found["Key"] for page in listing for found in page.get("Contents", [])}


DEEP = b"[" * 50_000
BODIES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", JSON),
    "no JSON": (b"\x00\xff\xfe{", JSON),
    "NUL": (b'{"inputs": "\x00"}', JSON),
    "a number": (b"9" * 100_000, JSON),
    "deep": (b'{"inputs": ' + DEEP, JSON),
    "deep and closed": (b'{"messages": ' + DEEP + b"]" * 50_000 + b"}", JSON),
    "huge exponent": (b'{"inputs": "a", "temperature": 1e99999, "parameters": {"temperature": 1e99999}}', JSON),
    "huge integer": (b'{"inputs": "a", "max_tokens": ' + b"9" * 5000 + b"}", JSON),
    "keys twice": (b'{"model": "a", "model": "b"}', JSON),
    "half a surrogate": (b'{"inputs": "\\ud800", "prompt": "\\udfff"}', JSON),
    "overlong UTF-8": (b'{"inputs": "\xc0\xaf"}', JSON),
    "UTF-16": ('{"inputs": "a"}'.encode("utf-16"), "application/json; charset=utf-16"),
    "zipped": (gzip.compress(b'{"inputs": "' + b"a" * 1_000_000 + b'"}'), JSON),
    "a form": (form(PURPOSE, FILE), FORM),
    "XML": (b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "text/xml"),
    "a prototype": (b'{"__proto__": {"inputs": "a"}, "constructor": 1}', JSON),
    "a type of its own": (b'{"inputs": {"$ref": "file:///etc/passwd"}}', JSON),
}


@ONE_KIND
@pytest.mark.parametrize("path", POSTS)
def test_a_hostile_body_is_refused_in_our_shape(door: Door, path: str) -> None:
    path = path.replace("{id}", never_was(door.ids["batches"]))
    for name, (body, kind) in BODIES.items():
        status, headers, answer = door.stranger.ask("POST", path, body, {"content-type": kind})
        assert 400 <= status < 500, (name, status, answer)
        assert {"code", "message", "type", "param"} <= set(answer["error"]), name
        assert headers["content-type"].startswith(JSON), name


FORMS: dict[str, tuple[bytes, str]] = {
    "no boundary": (form(PURPOSE, FILE), "multipart/form-data"),
    "an empty boundary": (form(PURPOSE, FILE), 'multipart/form-data; boundary=""'),
    "another boundary": (form(PURPOSE, FILE), "multipart/form-data; boundary=other"),
    "a long boundary": (form(PURPOSE, FILE), f"multipart/form-data; boundary={'b' * 5000}"),
    "no end": (form(PURPOSE, FILE)[:-10], FORM),
    "no file": (form(PURPOSE), FORM),
    "two files": (form(PURPOSE, FILE, FILE), FORM),
    "two purposes": (form(PURPOSE, PURPOSE, FILE), FORM),
    "another purpose": (form(('name="purpose"', "../batch"), FILE), FORM),
    "thousands of parts": (form(PURPOSE, *[('name="x"', "")] * 5000, FILE), FORM),
    "JSON": (json.dumps({"purpose": "batch", "file": "a"}).encode(), JSON),
    "nothing": (b"", FORM),
    "only a boundary": (f"--{BOUNDARY}".encode(), FORM),
    "a form in a form": (form(PURPOSE, ('name="file"; filename="a"', form(PURPOSE, FILE).decode())), FORM),
    "zipped": (gzip.compress(form(PURPOSE, FILE)), FORM),
}


@ONE_KIND
def test_a_hostile_form_is_refused(door: Door, cloud: LocalCloud) -> None:
    before = stored(cloud, door.stack)
    for name, (body, kind) in FORMS.items():
        status, _, answer = door.stranger.ask("POST", "/files", body, {"content-type": kind})
        assert 400 <= status < 500, (name, status, answer)
        assert set(answer) == {"error"}, name
    assert stored(cloud, door.stack) <= before


@ONE_KIND
@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "a\x00b", "a\r\nx: y", "x" * 5000, "\u202egpj.exe", "a\\b", '"']
)
def test_the_name_of_a_file_is_a_text_and_no_path(door: Door, name: str) -> None:
    part = (f'name="file"; filename="{name.replace(chr(34), "%22")}"', json.dumps(LINE))
    status, _, body = door.stranger.ask("POST", "/files", form(PURPOSE, part), {"content-type": FORM})
    assert status in (200, 400), body
    if status == 200:
        found = door.stranger.ask("GET", f"/files/{body['id']}/content")
        assert found[0] == 200
        assert "content-disposition" not in found[1]
        assert door.stranger.ask("DELETE", f"/files/{body['id']}")[0] == 200


@ONE_KIND
@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=-1", "limit=1e9", f"limit={'9' * 400}", "limit=%D9%A3", "limit=%EF%BC%91", "limit=0x1"),
        *("limit=%00", "limit=1%2C2", "limit=true", "limit=%F0%9F%98%80", "limit=", "limit=%2B1", "limit=1_0"),
    ],
)
def test_a_hostile_query_is_refused(door: Door, query: str) -> None:
    for kind in door.ids:
        status, _, body = door.stranger.ask("GET", f"/{kind}?{query}")
        assert (status, set(body)) == (400, {"error"}), (kind, body)


@pytest.mark.parametrize("door", ["api-key", "jwt"], indirect=True)  # a signature covers the headers
def test_headers_twice_or_too_large_open_nothing(door: Door) -> None:
    path = f"/jobs/{door.ids['jobs']}"
    owners = str(door.owner.secret)
    assert door.stranger.raw("GET", path, [("x-owner", "a"), ("x-owner", "b")])[0] == 404
    assert door.stranger.raw("GET", path, [("X-Api-Key", "x"), ("x-api-key", "y")])[0] in (401, 403, 404)
    assert door.stranger.raw("GET", path, [("x-filler", "x" * 7000)])[0] in (404, 413, 431)
    assert owners not in door.stranger.raw("GET", path, [("x-echo", "1")])[1].decode()
