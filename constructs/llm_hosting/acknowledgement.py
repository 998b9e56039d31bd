"""Acknowledgements of cdk-nag findings, each with a reason that a security reviewer can check."""

import aws_cdk as cdk
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: dict[str, str]) -> None:
    """reasons: by id, such as `AwsSolutions-IAM5[Resource::*]`; the report shows only ids with their pack in front."""
    acknowledgments = [
        cdk.Acknowledgment(id=f"{finding.partition('-')[0]}::{finding}", reason=reason)
        for finding, reason in reasons.items()
    ]
    cdk.Validations.of(construct).acknowledge(*acknowledgments)
