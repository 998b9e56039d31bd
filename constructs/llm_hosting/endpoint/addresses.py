"""Where an endpoint is found: its ARN, its URL for invocations, its page in the console."""

import aws_cdk as cdk


def arn_of(kind: str, name: str) -> str:
    """Return the ARN of an `endpoint` or an `inference-component`."""
    return f"arn:{cdk.Aws.PARTITION}:sagemaker:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:{kind}/{name}"


def url_of(endpoint_name: str) -> str:
    """Return SageMaker's own URL for invocations."""
    return f"https://runtime.sagemaker.{cdk.Aws.REGION}.{cdk.Aws.URL_SUFFIX}/endpoints/{endpoint_name}/invocations"


def page_of(endpoint_name: str) -> str:
    """Return the endpoint in SageMaker's console, whose "View in SageMaker Insights" shows the detailed metrics."""
    region = cdk.Aws.REGION
    return f"https://{region}.console.aws.amazon.com/sagemaker/home?region={region}#/endpoints/{endpoint_name}"
