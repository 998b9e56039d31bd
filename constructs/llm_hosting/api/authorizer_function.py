"""The permission of an API's authorizers to call their function."""

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


def for_authorizers(scope: Construct, function: lambda_.Function, api: apigateway.RestApi) -> lambda_.IFunction:
    """Let the API's authorizers call a function, and return it for them. The CDK would add a permission for each."""
    function.add_permission(
        "FromApi",
        principal=iam.ServicePrincipal("apigateway.amazonaws.com"),
        source_arn=cdk.Stack.of(scope).format_arn(
            service="execute-api", resource=api.rest_api_id, resource_name="authorizers/*"
        ),
    )
    return lambda_.Function.from_function_attributes(
        scope, "Permitted", function_arn=function.function_arn, skip_permissions=True
    )
