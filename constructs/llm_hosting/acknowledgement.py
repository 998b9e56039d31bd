"""Acknowledgements of cdk-nag findings, each with a reason that a security reviewer can check."""

import json
from typing import Any

import aws_cdk as cdk
from constructs import Construct, IConstruct


def acknowledge(construct: IConstruct, reasons: dict[str, str]) -> None:
    """Acknowledge cdk-nag findings on a construct.

    reasons: the reason by the finding's id, such as `AwsSolutions-IAM5[Resource::*]`. The id must begin with its pack:
    the report leaves out any other.
    """
    acknowledgments = [
        cdk.Acknowledgment(id=f"{finding.partition('-')[0]}::{finding}", reason=reason)
        for finding, reason in reasons.items()
    ]
    cdk.Validations.of(construct).acknowledge(*acknowledgments)


def resource_in_findings(scope: Construct, text: str) -> str:
    """Return a text as findings spell it: references in angle brackets, other functions of CloudFormation as JSON."""
    resolved: Any = cdk.Stack.of(scope).resolve(text)
    parts = resolved["Fn::Join"][1] if isinstance(resolved, dict) and "Fn::Join" in resolved else [resolved]
    return "".join(map(_spelt, parts))


def _spelt(part: Any) -> str:
    if isinstance(part, str):
        return part
    return f"<{part['Ref']}>" if "Ref" in part else json.dumps(part, separators=(",", ":"))
