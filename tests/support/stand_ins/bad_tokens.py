"""Tokens that must not pass, and tokens that must, for the issuer of tests/deployments/with-jwt.yaml."""

import base64
import json
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from support.stand_ins.issuer import HOST, ISSUER, Issuer

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
Make = Callable[[Issuer], str]
_STRANGER = rsa.generate_private_key(65537, 2048)
_OTHER_CURVE = ec.generate_private_key(ec.SECP384R1())
_WEAK = rsa.generate_private_key(65537, 1024)


def _b64(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unsigned(issuer: Issuer, signature: str = "", **header: Any) -> str:
    return f"{_b64({'typ': 'JWT', 'kid': 'RS256', **header})}.{_b64(issuer.claims())}.{signature}"


def _with_public_key_as_secret(issuer: Issuer, shape: Encoding = Encoding.PEM) -> str:
    form = PublicFormat.SubjectPublicKeyInfo
    secret = issuer.keys["RS256"].public_key().public_bytes(shape, form)
    head = f"{_b64({'typ': 'JWT', 'alg': 'HS256', 'kid': 'RS256'})}.{_b64(issuer.claims())}"
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(head.encode(), secret)
    return f"{head}.{_b64(signature)}"


def _changed_payload(issuer: Issuer) -> str:
    head, _, signature = issuer.token().split(".")
    return f"{head}.{_b64(issuer.claims(sub='admin'))}.{signature}"


def _changed_signature(issuer: Issuer) -> str:
    head, payload, signature = issuer.token().split(".")
    return f"{head}.{payload}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


def _not_canonical(issuer: Issuer) -> str:
    """A signature of 256 bytes has unused bits in its last character."""
    token = issuer.token()
    return token[:-1] + chr(ord(token[-1]) + 1)


def _with_own_key(issuer: Issuer, **header: Any) -> str:
    own = jwt.get_algorithm_by_name("RS256").to_jwk(_STRANGER.public_key(), as_dict=True)
    return issuer.token(key=_STRANGER, header={"jwk": own, **header})


def _with_short_key(issuer: Issuer) -> str:
    with warnings.catch_warnings(action="ignore"):  # PyJWT, too, finds it short
        return issuer.token(key=_WEAK, header={"kid": "weak"})


def _as_text(claims: Mapping[str, Any], more: str) -> bytes:
    """Claims as JSON, with text before their end, such as a name for the second time."""
    return (json.dumps(claims)[:-1] + more + "}").encode()


BAD_TOKENS: dict[str, tuple[int, Make]] = {
    # Signatures and algorithms.
    "alg none": (401, lambda i: _unsigned(i, alg="none")),
    "alg none with a signature": (401, lambda i: _unsigned(i, "c2lnbmF0dXJl", alg="none")),
    "alg nOnE": (401, lambda i: _unsigned(i, "c2lnbmF0dXJl", alg="nOnE")),
    "no alg": (401, lambda i: _unsigned(i, "c2lnbmF0dXJl")),
    "alg is a list": (401, lambda i: _unsigned(i, "c2lnbmF0dXJl", alg=["RS256"])),
    "HS256 with the public key as secret": (401, _with_public_key_as_secret),
    "HS256 with its DER as secret": (401, lambda i: _with_public_key_as_secret(i, Encoding.DER)),
    "a changed payload": (401, _changed_payload),
    "a changed signature": (401, _changed_signature),
    "a signature that is not canonical": (401, _not_canonical),
    "an empty signature": (401, lambda i: i.token().rpartition(".")[0] + "."),
    "another key": (401, lambda i: i.token(key=_STRANGER)),
    "the wrong curve": (401, lambda i: jwt.encode(i.claims(), _OTHER_CURVE, "ES384", {"kid": "ES256"})),
    "an RSA key named for ES256": (401, lambda i: i.token(header={"kid": "ES256"})),
    "an EC key named for RS256": (401, lambda i: i.token(algorithm="ES256", header={"kid": "RS256"})),
    "a short RSA key": (401, _with_short_key),
    "a key for encryption": (401, lambda i: i.token(header={"kid": "encryption"})),
    "a symmetric key of the key set": (401, lambda i: i.token(algorithm="HS256", key=b"k" * 32, header={"kid": "oct"})),
    # Headers that name a key.
    "an unknown kid": (401, lambda i: i.token(header={"kid": "unknown"})),
    "no kid": (401, lambda i: jwt.encode(i.claims(), i.keys["RS256"], "RS256")),
    "an empty kid": (401, lambda i: i.token(header={"kid": ""})),
    "a kid that is a path": (401, lambda i: i.token(key=_STRANGER, header={"kid": "../../../../dev/null"})),
    "a kid that is SQL": (401, lambda i: i.token(key=_STRANGER, header={"kid": "x' UNION SELECT 'key"})),
    "a kid that is a URL": (401, lambda i: i.token(key=_STRANGER, header={"kid": "https://evil.example/keys"})),
    "an embedded jwk": (401, _with_own_key),
    "an embedded jwk without a kid of ours": (401, lambda i: _with_own_key(i, kid="own")),
    "jku of a stranger": (401, lambda i: i.token(key=_STRANGER, header={"jku": "https://evil.example/keys"})),
    "jku at the issuer": (401, lambda i: i.token(key=_STRANGER, header={"jku": f"https://{HOST}/evil/keys"})),
    "x5u of a stranger": (401, lambda i: i.token(key=_STRANGER, header={"x5u": "https://evil.example/cert.pem"})),
    "x5c of a stranger": (401, lambda i: i.token(key=_STRANGER, header={"x5c": [_b64(b"certificate")]})),
    "crit": (401, lambda i: i.token(header={"crit": ["exp"]})),
    "b64 false": (401, lambda i: i.token(header={"b64": False, "crit": ["b64"]})),
    "a logout token": (401, lambda i: i.token(header={"typ": "logout+jwt"})),
    # Issuer, audience, caller.
    "another issuer": (401, lambda i: i.token(iss="https://evil.example")),
    "the issuer with a slash": (401, lambda i: i.token(iss=f"{ISSUER}/")),
    "the issuer in capitals": (401, lambda i: i.token(iss=ISSUER.replace(HOST, HOST.upper()))),
    "an issuer that begins like ours": (401, lambda i: i.token(iss=f"{ISSUER}.evil.example")),
    "a list of issuers": (401, lambda i: i.signed(json.dumps({**i.claims(), "iss": [ISSUER]}).encode())),
    "no issuer": (401, lambda i: i.token(iss=None)),
    "another audience": (401, lambda i: i.token(aud="another")),
    "an audience that holds ours": (401, lambda i: i.token(aud="llm-admin")),
    "no audience": (401, lambda i: i.token(aud=None)),
    "no audience but a client id": (401, lambda i: i.token(aud=None, client_id="llm")),
    "an empty list of audiences": (401, lambda i: i.token(aud=[])),
    "an audience that is an object": (401, lambda i: i.token(aud={"llm": True})),
    "a list with an audience that is no text": (401, lambda i: i.token(aud=["llm", 1])),
    "an identity token of Cognito": (401, lambda i: i.token(token_use="id")),
    "no sub": (401, lambda i: i.token(sub=None)),
    "an empty sub": (401, lambda i: i.token(sub="")),
    "a sub that is a number": (401, lambda i: i.signed(json.dumps({**i.claims(), "sub": 1}).encode())),
    # Times.
    "expired": (401, lambda i: i.token(exp=int(i.now()) - 1)),
    "no exp": (401, lambda i: i.token(exp=None)),
    "exp as a text": (401, lambda i: i.token(exp=str(int(i.now()) + 60))),
    "exp is true": (401, lambda i: i.signed(json.dumps({**i.claims(), "exp": True}).encode())),
    "exp is endless": (401, lambda i: i.signed(_as_text(i.claims(exp=None), ', "exp": 1e999'))),
    "exp is NaN": (401, lambda i: i.signed(_as_text(i.claims(exp=None), ', "exp": NaN'))),
    "not valid yet": (401, lambda i: i.token(nbf=int(i.now()) + 300)),
    "nbf as a text": (401, lambda i: i.token(nbf="0")),
    "issued in the future": (401, lambda i: i.token(iat=int(i.now()) + 300)),
    "issued after its end": (401, lambda i: i.token(iat=int(i.now()) + 50, exp=int(i.now()) + 20)),
    # Forms.
    "a name for the second time": (401, lambda i: i.signed(_as_text(i.claims(), f', "iss": "{ISSUER}"'))),
    "claims that are a list": (401, lambda i: i.signed(b"[]")),
    "claims that are no JSON": (401, lambda i: i.signed(b"\xff{}")),
    "claims nested deeply": (401, lambda i: i.signed(_as_text(i.claims(), ', "x": ' + "[" * 2000 + "]" * 2000))),
    "two parts": (401, lambda i: i.token().rpartition(".")[0]),
    "four parts": (401, lambda i: f"{i.token()}.e30"),
    "five parts, as if encrypted": (401, lambda i: f"{i.token()}.e30.e30"),
    "truncated": (401, lambda i: i.token()[:-20]),
    "bad base64": (401, lambda i: i.token().replace(".", ".*", 1)),
    "base64 with padding": (401, lambda i: i.token() + "="),
    "a header that is no JSON": (401, lambda i: f"{_b64(b'{')}.{i.token().partition('.')[2]}"),
    "a header that is a list": (401, lambda i: f"{_b64([])}.{i.token().partition('.')[2]}"),
    "a huge token": (401, lambda i: i.token(filler="x" * 7000)),
    "empty parts": (401, lambda i: ".."),
    "no token": (401, lambda i: ""),
    # A valid token without what the API asks for.
    "another scope": (403, lambda i: i.token(scope="openid")),
    "a scope that holds ours": (403, lambda i: i.token(scope="llm/call/all xllm/call")),
    "no scope": (403, lambda i: i.token(scope=None)),
    "a scope that is true": (403, lambda i: i.token(scope=True)),
    "no group": (403, lambda i: i.token(groups=None)),
    "another group": (403, lambda i: i.token(groups=["staff"])),
    "groups that are an object": (403, lambda i: i.token(groups={"research": True})),
}

GOOD_TOKENS: dict[str, Make] = {
    **{name: partial(Issuer.token, algorithm=name) for name in ALGORITHMS},
    "a list of audiences": lambda i: i.token(aud=["account", "https://llm.example.com"]),
    "an access token of Cognito": lambda i: i.token(aud=None, client_id="llm", token_use="access"),
    "typ at+jwt": lambda i: i.token(header={"typ": "at+jwt"}),
    "no typ": lambda i: i.token(header={"typ": None}),
    "no iat": lambda i: i.token(iat=None),
    "iat of a clock that is ahead": lambda i: i.token(iat=int(i.now()) + 30),
    "times with fractions": lambda i: i.token(iat=i.now() - 0.5, nbf=i.now() - 0.5),
    "a list of scopes": lambda i: i.token(scope=["openid", "llm/call"]),
    "a group as a text": lambda i: i.token(groups="research"),
    "jku beside a known kid": lambda i: i.token(header={"jku": "https://evil.example/keys"}),
    "a caller in other letters": lambda i: i.token(sub="ål|ice \u2603"),
}


def publish_unusable_keys(issuer: Issuer) -> None:
    """Put keys beside the issuer's own that no token may be checked with."""
    weak = jwt.get_algorithm_by_name("RS256").to_jwk(_WEAK.public_key(), as_dict=True)
    issuer.published += [
        {**weak, "kid": "weak"},
        issuer.described("RS256", kid="encryption", use="enc"),
        {"kty": "oct", "k": _b64(b"k" * 32), "kid": "oct", "alg": "HS256"},
    ]
