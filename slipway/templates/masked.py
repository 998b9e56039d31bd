"""Templates without what changes with every edit of the code, or with every release."""

import json
import re
from typing import Any


def masked(template: dict[str, Any]) -> Any:
    """Mask our version, and the hashes of code, artefacts and the API's methods, which the template also holds."""
    text = re.sub(r"(?<!sha256:)[0-9a-f]{64}", "<asset>", json.dumps(template))  # but an image's digest is its version
    text = re.sub(r'("mode": "[a-z0-9]+", "version": )"[^"]*"', r'\1"<version>"', text)  # Metadata.Slipway
    text = re.sub(r"(Role(?:Endpoint)?Artefacts)[0-9a-f]{8}[0-9A-F]{8}", r"\1", text)
    text = re.sub(r"(-Artefacts)[0-9a-f]{8}", r"\1", text)
    text = re.sub(r"(Machine\d+(?:Handle|SetUp|Template))[0-9a-f]{8}[0-9A-F]{8}", r"\1", text)
    return json.loads(re.sub(r"(RestApiDeployment[0-9A-F]{8})[0-9a-f]{32}", r"\1", text))
