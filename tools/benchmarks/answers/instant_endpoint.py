"""A server on loopback that answers every POST at once, but several texts with vectors after a tenth of a second.

It prints its port and ends with its standard input.
"""

import json
import random
import struct
import sys
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from tools.benchmarks.answers.stream_overhead import TOKENS

ANSWER = b'[{"generated_text": "The sea is calm tonight, and the light on the water does not move at all."}]'
HEAD = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(ANSWER)}\r\n\r\n".encode()
# A fast GPU takes about so long for 64 texts.
VECTORS_IN_SECONDS, TEXTS, NUMBERS = 0.1, 64, 1024
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\nconnection: close\r\n\r\n"


_CHANCE = random.Random(1)
VECTORS = [f"[{','.join(f'{_CHANCE.gauss(0, 0.03):.8g}' for _ in range(NUMBERS))}]".encode() for _ in range(TEXTS)]
_GPU = Lock()  # it works on one call at a time


class Instantly(BaseHTTPRequestHandler):
    """Answers at once. Connections stay open, as SageMaker's do, except after a stream."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if b'"inputs": ["' in body:
            texts = len(json.loads(body)["inputs"])
            with _GPU:
                time.sleep(VECTORS_IN_SECONDS * texts / TEXTS)
            self.wfile.write(_vectors(texts))
            return
        if not self.path.endswith("-response-stream"):
            self.wfile.write(HEAD + ANSWER)
            return
        self.close_connection = True
        self.wfile.write(STREAM_HEAD)
        tokens = json.loads(body).get("max_tokens", TOKENS)
        for number in range(tokens):
            self.wfile.write(_token(None if number < tokens - 1 else "stop"))
        self.wfile.write(_event(b"data: [DONE]\n\n"))


def _vectors(texts: int) -> bytes:
    """Return an answer of Text Embeddings Inference."""
    body = b"[" + b",".join(VECTORS[:texts]) + b"]"
    return f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def _token(finish_reason: str | None) -> bytes:
    choice = {"index": 0, "delta": {"content": " token"}, "finish_reason": finish_reason}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return _event(b"data: " + json.dumps(chunk).encode() + b"\n\n")


def _event(payload: bytes) -> bytes:
    """A message of AWS's event stream."""
    names = {":event-type": b"PayloadPart", ":message-type": b"event"}
    headers = b"".join(
        struct.pack(f">B{len(name)}sBH", len(name), name.encode(), 7, len(value)) + value
        for name, value in names.items()
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def main() -> None:
    """Answer until standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Instantly)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
