"""A Hugging Face Hub with one model, on loopback; also a program."""

import contextlib
import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from support.stand_ins.loopback_server import LoopbackServer

Files = Mapping[str, bytes]
LARGE_IN_BYTES = 100_000  # larger files lie in Git LFS
FILES_ON_A_PAGE = 3  # 1,000 on the Hub


def commit_of(files: Files) -> str:
    """Return a commit id: 40 hexadecimal digits that follow from the content."""
    return hashlib.sha1(repr(sorted((path, git_blob(body)) for path, body in files.items())).encode()).hexdigest()


@cache
def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@cache
def git_blob(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


class HubServer(LoopbackServer):
    """A Hub on loopback. `url` is the value for HF_ENDPOINT. A test may change these attributes between requests:

    - `main`: the commit of the branch.
    - `token`: the token that may read the model; None if everybody may read it.
    - `corrupt`: paths of files that are served with one byte flipped.
    - `held`: paths of files that stop half-way until `release` is set; meanwhile `held_now` is set.
    - `cut`: how often the connection ends half-way, by path.
    - `fault`: answers in place of the Hub, from request number `broken_from` on; None if the Hub answers.

    It records `requests`, the `GET path` of each request, and `ranges`, the path and `range` header of each request
    that was answered with bytes.
    """

    def __init__(self, model_id: str, files: Files) -> None:
        self.model_id, self.commits = model_id, {commit_of(files): dict(files)}
        self.main = commit_of(files)
        self.token: str | None = None
        self.corrupt: set[str] = set()
        self.held: set[str] = set()
        self.cut: dict[str, int] = {}
        self.fault: Callable[[HubAnswer], None] | None = None
        self.broken_from = 1
        self.held_now, self.release = threading.Event(), threading.Event()
        self.requests: list[str] = []
        self.ranges: list[tuple[str, str | None]] = []
        self.tokens_of_storage: list[str] = []
        super().__init__(type("Handler", (HubAnswer,), {"hub": self}))

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self.refuse()

    def push(self, files: Files) -> str:
        """Add a commit with these files to the branch, and return its id."""
        self.main = commit_of(files)
        self.commits[self.main] = dict(files)
        return self.main

    def downloads(self, path: str) -> int:
        """Return how often a file was requested as a whole."""
        return self.ranges.count((path, None))


class HubAnswer(BaseHTTPRequestHandler):
    """Answers the requests of one connection. `is_half`: the connection ends half-way through the next answer."""

    hub: HubServer
    is_half = False
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the client was killed
            super().handle()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.hub.requests.append(f"{self.command} {unquote(urlsplit(self.path).path)}")
        if self.hub.fault and len(self.hub.requests) >= self.hub.broken_from:
            self.hub.fault(self)
        else:
            self.as_a_hub()

    def as_a_hub(self) -> None:
        """Answer as the Hub does."""
        path, model = unquote(urlsplit(self.path).path), re.escape(self.hub.model_id)
        if match := re.fullmatch(rf"/api/models/{model}/revision/(.+)", path):
            self._information(match[1])
        elif match := re.fullmatch(rf"/api/models/{model}/tree/([^/]+)", path):
            self._tree(match[1])
        elif path == f"/api/models/{self.hub.model_id}/auth-check":
            self._json({}) if self._may_read() else self._gated()
        elif match := re.fullmatch(rf"/{model}/resolve/([^/]+)/(.+)", path):
            self._resolve(match[1], match[2])
        elif match := re.fullmatch(r"/storage/([0-9a-f]{64})", path):
            self._storage(match[1])
        else:
            self._error(401, "RepoNotFound", "Invalid username or password.")  # the Hub hides private repositories so

    def _information(self, revision: str) -> None:
        if (commit := self._commit(revision)) is None:
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        siblings = [{"rfilename": path} for path in self.hub.commits[commit]]
        gated = "manual" if self.hub.token else False
        self._json({"id": self.hub.model_id, "sha": commit, "gated": gated, "private": False, "siblings": siblings})

    def _tree(self, revision: str) -> None:
        commit = self._commit(revision)
        assert commit, "the command lists what the Hub has just named"
        entries = [_entry(path, body) for path, body in sorted(self.hub.commits[commit].items())]
        entries.insert(0, {"type": "directory", "path": "a-folder", "oid": "0" * 40, "size": 0})
        start = int(parse_qs(urlsplit(self.path).query).get("cursor", ["0"])[0])
        end = start + FILES_ON_A_PAGE
        link = f'<{self.hub.url}{urlsplit(self.path).path}?recursive=true&cursor={end}>; rel="next"'
        self._json(entries[start:end], {"Link": link} if end < len(entries) else {})

    def _resolve(self, revision: str, path: str) -> None:
        commit = self._commit(revision)
        if commit is None or path not in self.hub.commits[commit]:
            self._error(404, "EntryNotFound", "Entry not found")
            return
        if not self._may_read():
            self._gated()
            return
        body, headers = self.hub.commits[commit][path], {"X-Repo-Commit": commit}
        if len(body) < LARGE_IN_BYTES:
            self._bytes(path, body, headers | {"ETag": f'"{git_blob(body)}"'})
            return
        digest = sha256(body)
        # Another host, as on the Hub: the token must not go there.
        location = f"{self.hub.url.replace('127.0.0.1', 'localhost')}/storage/{digest}?of={quote(path)}"
        linked = {"X-Linked-ETag": f'"{digest}"', "X-Linked-Size": str(len(body)), "Location": location}
        self.say(302, b"", headers | linked)

    def _storage(self, digest: str) -> None:
        self.hub.tokens_of_storage += self.headers.get_all("authorization", [])
        path = parse_qs(urlsplit(self.path).query)["of"][0]
        bodies = [files[path] for files in self.hub.commits.values() if path in files]
        body = next(body for body in bodies if sha256(body) == digest)
        self._bytes(path, body, {"ETag": f'"{digest}"'})

    def _bytes(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        if path in self.hub.corrupt:
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
        if self.command == "GET":
            self.hub.ranges.append((path, self.headers.get("range")))
        if self.hub.cut.get(path):
            self.hub.cut[path] -= 1
            self.is_half = True
        status, size = 200, len(body)
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", "")):
            start, end = int(match[1]), int(match[2] or size - 1)
            status, body = 206, body[start : end + 1]
            headers |= {"Content-Range": f"bytes {start}-{end}/{size}"}
        self.say(status, body, headers | {"Accept-Ranges": "bytes"}, held=path in self.hub.held)

    def _commit(self, revision: str) -> str | None:
        commit = self.hub.main if revision == "main" else revision
        return commit if commit in self.hub.commits else None

    def _may_read(self) -> bool:
        return self.hub.token in (None, self.headers.get("authorization", "").removeprefix("Bearer "))

    def _gated(self) -> None:
        status = 403 if "authorization" in self.headers else 401
        self._error(status, "GatedRepo", f"Access to model {self.hub.model_id} is restricted.")

    def _json(self, content: Any, headers: Mapping[str, str] = {}) -> None:
        self.say(200, json.dumps(content).encode(), {"Content-Type": "application/json", **headers})

    def _error(self, status: int, code: str, message: str) -> None:
        body = json.dumps({"error": message}).encode()
        self.say(status, body, {"X-Error-Code": code, "X-Error-Message": message})

    def say(self, status: int, body: bytes, headers: Mapping[str, str] = {}, *, held: bool = False) -> None:
        """Send one answer. `held`: whether it stops half-way."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        half = len(body) // 2
        self.wfile.write(body[:half])
        if self.is_half:
            self.close_connection = True
            return
        if held:
            self.hub.held_now.set()
            self.hub.release.wait(60)
        self.wfile.write(body[half:])

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _entry(path: str, body: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": path, "size": len(body), "oid": git_blob(body)}
    if len(body) >= LARGE_IN_BYTES:
        entry["lfs"] = {"oid": sha256(body), "size": len(body), "pointerSize": 134}
    return entry


def main() -> None:
    """Serve a folder as a model until standard input ends. Arguments: the model's id and the folder."""
    folder = Path(sys.argv[2])
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with HubServer(sys.argv[1], files) as hub:
        print(hub.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
