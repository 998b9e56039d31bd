"""Deployments for unit tests: a good one, and the same one with changes."""

import json
from dataclasses import MISSING, fields
from typing import Any

from llm_hosting.catalog.models import ModelShape
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.lock import HUB, VERSION, ModelLock, read_lock
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.hosting import Hosting
from llm_hosting.deployment.settings.shared_endpoint import Shared, SharedEndpoint
from llm_hosting.preflight.validation import validate
from llm_hosting.resolution import Resolution, resolve

Changes = dict[str, Any]

OWN_REGISTRY = "444455556666.dkr.ecr.us-west-2.amazonaws.com"
SECRET = "arn:aws:secretsmanager:us-east-1:111122223333:secret:hub-token-a1b2c3"
KEY = "arn:aws:kms:us-east-1:111122223333:key/1111abcd"
ASYNC = {"mode": "async", "instance_count": {"min": 0, "max": 2}}
ON_EC2: Changes = {
    "model": {"id": "openai-community/gpt2"},
    "serving": {"engine": "transformers"},
    "hosting": {"mode": "ec2", "instance_type": "c5.xlarge"},
}
GOOD: Changes = {"model": {"id": "Qwen/Qwen3-4B"}, "hosting": {"instance_type": "ml.g6.2xlarge"}}


def deployment(changes: Changes) -> Deployment:
    """Return the good deployment with these changes, setting by setting; a section that is not a mapping is replaced.

    `lock` is not a section of the file: it holds facts of the model's lock file, and the lock file's other members.
    `shared` is none either: it holds the file of the shared endpoint `gpus`, and `others`, the deployments on it.
    """
    changes = dict(changes)
    if place := changes.pop("shared", None):
        return _on_shared_endpoint(changes, dict(place))
    merged = dict(GOOD)
    for section, value in changes.items():
        merged[section] = {**GOOD.get(section, {}), **value} if isinstance(value, dict) else value
    facts = merged.pop("lock", None)
    made = Deployment.model_validate(merged)
    return made if facts is None else made.with_lock(lock_with(made.model.id, facts))


def _on_shared_endpoint(changes: Changes, place: Changes) -> Deployment:
    others = place.pop("others", {})
    endpoint = SharedEndpoint.model_validate(place)
    of_endpoint = {name: value for name, value in place.items() if name in Hosting.model_fields}
    of_endpoint.pop("instance_count", None)

    def on_it(own: Changes) -> Deployment:
        return deployment({**own, "hosting": {"endpoint": "shared/gpus", **of_endpoint, **own.get("hosting", {})}})

    shared = Shared("gpus", endpoint)
    return on_it(changes).on(shared, {name: on_it(own).on(shared) for name, own in others.items()})


def lock_with(model_id: str, facts: Changes) -> ModelLock:
    """Return the lock of a model at its newest commit; facts that are not given are unknown."""
    unknown = {each.name: None for each in fields(ModelShape) if each.default is each.default_factory is MISSING}
    del unknown["ids"], unknown["source"]
    given = {**unknown, "architecture": "", **facts}
    beside: Changes = {
        name: given.pop(name)
        for name in (
            "adapters",
            "custom_code",
            "modules",
            "tokenizer",
            "unreadable",
            "chat_template",
            "revision",
            "files",
        )
        if name in given
    }
    content = {**beside, "commit": "0" * 40, "source": HUB, "facts": given}
    return read_lock(json.dumps({"version": VERSION, "model": model_id, **content}), "tuned.lock.json")


def resolved(changes: Changes) -> Resolution:
    """Resolve the good deployment with these changes."""
    return resolve(deployment(changes))


def findings(changes: Changes) -> list[Finding]:
    """Return all findings of the good deployment with these changes."""
    return validate(resolved(changes))
