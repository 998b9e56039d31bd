"""AWS errors as one sentence."""

from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError
from botocore.exceptions import ConnectionError as BotoConnectionError

from slipway.shared.aws_clients import is_local

_BAD_CREDENTIALS = (
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
    "SignatureDoesNotMatch",
)
_BAD_HERE = ("InvalidClientTokenId", "UnrecognizedClientException")  # also if the account has not enabled the region


class UnreachableApiError(BotoConnectionError):  # type: ignore[misc]
    """A deployed API can't be reached from here; `problem` is one sentence with the fix."""

    fmt = "{problem}"


class NoTokenError(BotoCoreError):  # type: ignore[misc]
    """There is no token to call an API with; the message is one sentence."""

    fmt = "{message}"


def sentence(error: BotoCoreError | ClientError) -> str:
    """Return the message to print instead of a traceback."""
    if isinstance(error, NoCredentialsError):
        return "There are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    if isinstance(error, NoRegionError):
        return "No region is named: use --region, or set AWS_REGION."
    if isinstance(error, EndpointConnectionError) and is_local(url := str(error.kwargs["endpoint_url"])):
        return (
            f"The local cloud at {url.rstrip('/')} has ended: start `slipway local` again, "
            'then `eval "$(slipway env)"` again.'
        )
    if isinstance(error, NoTokenError | UnreachableApiError):
        return str(error)
    if isinstance(error, BotoCoreError):
        return f"AWS could not be asked: {' '.join(str(error).split())}"
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code in _BAD_HERE:
        return f"AWS does not accept the credentials ({code}): get new ones, or enable the region in the account."
    if code in _BAD_CREDENTIALS:
        return f"AWS does not accept the credentials ({code}): get new ones."
    if code in ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation"):
        return f"AWS does not allow {error.operation_name}: {message or code}"
    return f"{error.operation_name} failed: {message or code}"
