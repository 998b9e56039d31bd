"""The keys of an issuer, read from its documents over HTTPS and kept in this process for a few minutes."""

import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPErrorProcessor, HTTPSHandler, OpenerDirector

from jwt import PyJWK, PyJWTError

from inference_api.http.strict_json import read_strict_json
from inference_api.shared.errors import ApiError
from inference_api.tokens.token import InvalidTokenError

# A key that the issuer has removed is accepted for this long at most, and API Gateway keeps an answer as long again.
KEPT_IN_SECONDS = 300
# After an unknown key, or a failure, the issuer is not asked again for this long: callers choose the key ids.
PAUSE_IN_SECONDS = 30
_TIMEOUT_IN_SECONDS = 2.0  # to connect, and for each read
_MOST_BYTES = 256 * 1024
_LEAST_BITS_OF_RSA = 2048  # RFC 7518, 3.3
# The key type, and curve, of each algorithm.
_KINDS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "EdDSA": ("OKP", "Ed25519"),
}


class IssuerUnavailableError(Exception):
    """The issuer's documents can't be read, so nobody can tell whether a token is valid."""


class _NoRedirects(HTTPErrorProcessor):
    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


class IssuerKeys:
    """The keys of one issuer."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._keys: list[Mapping[str, Any]] = []
        self._read_at = self._failed_at = float("-inf")

    def key(self, key_id: str, algorithm: str) -> Any:
        """Return the public key with this id for an algorithm.

        Raises InvalidTokenError if the issuer has none, IssuerUnavailableError if its keys can't be read.
        """
        if time.time() - self._read_at > KEPT_IN_SECONDS:
            self._read()
        found = self._find(key_id)
        if found is None and time.time() - self._read_at > PAUSE_IN_SECONDS:
            self._read()  # a new key, which the issuer has made since
            found = self._find(key_id)
        if found is None:
            raise InvalidTokenError("unknown key")
        return _public_key(found, algorithm)

    def _find(self, key_id: str) -> Mapping[str, Any] | None:
        return next((each for each in self._keys if each.get("kid") == key_id), None)

    def _read(self) -> None:
        if time.time() - self._failed_at < PAUSE_IN_SECONDS:
            raise IssuerUnavailableError("it failed a moment ago")
        try:
            described = _document(f"{self._issuer.removesuffix('/')}/.well-known/openid-configuration")
            if described.get("issuer") != self._issuer:
                raise IssuerUnavailableError("its discovery document names another issuer")
            keys = _document(described.get("jwks_uri")).get("keys")
            if not isinstance(keys, list) or not all(isinstance(each, dict) for each in keys):
                raise IssuerUnavailableError("its key set is malformed")
        except IssuerUnavailableError:
            self._failed_at = time.time()
            raise
        self._keys, self._read_at = keys, time.time()


def _document(url: Any) -> Mapping[str, Any]:
    """Read a JSON object over HTTPS, without proxies and redirects."""
    if not isinstance(url, str) or urlsplit(url).scheme != "https":
        raise IssuerUnavailableError("a document is not at an https URL")
    opener = OpenerDirector()
    for handler in (HTTPSHandler(), _NoRedirects()):
        opener.add_handler(handler)
    try:
        with opener.open(url, timeout=_TIMEOUT_IN_SECONDS) as answer:
            status, content = answer.status, answer.read(_MOST_BYTES + 1)
        document = read_strict_json(content) if status == 200 and len(content) <= _MOST_BYTES else None
    except (URLError, HTTPException, OSError, ValueError, ApiError) as error:
        raise IssuerUnavailableError(f"{type(error).__name__} at {urlsplit(url).hostname}") from None
    if not isinstance(document, dict):
        raise IssuerUnavailableError(f"status {status} or no JSON object at {urlsplit(url).hostname}")
    return document


def _public_key(described: Mapping[str, Any], algorithm: str) -> Any:
    """Return a key for an algorithm. The type and curve must be the algorithm's, so that no key is read as another."""
    kind = (described.get("kty"), described.get("crv"))
    fits = described.get("use", "sig") == "sig" and described.get("alg", algorithm) == algorithm
    if kind != _KINDS[algorithm] or not fits:
        raise InvalidTokenError("a key for something else")
    try:
        key = PyJWK(dict(described), algorithm).key
    except (PyJWTError, ValueError, TypeError):
        raise InvalidTokenError("a malformed key") from None
    if kind[0] == "RSA" and key.key_size < _LEAST_BITS_OF_RSA:
        raise InvalidTokenError("a short key")
    return key
