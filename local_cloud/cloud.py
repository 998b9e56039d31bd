"""The emulator as a child process, and clients that talk to it as an IAM user."""

import contextlib
import errno
import json
import os
import secrets
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from llm_hosting.file_errors import why
from llm_hosting.home import HOME
from local_cloud.engines_file import write_engines
from local_cloud.instances_file import write_instances
from local_cloud.interpreters import environments, start
from local_cloud.real_model.process import RealModel

ACCOUNT = "111122223333"
START_TIMEOUT_IN_SECONDS = 120
_PERMISSIONS = "SLIPWAY_LOCAL_PERMISSIONS"


class LocalCloudError(Exception):
    """The local cloud can't go on; the message is one sentence for its user."""


@dataclass(frozen=True)
class Credentials:
    """An access key of an IAM user in an account of the local cloud."""

    access_key_id: str
    secret_access_key: str
    account: str = ACCOUNT


class LocalCloud:
    """The emulator as a context manager: every process it started ends with it, also after a crash or kill -9.

    The emulator ends when its standard input closes; this process holds the other end.
    """

    _program: tuple[str, ...] = (start.__file__, "local_cloud.emulator")

    def __init__(
        self,
        *,
        port: int,
        clock_speed: float = 1,
        model: RealModel | None = None,
        issuers: Mapping[str, int] | None = None,
        certificates: Path | None = None,
    ) -> None:
        """Start the emulator.

        model: it answers in place of the deployed models; None = a text generator answers. issuers: issuers of tokens
        on this machine, their ports by host. certificates: a file of authorities that functions trust; None = that of
        SSL_CERT_FILE, or the system's.

        Raises EnvironmentUnavailableError or LocalCloudError.
        """
        python = environments.CLOUD.python()
        _demand_free(port)
        _bypass_proxies()
        self.url = f"http://127.0.0.1:{port}"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (an unnamed file disappears with this process, also after kill -9)
        self._folder = tempfile.TemporaryDirectory(prefix="slipway-local-catalog-")
        folder = Path(self._folder.name)
        settings = {
            "SLIPWAY_LOCAL_CLOCK_SPEED": str(clock_speed),
            "SLIPWAY_LOCAL_ENGINES": str(write_engines(folder)),
            "SLIPWAY_LOCAL_INSTANCES": str(write_instances(folder)),
            "SLIPWAY_LOCAL_ISSUERS": json.dumps(dict(issuers or {})),
        }
        if _PERMISSIONS in os.environ:  # where the emulator records which permissions roles use
            settings[_PERMISSIONS] = os.environ[_PERMISSIONS]
        if trusted := certificates or os.environ.get("SSL_CERT_FILE"):
            settings["SSL_CERT_FILE"] = str(trusted)
        self._process = subprocess.Popen(
            [str(python), "-P", *self._program, "--port", str(port)],
            cwd=HOME,
            env={"PATH": "/usr/bin:/bin"} | settings | _model_settings(model),
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is meant for us: we end the emulator in order
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, BotoCoreError | OSError):
                self._explain_lost_connection()
        finally:
            self._stop()

    def _explain_lost_connection(self) -> None:
        """Raise LocalCloudError if the emulator has died; its end may show only after a moment."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self.check_alive()

    def _stop(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        self._folder.cleanup()

    def wait_until_ready(self) -> None:
        """Wait for the first answer; raises LocalCloudError if the emulator ends or is not ready in time."""
        deadline = time.monotonic() + START_TIMEOUT_IN_SECONDS
        while time.monotonic() < deadline:
            self.check_alive()
            try:
                urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5).close()
                break
            except (OSError, HTTPException):
                time.sleep(0.02)
        else:
            raise LocalCloudError(
                f"The emulator was not ready within {START_TIMEOUT_IN_SECONDS} s; its log is {self._kept_log()}."
            )
        self.deployer = self.deployer_in(ACCOUNT)

    def deployer_in(self, account: str) -> Credentials:
        """Create an IAM user in an account with permission to do everything there."""
        # The only use of a root-like key, which no policy limits.
        root = Credentials(account, "unused", account)
        return self.create_user("deployer", [{"Effect": "Allow", "Action": "*", "Resource": "*"}], by=root)

    def now(self) -> float:
        """Return the time of the cloud's clock, in seconds since the epoch."""
        with urllib.request.urlopen(f"{self.url}/_slipway/clock", timeout=30) as answer:
            return float(json.load(answer)["now"])

    def advance(self, seconds: float) -> None:
        """Put the cloud's clock forward; returns when due chores are done. Functions that became due may still run."""
        body = json.dumps({"seconds": seconds}).encode()
        urllib.request.urlopen(f"{self.url}/_slipway/clock", body, timeout=300).close()

    def watches(self) -> dict[str, int]:
        """Return the seconds for which the alarms of an update are still watched, by the endpoint's name.

        Raises LocalCloudError if the emulator has ended.
        """
        try:
            with urllib.request.urlopen(f"{self.url}/_slipway/watches", timeout=30) as answer:
                found: dict[str, int] = json.load(answer)
        except (OSError, HTTPException):
            # The end of a process closes its connections a moment before it is seen.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            self.check_alive()
            raise
        return found

    def check_alive(self) -> None:
        """Raise LocalCloudError if the emulator has ended."""
        if (code := self._process.poll()) is None:
            return
        last_words = self._logged().strip().splitlines()
        if code == 2 and last_words:
            raise LocalCloudError(last_words[-1])
        raise LocalCloudError(f"The emulator ended unexpectedly (exit status {code}); its log is {self._kept_log()}.")

    def _logged(self) -> str:
        # `pread` leaves the file position alone, which this process shares with the emulator.
        return os.pread(self._log.fileno(), os.fstat(self._log.fileno()).st_size, 0).decode(errors="replace")

    def _kept_log(self) -> str:
        with tempfile.NamedTemporaryFile("w", prefix="slipway-local-cloud-", suffix=".log", delete=False) as kept:
            kept.write(self._logged())
        return kept.name

    def client(self, service: str, *, region: str, credentials: Credentials | None = None) -> Any:
        """A boto3 client; without credentials it acts as the deploying user."""
        key = credentials or self.deployer
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=region,
            aws_access_key_id=key.access_key_id,
            aws_secret_access_key=key.secret_access_key,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, read_timeout=120),
        )

    def create_user(self, name: str, statements: list[dict[str, Any]], by: Credentials | None = None) -> Credentials:
        """Create an IAM user with these statements as its only policy, in the account of `by` (None = the deployer)."""
        by = by or self.deployer
        iam = self.client("iam", region="us-east-1", credentials=by)
        user = f"{name}-{secrets.token_hex(4)}"
        iam.create_user(UserName=user)
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_user_policy(UserName=user, PolicyName="Policy", PolicyDocument=policy)
        key = iam.create_access_key(UserName=user)["AccessKey"]
        return Credentials(key["AccessKeyId"], key["SecretAccessKey"], by.account)


def _model_settings(model: RealModel | None) -> dict[str, str]:
    if model is None:
        return {}
    return {
        "SLIPWAY_LOCAL_MODEL": model.url,
        "SLIPWAY_LOCAL_MODEL_NAME": model.name,
        "SLIPWAY_LOCAL_MODEL_PYTHON": str(model.python),
        "SLIPWAY_LOCAL_WEIGHTS": str(model.folder),
    }


def _demand_free(port: int) -> None:
    # Checked before the emulator starts: a program that holds the port, such as another local cloud, would answer.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            problem = f"can't be used, as {why(error)}:"
            if error.errno == errno.EADDRINUSE:
                problem = "is taken: stop what uses it, or"
            raise LocalCloudError(f"Port {port} on 127.0.0.1 {problem} name another by --port.") from None


def _bypass_proxies() -> None:
    # urllib, requests and boto3 would send our calls to a proxy from the environment.
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1")))


def free_port() -> int:
    """A free port on the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
