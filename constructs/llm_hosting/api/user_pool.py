"""A Cognito user pool as the issuer of tokens, with a client for programs."""

import aws_cdk as cdk
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from .. import DEPLOYMENT_TAG
from ..acknowledgement import acknowledge

_RESOURCE_SERVER = "slipway"
_SCOPE = "call"
_LIFETIME = cdk.Duration.hours(1)
_PROGRAMS = (
    "The pool's only client is for programs, which have a secret and no password. Nobody can sign up, and people are "
    "added by the owner of the pool; threat protection is priced for each of them."
)


class UserPool(Construct):
    """issuer: `iss` of its tokens. client_id: of the stack's own client. outputs: what a program needs for a token."""

    def __init__(self, scope: Construct, construct_id: str, *, service_name: str) -> None:
        super().__init__(scope, construct_id)
        stack = cdk.Stack.of(self)
        pool = cognito.UserPool(
            self,
            "Pool",
            self_sign_up_enabled=False,
            account_recovery=cognito.AccountRecovery.NONE,
            mfa=cognito.Mfa.REQUIRED,
            mfa_second_factor=cognito.MfaSecondFactor(otp=True, sms=False),
            password_policy=cognito.PasswordPolicy(
                min_length=12, require_digits=True, require_lowercase=True, require_symbols=True, require_uppercase=True
            ),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        cdk.Tags.of(pool).add(DEPLOYMENT_TAG, service_name)
        acknowledge(pool, dict.fromkeys(("AwsSolutions-COG3", "AwsSolutions-COG8"), _PROGRAMS))
        scope_of_calls = cognito.ResourceServerScope(scope_name=_SCOPE, scope_description="Call the API")
        server = pool.add_resource_server("Server", identifier=_RESOURCE_SERVER, scopes=[scope_of_calls])
        client = pool.add_client(
            "Client",
            generate_secret=True,
            access_token_validity=_LIFETIME,
            auth_flows=cognito.AuthFlow(user=False),
            enable_token_revocation=True,
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(client_credentials=True),
                scopes=[cognito.OAuthScope.resource_server(server, scope_of_calls)],
            ),
        )
        # Names of domains are shared by all accounts of a region. The stack's id holds a UUID.
        stack_uuid = cdk.Fn.select(2, cdk.Fn.split("/", stack.stack_id))
        domain = pool.add_domain(
            "Domain",
            cognito_domain=cognito.CognitoDomainOptions(domain_prefix=f"{self.node.addr[-8:]}-{stack_uuid}"),
        )
        self.issuer = f"https://cognito-idp.{stack.region}.{stack.url_suffix}/{pool.user_pool_id}"
        self.client_id = client.user_pool_client_id
        self.outputs = {
            "UserPoolId": pool.user_pool_id,
            "TokenClientId": self.client_id,
            "TokenUrl": f"{domain.base_url()}/oauth2/token",
            "TokenScope": f"{_RESOURCE_SERVER}/{_SCOPE}",
        }
