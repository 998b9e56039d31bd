"""The Instance Metadata Service of one instance, on its own port instead of 169.254.169.254."""

import json
import secrets
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.services import iam
from local_cloud.emulator.vpc import network, reach

_LONGEST_TOKEN_SECONDS = 21_600
_CREDENTIALS_LAST = timedelta(hours=6)
_TOKEN, _LIFETIME = "X-aws-ec2-metadata-token", "X-aws-ec2-metadata-token-ttl-seconds"


class MetadataService(ThreadingHTTPServer):
    """Serves metadata to the processes of one instance until close()."""

    daemon_threads = True

    def __init__(
        self, record: dict[str, Any], options: dict[str, Any], role_arn: str | None, place: network.Place
    ) -> None:
        """options: the MetadataOptions of the launch."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.record, self.role_arn, self.place = record, role_arn, place
        self.is_on = options.get("HttpEndpoint", "enabled") == "enabled"
        # Amazon Linux 2023 demands tokens unless the launch says otherwise.
        self.needs_token = options.get("HttpTokens", "required") == "required"
        self.account, self.region = ministack.account_id(), ministack.region()
        self.tokens: dict[str, float] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def find(self, path: str) -> str | None:
        """The text at a path below /latest/, None for an unknown path."""
        record, zone = self.record, self.record["Placement"]["AvailabilityZone"]
        role = self.role_arn.rsplit("/", 1)[-1] if self.role_arn else ""
        texts = {
            "meta-data/ami-id": record["ImageId"],
            "meta-data/instance-id": record["InstanceId"],
            "meta-data/instance-type": record["InstanceType"],
            "meta-data/local-ipv4": record["PrivateIpAddress"],
            "meta-data/placement/availability-zone": zone,
            "meta-data/placement/region": self.region,
            "dynamic/instance-identity/document": json.dumps(
                {
                    "accountId": self.account,
                    "availabilityZone": zone,
                    "imageId": record["ImageId"],
                    "instanceId": record["InstanceId"],
                    "instanceType": record["InstanceType"],
                    "region": self.region,
                }
            ),
        }
        if role:
            texts["meta-data/iam/security-credentials"] = role
            texts[f"meta-data/iam/security-credentials/{role}"] = self._credentials()
        return texts.get(path)

    def _credentials(self) -> str:
        assert self.role_arn
        with ministack.scope(self.account, self.region):
            session = iam.session_of_role(self.role_arn, self.record["InstanceId"])
        reach.place_session(session, self.place)
        now = datetime.now(UTC)
        return json.dumps(
            {
                "Code": "Success",
                "Type": "AWS-HMAC",
                "LastUpdated": f"{now:%Y-%m-%dT%H:%M:%SZ}",
                "AccessKeyId": session["AWS_ACCESS_KEY_ID"],
                "SecretAccessKey": session["AWS_SECRET_ACCESS_KEY"],
                "Token": session["AWS_SESSION_TOKEN"],
                "Expiration": f"{now + _CREDENTIALS_LAST:%Y-%m-%dT%H:%M:%SZ}",
            }
        )


class _Handler(BaseHTTPRequestHandler):
    server: MetadataService

    def do_PUT(self) -> None:
        """Answer with a session token of IMDSv2."""
        lifetime = self.headers.get(_LIFETIME, "")
        if not self.server.is_on or "X-Forwarded-For" in self.headers:
            self._send(403, "Forbidden")
        elif self.path != "/latest/api/token":
            self._send(404, "Not Found")
        elif not lifetime.isdecimal() or not 1 <= int(lifetime) <= _LONGEST_TOKEN_SECONDS:
            self._send(400, "Bad Request")
        else:
            token = secrets.token_urlsafe(40)
            self.server.tokens[token] = clock.MACHINE.time() + int(lifetime)
            self._send(200, token, {_LIFETIME: lifetime})

    def do_GET(self) -> None:
        token = self.headers.get(_TOKEN)
        is_valid = token is not None and self.server.tokens.get(token, 0) > clock.MACHINE.time()
        if not self.server.is_on:
            self._send(403, "Forbidden")
        elif not is_valid and (token is not None or self.server.needs_token):
            self._send(401, "Unauthorized")
        else:
            found = self.server.find(self.path.removeprefix("/latest/").rstrip("/"))
            self._send(404 if found is None else 200, "Not Found" if found is None else found)

    def _send(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text.encode())))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: the processes of an instance ask often."""
