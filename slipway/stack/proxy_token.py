"""The token in the signing proxy's URL. It stays the same for a deployment, so that bookmarks and shells keep
working.
"""

import hmac
import os
import secrets
from base64 import urlsafe_b64encode
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

_LENGTH = 32  # characters of 64 kinds, so nobody can guess the token


def token_of(deployment: str) -> str:
    """Derive the token from the deployment's name and a secret that only this user can read."""
    return urlsafe_b64encode(hmac.digest(_secret(), deployment.encode(), "sha256"))[:_LENGTH].decode()


def _secret() -> bytes:
    """Read the secret from the user's file, and create it first if necessary.

    If no file can be written, the secret is good for this run only.
    """
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "slipway" / "proxy-secret"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            with NamedTemporaryFile(dir=path.parent) as new, suppress(FileExistsError):  # only this user may read it
                new.write(secrets.token_bytes(_LENGTH))
                new.flush()
                os.link(new.name, path)  # atomic, because two processes may begin at once
        return path.read_bytes()
    except OSError:
        return secrets.token_bytes(_LENGTH)
