"""The authorizer in front of every route of an API with `auth: jwt`: checks the token and names its caller."""

import os
import time
from functools import cache
from typing import Any

from inference_api.shared.log import log
from inference_api.tokens.issuer_keys import IssuerKeys, IssuerUnavailableError
from inference_api.tokens.token import Caller, InvalidTokenError, MissingClaimError, Rules, caller_of

_VARIABLE = "TOKEN_RULES"


@cache
def _rules() -> Rules:
    return Rules.from_json(os.environ[_VARIABLE])


@cache
def _keys() -> IssuerKeys:
    return IssuerKeys(_rules().issuer)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Allow the caller on all routes, because API Gateway keeps the answer for all of them.

    An exception with the text `Unauthorized` makes API Gateway answer 401, a denial 403, any other exception 503.
    """
    token = event["authorizationToken"].rpartition(" ")[2]
    every_route = "/".join(event["methodArn"].split("/")[:2]) + "/*"
    try:
        caller = caller_of(token, _rules(), _keys().key, time.time())
    except InvalidTokenError as error:
        log({"refused": str(error)})
        raise Exception("Unauthorized") from None
    except MissingClaimError as error:
        log({"refused": f"the claim {error}"})
        return _answer("nobody", "Deny", every_route, {})
    except IssuerUnavailableError as error:
        log({"issuer_unavailable": str(error)})
        raise
    return _answer(caller.subject, "Allow", every_route, _context(caller))


def _context(caller: Caller) -> dict[str, str]:
    """Return what the functions learn of the caller: texts only, because API Gateway formats numbers in its own way."""
    told = {"subject": caller.subject, "expires": str(caller.expires)}
    return told | ({"group": caller.group, **_rules().groups[caller.group]} if caller.group else {})


def _answer(principal: str, effect: str, resource: str, told: dict[str, str]) -> dict[str, Any]:
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": resource}
    return {
        "principalId": principal,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": told,
    }
