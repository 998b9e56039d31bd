"""Warns of feature flags of the CDK with which our templates are not tested."""

import json

import aws_cdk as cdk
from constructs import Construct

from ..home import HOME

# Found by synthesizing each mode with each flag of our cdk.json flipped; a test repeats it. One more flag has an
# effect, but only on what the stacks of a team pass to each other: defaultCrossStackReferences.
CHANGING = (
    "@aws-cdk/aws-apigateway:authorizerChangeDeploymentLogicalId",
    "@aws-cdk/aws-apigateway:logGroupDestinationArnWithoutWildcard",
    "@aws-cdk/aws-iam:minimizePolicies",
)
IN_A_KNOWN_REGION = "@aws-cdk/core:enablePartitionLiterals"


def warn_of_untested_flags(service: Construct) -> None:
    """Add a warning for each flag that changes our template and differs from the value that we test."""
    has_region = not cdk.Token.is_unresolved(cdk.Stack.of(service).region)
    tested = json.loads((HOME / "cdk.json").read_text())["context"]
    for flag in (*CHANGING, IN_A_KNOWN_REGION) if has_region else CHANGING:
        if (value := cdk.FeatureFlags.of(service).is_enabled(flag)) != tested[flag]:
            cdk.Annotations.of(service).add_warning_v2(
                f"@slipway/feature-flag:{flag.partition('/')[2]}",
                f"The feature flag {flag} is {json.dumps(value)}, but Slipway's templates are tested with "
                f"{json.dumps(tested[flag])}; set it so in the context of your cdk.json.",
            )
