"""The script that a machine of `hosting.mode: ec2` runs at its first start."""

from collections.abc import Mapping
from pathlib import Path


def user_data(
    *, code: str, variables: Mapping[str, str], number: int, renewal: int, timeout: int, signal_url: str
) -> str:
    """Return user_data.sh with these values, which may hold CDK tokens.

    variables: each becomes a line NAME=value for systemd. A value must hold no line break and no backslash.
    timeout: how many seconds CloudFormation waits for the set-up.
    """
    values = {
        "@CODE@": code,
        "@ENVIRONMENT@": "\n".join(f"{name}={variables[name]}" for name in sorted(variables)),
        "@NUMBER@": str(number),
        "@RENEWAL@": str(renewal),
        "@REGION@": variables["AWS_REGION"],
        "@SIGNAL_URL@": signal_url,
        "@TIMEOUT@": str(timeout),
    }
    script = Path(__file__).with_name("user_data.sh").read_text()
    for placeholder, value in values.items():
        script = script.replace(placeholder, value)
    return script
