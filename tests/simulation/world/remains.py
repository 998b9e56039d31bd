"""All that a deployment holds while none of its functions runs: rows, objects, messages, requests at the endpoint."""

import json
from base64 import b64decode, b64encode
from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any

from simulation.aws.async_endpoint import Request
from simulation.aws.expressions import Item
from simulation.aws.s3 import Version
from simulation.aws.table import Table
from simulation.aws.table_items import checked_size, copied
from simulation.world.deployment import Deployment

_OF_A_REQUEST = [each.name for each in fields(Request) if each.name not in ("run", "over_at")]


@dataclass(frozen=True)
class Remains:
    """The state of a deployment at a moment, in seconds since the epoch.

    jobs, usage: the items of the two tables. objects: versions by key, the oldest first. uploads: parts by number.
    messages: bodies. requests: those that the asynchronous endpoint has not ended. callers: the principal to whom a
    job or a batch belongs, by id. keys: principal, idempotency key, prompt and id of jobs.
    """

    mode: str
    at: float
    jobs: list[Item]
    usage: list[Item]
    objects: dict[str, list[dict[str, Any]]]
    uploads: dict[str, dict[str, list[str]]]
    messages: list[str]
    requests: list[dict[str, Any]]
    callers: dict[str, str]
    keys: list[list[str]]

    @classmethod
    def of(cls, deployment: Deployment, callers: Mapping[str, str], keys: list[list[str]]) -> "Remains":
        """Copy the state of a running deployment."""
        objects = deployment.bucket.objects.items()
        open_requests = [each for each in deployment.requests if each.over_at == inf]
        return cls(
            mode=deployment.trial.mode,
            at=deployment.scheduler.now,
            jobs=[_as_json(each) for each in deployment.table.items.values()],
            usage=[_as_json(each) for each in deployment.usage.items.values()],
            objects={key: [each._asdict() | {"body": each.body.decode()} for each in found] for key, found in objects},
            uploads={
                upload: {str(part): [etag, body.decode()] for part, (etag, body) in parts.items()}
                for upload, parts in deployment.bucket.uploads.items()
            },
            messages=deployment.messages.bodies,
            requests=[{name: getattr(each, name) for name in _OF_A_REQUEST} for each in open_requests],
            callers=dict(callers),
            keys=keys,
        )

    def put_into(self, deployment: Deployment) -> None:
        """Let a new deployment hold this state. The functions of the earlier one have died."""
        _fill(deployment.table, self.jobs)
        _fill(deployment.usage, self.usage)
        bucket = deployment.bucket
        for key, versions in self.objects.items():
            bucket.objects[key] = [Version(**each | {"body": each["body"].encode()}) for each in versions]
            insort(bucket._sorted, key)
        for upload, parts in self.uploads.items():
            bucket.uploads[upload] = {int(part): (etag, body.encode()) for part, (etag, body) in parts.items()}
        for body in self.messages:
            deployment.messages.send(body)
        for request in self.requests:
            deployment.async_endpoint.take(Request(**request))

    @property
    def kinds(self) -> set[str]:
        """The kinds of rows and messages, with the states of those that have one."""
        return {
            *map(_kind, self.jobs),
            *("usage with an open call" for each in self.usage if any(name.startswith("open:") for name in each)),
            *("usage" for _ in self.usage),
            *("message that waited" for each in self.messages if json.loads(each).get("waits")),
            *("message" for _ in self.messages),
            *("request" for _ in self.requests),
        }


def _fill(table: Table, items: list[Item]) -> None:
    table.commit([(each["pk"]["S"], each, checked_size(each)) for each in map(_from_json, items)])


def _as_json(item: Item) -> Item:
    return {
        name: {"B": b64encode(value["B"]).decode()} if "B" in value else value for name, value in copied(item).items()
    }


def _from_json(item: Item) -> Item:
    return {name: {"B": b64decode(value["B"])} if "B" in value else value for name, value in copied(item).items()}


def _kind(item: Item) -> str:
    kind = item["pk"]["S"].partition("#")[0]
    if "data" in item:
        return f"{kind} {json.loads(item['data']['S']).get('status', '')}".strip()
    return f"{kind} {item['state']['S']}" if "state" in item else kind
