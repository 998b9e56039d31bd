"""A caller's token: signature, issuer, audience, times, claims, and the group whose limits count."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import jwt

from inference_api.http.strict_json import read_strict_json
from inference_api.shared.errors import ApiError

# Without `none` and HS256: whoever knows the issuer's public key could use it as the secret of HS256.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
_TYPES = ("jwt", "at+jwt", "application/at+jwt")  # a logout token or a proof of possession has another one
_LONGEST_IN_BYTES = 8192  # API Gateway takes 10,240 bytes for all headers
_CLOCKS_DIFFER_BY_SECONDS = 60
_OF_SCOPES = ("scope", "scp")  # texts whose words are values

FindKey = Callable[[str, str], Any]


class InvalidTokenError(Exception):
    """The token proves nothing; the text says why, without anything from the token."""


class MissingClaimError(Exception):
    """The token is valid, but lacks a claim or a group. The text names the claim."""


@dataclass(frozen=True)
class Rules:
    """What a token must say.

    claims: accepted values by claim. groups: limits, as texts, by group, the first one that a token names first.
    """

    issuer: str
    audience: tuple[str, ...]
    claims: Mapping[str, list[Any]]
    groups_claim: str
    groups: Mapping[str, Mapping[str, str]]

    @classmethod
    def from_json(cls, text: str) -> "Rules":
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Caller:
    """The caller that a token names.

    subject: a hash of issuer and `sub`. expires: in seconds since the epoch. group: None = the API has no groups.
    """

    subject: str
    expires: float
    group: str | None


def caller_of(token: str, rules: Rules, key_of: FindKey, now: float) -> Caller:
    """Check a token and return its caller.

    key_of: finds the issuer's key by key id and algorithm; raises InvalidTokenError if there is none.

    Raises InvalidTokenError and MissingClaimError, and the errors of `key_of`.
    """
    claims = _verified_claims(token, key_of)
    if claims.get("iss") != rules.issuer:
        raise InvalidTokenError("another issuer")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise InvalidTokenError("no sub")
    _check_audience(claims, rules.audience)
    expires = _check_times(claims, now)
    for name, accepted in rules.claims.items():
        if not any(_is_same(value, each) for value in _values(name, claims.get(name)) for each in accepted):
            raise MissingClaimError(name)
    group = _group(claims, rules)
    return Caller(sha256(f"{rules.issuer} {subject}".encode()).hexdigest()[:32], expires, group)


def _verified_claims(token: str, key_of: FindKey) -> Mapping[str, Any]:
    """Return the claims of a token that the issuer has signed. The header's own keys and their URLs are ignored."""
    if len(token) > _LONGEST_IN_BYTES:
        raise InvalidTokenError("too long")
    try:
        header = jwt.get_unverified_header(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise InvalidTokenError("algorithm")
        if "crit" in header:
            raise InvalidTokenError("an extension that must be understood")
        if str(header.get("typ", "jwt")).lower() not in _TYPES:
            raise InvalidTokenError("no access token")
        if not isinstance(key_id, str) or not key_id:
            raise InvalidTokenError("no key id")
        payload = jwt.PyJWS().decode(token, key_of(key_id, algorithm), algorithms=[algorithm])
        claims = read_strict_json(payload)
    except (jwt.PyJWTError, ApiError, ValueError) as error:  # ValueError: characters that are not ASCII
        raise InvalidTokenError(type(error).__name__) from None
    if not isinstance(claims, dict):
        raise InvalidTokenError("no claims")
    return claims


def _check_audience(claims: Mapping[str, Any], accepted: tuple[str, ...]) -> None:
    """Check whom the token is for. Access tokens of Cognito have `client_id` and no `aud`; its others are no access."""
    use = claims.get("token_use", "access")
    if use != "access":
        raise InvalidTokenError("no access token")
    named = claims.get("client_id") if "aud" not in claims and "token_use" in claims else claims.get("aud")
    audience = named if isinstance(named, list) else [named]
    if not all(isinstance(each, str) for each in audience) or not set(audience) & set(accepted):
        raise InvalidTokenError("another audience")


def _check_times(claims: Mapping[str, Any], now: float) -> float:
    """Return when the token expires. The latest moment of `nbf` and `iat` allows for clocks that differ."""
    expires, latest = _time(claims, "exp", None), now + _CLOCKS_DIFFER_BY_SECONDS
    if expires <= now:
        raise InvalidTokenError("expired")
    if _time(claims, "nbf", now) > latest:
        raise InvalidTokenError("not valid yet")
    issued = _time(claims, "iat", now)
    if issued > latest or issued >= expires:
        raise InvalidTokenError("issued in the future")
    return expires


def _time(claims: Mapping[str, Any], name: str, default: float | None) -> float:
    value = claims.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise InvalidTokenError(f"{name} is no time")
    return value


def _values(name: str, value: Any) -> list[Any]:
    if isinstance(value, str) and name in _OF_SCOPES:
        return value.split(" ")
    return value if isinstance(value, list) else [value]


def _is_same(value: Any, accepted: str | bool) -> bool:
    return type(value) is type(accepted) and value == accepted  # 1 is not true


def _group(claims: Mapping[str, Any], rules: Rules) -> str | None:
    if not rules.groups:
        return None
    named = _values(rules.groups_claim, claims.get(rules.groups_claim))
    found = next((group for group in rules.groups if group in named), None)
    if found is None:
        raise MissingClaimError(rules.groups_claim)
    return found
