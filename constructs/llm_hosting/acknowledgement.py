"""Acknowledgements of cdk-nag findings, each with a reason that a security reviewer can check."""

import aws_cdk as cdk
from constructs import IConstruct


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
