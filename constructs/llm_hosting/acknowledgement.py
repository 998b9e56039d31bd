"""Acknowledges findings of cdk-nag where they arise, with a reason that a security reviewer can check."""

import aws_cdk as cdk
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: dict[str, str]) -> None:
    """By id, such as `AwsSolutions-IAM5[Resource::*]`; the pack is put before it, or the report would not show it."""
    acknowledgments = [
        cdk.Acknowledgment(id=f"{finding.partition('-')[0]}::{finding}", reason=reason)
        for finding, reason in reasons.items()
    ]
    cdk.Validations.of(construct).acknowledge(*acknowledgments)
