"""The authorizer in front of every route of an API with keys: hands the key on to API Gateway's usage plans."""

import json
import os
import time
from hashlib import sha256
from math import inf
from typing import Any

from inference_api.keys.named_key import PREFIX_LENGTH, prefix_of

_VARIABLE = "API_KEYS"  # limits by the key's name, and `expires` in seconds since the epoch
_named = {
    prefix_of(name): {"key": name, **of_key} for name, of_key in json.loads(os.environ.get(_VARIABLE, "{}")).items()
}


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Allow a key on all routes, because API Gateway keeps the answer for all of them.

    API Gateway itself refuses a key that no usage plan has. The key's first characters tell its name. An expired key is
    denied; an error instead would set off an alarm.
    """
    key = event["authorizationToken"].rpartition(" ")[2]
    of_key = _named.get(key[:PREFIX_LENGTH], {})
    effect = "Deny" if of_key.get("expires", inf) <= time.time() else "Allow"
    every_route = "/".join(event["methodArn"].split("/")[:2]) + "/*"
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": every_route}
    return {
        "principalId": sha256(key.encode()).hexdigest()[:32],
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        # Texts only, because API Gateway would format numbers in its own way, such as "1.0E12".
        "context": {name: str(value) for name, value in of_key.items()},
        "usageIdentifierKey": key,
    }
