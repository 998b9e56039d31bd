"""Deployments for unit tests: changes over a good one."""

from typing import Any

from llm_hosting.deployment import Deployment
from llm_hosting.finding import Finding
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
    """The good deployment with these sections changed, setting by setting; a section that is no mapping is replaced."""
    merged = dict(GOOD)
    for section, value in changes.items():
        merged[section] = {**GOOD.get(section, {}), **value} if isinstance(value, dict) else value
    return Deployment.model_validate(merged)


def resolved(changes: Changes) -> Resolution:
    """The resolution of the good deployment with these changes."""
    return resolve(deployment(changes))


def findings(changes: Changes) -> list[Finding]:
    """All findings of the good deployment with these changes."""
    return validate(resolved(changes))
