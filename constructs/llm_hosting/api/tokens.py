"""The authorizer of an API whose callers bring tokens of an OpenID Connect issuer."""

from dataclasses import replace

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..deployment.settings.jwt import Jwt
from .authorizer_function import for_authorizers
from .handler_function import ARCHITECTURES, RUNTIME, HandlerFunction, Handlers
from .layer.archive import layer_archive, layer_hash
from .user_pool import UserPool

# The issuer's two documents, each within 2 s for a read; then the check.
_TIMEOUT = cdk.Duration.seconds(10)
# An answer is kept for this long, but the functions refuse a token that has expired meanwhile.
_ANSWER_KEPT = cdk.Duration.minutes(5)
_PART = "[A-Za-z0-9_-]+"
_BEARER = "[Bb][Ee][Aa][Rr][Ee][Rr]"
_NO_RETRY = "Called synchronously by API Gateway only: it refuses the caller."


class TokenAuthorizer(Construct):
    """authorizer: reads `Authorization: Bearer <token>`, on every route. outputs: of the stack; what callers need."""

    def __init__(
        self, scope: Construct, construct_id: str, *, api: apigateway.RestApi, settings: Jwt, handlers: Handlers
    ) -> None:
        super().__init__(scope, construct_id)
        stack = cdk.Stack.of(self)
        issuer, audience, self.outputs = settings.issuer or "", settings.audience, {}
        if settings.user_pool:
            pool = UserPool(self, "UserPool", service_name=handlers.surroundings.name)
            issuer, audience, self.outputs = pool.issuer, [pool.client_id, *audience], pool.outputs
        self.outputs = {"TokenIssuer": issuer, **self.outputs}
        architecture = handlers.settings.architecture
        layer = lambda_.LayerVersion(
            self,
            "Packages",
            code=lambda_.Code.from_asset(str(layer_archive(architecture)), asset_hash=layer_hash(architecture)),
            compatible_architectures=[ARCHITECTURES[architecture]],
            compatible_runtimes=[RUNTIME],
        )
        rules = stack.to_json_string(settings.rules(issuer, audience))
        # Outside of a VPC, which may have no way to the issuer. It calls no service of AWS.
        outside = replace(handlers.surroundings, network=None)
        variables = {"TOKEN_RULES": rules} | ({"TRACING": "on"} if handlers.traces else {})
        function = HandlerFunction(
            self,
            "AuthorizeToken",
            handler="authorize_token",
            timeout=_TIMEOUT,
            failures=_NO_RETRY,
            handlers=replace(handlers, environment=variables, surroundings=outside),
            layers=[layer],
        ).function
        self.authorizer = apigateway.TokenAuthorizer(
            self,
            "Authorizer",
            handler=for_authorizers(self, function, api),
            validation_regex=rf"^{_BEARER} +{_PART}\.{_PART}\.{_PART}$",  # else a 401 without a call of the function
            results_cache_ttl=_ANSWER_KEPT,
        )
