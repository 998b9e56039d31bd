"""The methods of a deployed API, as API Gateway knows them."""

from slipway.stack.deployed_stack import DeployedStack


def methods_of(stack: DeployedStack) -> dict[tuple[str, str], str]:
    """Return the authorizationType of each method, by verb and path. The stack must have an API."""
    (api_id,) = stack.resources["AWS::ApiGateway::RestApi"]
    pages = stack.clients("apigateway").get_paginator("get_resources").paginate(restApiId=api_id, embed=["methods"])
    return {
        (verb, resource["path"].replace("+}", "}")): method["authorizationType"]
        for page in pages
        for resource in page["items"]
        for verb, method in resource.get("resourceMethods", {}).items()
    }
