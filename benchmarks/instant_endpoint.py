"""A server on loopback that answers every POST at once; prints its port, ends at the end of standard input."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

ANSWER = b'[{"generated_text": "The sea is calm tonight, and the light on the water does not move at all."}]'
HEAD = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(ANSWER)}\r\n\r\n".encode()


class Instantly(BaseHTTPRequestHandler):
    """Keeps connections open, as SageMaker does."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.wfile.write(HEAD + ANSWER)


def main() -> None:
    """Answer until standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Instantly)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
