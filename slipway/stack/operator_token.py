"""The token with which an operator calls an API with `auth: jwt`."""

import json
import os
import time
from base64 import b64encode
from urllib.parse import urlencode

from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session

from slipway.shared.aws_errors import NoTokenError
from slipway.stack.deployed_stack import DeployedStack

VARIABLE = "SLIPWAY_TOKEN"
_RENEWED_BEFORE_END_IN_SECONDS = 60


def takes_tokens(stack: DeployedStack) -> bool:
    """Return whether callers of the stack's API bring tokens."""
    return "TokenIssuer" in stack.outputs


class OperatorToken:
    """A token from SLIPWAY_TOKEN, or from the user pool that the stack has made, for which it is asked again in time.

    Like the stack's own API key, the secret of the pool's client is read with the operator's permissions on AWS.
    """

    def __init__(self, stack: DeployedStack) -> None:
        self._stack, self._of_pool, self._renewed_at = stack, "", 0.0

    def value(self) -> str:
        """Return a token. Raises NoTokenError and ClientError."""
        if given := os.environ.get(VARIABLE):
            return given
        if "TokenUrl" not in self._stack.outputs:
            issuer = self._stack.outputs["TokenIssuer"]
            raise NoTokenError(message=f"{self._stack.name} asks for a token of {issuer}: put one into {VARIABLE}.")
        if time.time() >= self._renewed_at:
            self._of_pool, lifetime = self._from_pool()
            self._renewed_at = time.time() + lifetime - _RENEWED_BEFORE_END_IN_SECONDS
        return self._of_pool

    def _from_pool(self) -> tuple[str, int]:
        """Return a token of the pool's client, and its lifetime in seconds."""
        outputs = self._stack.outputs
        described = self._stack.clients("cognito-idp").describe_user_pool_client(
            UserPoolId=outputs["UserPoolId"], ClientId=outputs["TokenClientId"]
        )["UserPoolClient"]
        pair = b64encode(f"{described['ClientId']}:{described['ClientSecret']}".encode()).decode()
        headers = {"authorization": f"Basic {pair}", "content-type": "application/x-www-form-urlencoded"}
        body = urlencode({"grant_type": "client_credentials", "scope": outputs["TokenScope"]})
        local = self._stack.local_cloud
        url = f"{local.rstrip('/')}/oauth2/token" if local else outputs["TokenUrl"]
        answer = URLLib3Session().send(AWSRequest("POST", url, headers, body).prepare())
        if answer.status_code != 200:
            raise NoTokenError(message=f"{url} gives no token: {answer.status_code} {answer.text[:200]}")
        given = json.loads(answer.content)
        return given["access_token"], int(given["expires_in"])
