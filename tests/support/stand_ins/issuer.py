"""An OpenID Connect issuer of tokens, by TLS on loopback, with an authority of its own."""

import datetime
import json
import ssl
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from support.stand_ins.loopback_server import LoopbackServer

HOST = "login.example.com"
ISSUER = f"https://{HOST}/tenant"  # of tests/deployments/with-jwt.yaml
AUDIENCE = "llm"
_PATH = "/tenant"
_MAKE: dict[str, Callable[[], Any]] = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


class Issuer(LoopbackServer):
    """An issuer. A test may change `published`, the keys in its key set, `fault`, an answer instead of its own, and
    `now`, its clock.

    certificates: a file with its authority. It records `requests`, the path of each request.
    """

    def __init__(self, folder: Path) -> None:
        self.certificates, chain = _write_certificates(folder)
        self.keys: dict[str, Any] = {algorithm: make() for algorithm, make in _MAKE.items()}
        self.published = [self.described(name) for name in self.keys]
        self.fault: tuple[int, bytes] | None = None
        self.requests: list[str] = []
        self.now: Callable[[], float] = time.time
        super().__init__(type("Documents", (_Documents,), {"issuer": self}))
        self.port = self._server.server_port
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        # The handshake is made in the thread of the connection.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def described(self, name: str, **changed: Any) -> dict[str, Any]:
        """Return a key as the key set has it. name: an algorithm, which is also the id of its key."""
        public = self.keys[name].public_key()
        described = jwt.get_algorithm_by_name(name).to_jwk(public, as_dict=True)
        return {**described, "kid": name, "use": "sig", **changed}

    def new_key(self, key_id: str) -> Any:
        """Make a key for RS256, which is not published yet."""
        self.keys[key_id] = _MAKE["RS256"]()
        return self.keys[key_id]

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return the claims of a token that is accepted, with changes; None removes a claim."""
        now = int(self.now())
        usual = {
            "iss": ISSUER,
            "sub": "alice",
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + 3600,
            "scope": "openid llm/call",
            "groups": ["staff", "research"],
        }
        return {name: value for name, value in {**usual, **changed}.items() if value is not None}

    def token(
        self, *, algorithm: str = "RS256", key: Any = None, header: dict[str, Any] | None = None, **changed: Any
    ) -> str:
        """Return a token. key: None = the issuer's for the algorithm. header: changes of the header."""
        own = key or self.keys[_key_of(algorithm)]
        return jwt.encode(self.claims(**changed), own, algorithm, {"kid": _key_of(algorithm), **(header or {})})

    def signed(self, payload: bytes, header: dict[str, Any] | None = None) -> str:
        """Return a token with any payload, signed with the key of RS256."""
        return jwt.PyJWS().encode(payload, self.keys["RS256"], "RS256", {"kid": "RS256", **(header or {})})


def _key_of(algorithm: str) -> str:
    return "RS256" if algorithm[:2] in ("RS", "PS", "HS") or algorithm == "none" else algorithm


class _Documents(BaseHTTPRequestHandler):
    issuer: Issuer

    def do_GET(self) -> None:
        self.issuer.requests.append(self.path)
        status, body = self.issuer.fault or (200, json.dumps(self._document()).encode())
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _document(self) -> dict[str, Any]:
        if self.path == f"{_PATH}/keys":
            return {"keys": self.issuer.published}
        assert self.path == f"{_PATH}/.well-known/openid-configuration", self.path
        return {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def _write_certificates(folder: Path) -> tuple[Path, Path]:
    """Write the file of the authority and that of the server, with its key."""
    key, name = _MAKE["ES256"](), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    authority, chain = folder / "authority.pem", folder / "server.pem"
    authority.write_bytes(public)
    chain.write_bytes(private + public)
    return authority, chain
