"""Creates in the local cloud the KMS keys that a deployment names, as preflight assumes them."""

import json
import urllib.request

from .cloud import ACCOUNT, LocalCloud


def put_key(cloud: LocalCloud, arn: str) -> None:
    """Create the user's key in the account of the local cloud, with the policy that docs/encryption.md asks for."""
    key = json.dumps({"account": ACCOUNT, "arn": arn}).encode()
    urllib.request.urlopen(f"{cloud.url}/_slipway/key", key, timeout=60).close()
