"""Cases of the preflight's rules, one module for each module of rules; and what they change: a good deployment."""

from typing import Any, NamedTuple

from llm_hosting.deployment import Deployment
from llm_hosting.preflight.check import check as findings_of
from llm_hosting.preflight.finding import Finding

Changes = dict[str, Any]

KEY = "arn:aws:kms:us-east-1:111122223333:key/1111abcd"
TOPIC = "arn:aws:sns:us-east-1:111122223333:on-call"
SECRET = "arn:aws:secretsmanager:us-east-1:111122223333:secret:hub-token-a1b2c3"
OWN_REGISTRY = "444455556666.dkr.ecr.us-west-2.amazonaws.com"
LEVELS = ("error", "warning", "unknown")
ASYNC = {"mode": "async", "instance_count": {"min": 0, "max": 2}}

GOOD: Changes = {
    "model": {"id": "Qwen/Qwen3-4B"},
    "hosting": {"instance_type": "ml.g6.2xlarge"},
    "preflight": {"silenced": {"legacy-engine": "of the cases, some are about engines that ended"}},
}


class Broken(NamedTuple):
    """A deployment of which one rule speaks: with this level, of this field, in a sentence that holds these words.

    beside: rules that have to speak of it, too.
    """

    rule: str
    level: str
    field: str
    changes: Changes
    words: str
    beside: frozenset[str] = frozenset()


class Kept(NamedTuple):
    """A deployment of which the rule has nothing to say, often just across the threshold from a broken one."""

    rule: str
    changes: Changes


def deployment(changes: Changes) -> Deployment:
    """The good deployment with these sections changed, setting by setting; a section that is no mapping is replaced."""
    merged = dict(GOOD)
    for section, value in changes.items():
        merged[section] = {**GOOD.get(section, {}), **value} if isinstance(value, dict) else value
    return Deployment.model_validate(merged)


def said(changes: Changes, level: str) -> list[Finding]:
    """The findings of this level and of higher ones; notes are a matter of their own."""
    shown = {"note"} if level == "note" else set(LEVELS[: LEVELS.index(level) + 1])
    return [finding for finding in findings_of(deployment(changes)) if finding.level in shown]
