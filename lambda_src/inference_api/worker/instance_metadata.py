"""The id of the instance that this process runs on, from EC2's metadata service (IMDSv2)."""

import os
from urllib.request import ProxyHandler, Request, build_opener

_TIMEOUT_IN_SECONDS = 5
_TOKEN_IN_SECONDS = 60
# The variable that botocore reads, too.
_ENDPOINT = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
_direct = build_opener(ProxyHandler({}))


def instance_id() -> str:
    """Return the id of this instance. Raises OSError if the service does not answer."""
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_IN_SECONDS)}
    token = _ask("api/token", "PUT", lifetime)
    return _ask("meta-data/instance-id", "GET", {"X-aws-ec2-metadata-token": token})


def _ask(path: str, method: str, headers: dict[str, str]) -> str:
    endpoint = (os.environ.get(_ENDPOINT) or "http://169.254.169.254").rstrip("/")
    request = Request(f"{endpoint}/latest/{path}", method=method, headers=headers)
    with _direct.open(request, timeout=_TIMEOUT_IN_SECONDS) as answer:
        text: str = answer.read().decode()
    return text
