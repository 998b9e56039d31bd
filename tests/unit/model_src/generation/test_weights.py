"""The files of a Hub model that a machine downloads."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError

from model_src.generation.weights import WeightsError, chosen, fetch

BESIDE = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "vocab.txt",
    "tokenizer.model",
    "chat_template.jinja",
]


@pytest.mark.parametrize(
    ("weights", "left"),
    [
        (["model.safetensors"], ["pytorch_model.bin", "tf_model.h5", "rust_model.ot", "onnx/model.safetensors"]),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], ["consolidated.safetensors"]),
        (["pytorch_model.bin"], ["training_args.bin", "optimizer.bin", "README.md", "modeling_own.py"]),
    ],
)
def test_one_format_of_weights_is_downloaded_with_its_other_files(weights: list[str], left: list[str]) -> None:
    assert sorted(chosen([*left, *BESIDE, *weights])) == sorted([*weights, *BESIDE])


def test_a_repository_without_weights_is_refused() -> None:
    with pytest.raises(WeightsError, match=r"no weights as \*\.safetensors or \*\.bin"):
        chosen([*BESIDE, "model.gguf", "onnx/model.safetensors"])


class _Bucket(ThreadingHTTPServer):
    """An S3 with one object; its body breaks off in the first few requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.breaks = 0


class _Handler(BaseHTTPRequestHandler):
    server: _Bucket

    def do_GET(self) -> None:
        if "list-type" in self.path:
            self._answer(b"<ListBucketResult><Contents><Key>gpt2/config.json</Key></Contents></ListBucketResult>", 0)
            return
        self.server.breaks -= 1
        self._answer(b"{} " * 10, 7 if self.server.breaks >= 0 else 0)

    def _answer(self, body: bytes, left_out: int) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - left_out])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, to keep the output of tests readable."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Bucket]:
    with _Bucket() as running:
        threading.Thread(target=running.serve_forever, args=(0.01,)).start()
        given = {"ENDPOINT_URL": f"http://127.0.0.1:{running.server_port}", "REGION": "eu-west-3"}
        for name, value in (given | {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}).items():
            monkeypatch.setenv(f"AWS_{name}", value)
        yield running
        running.shutdown()


def test_an_interrupted_download_is_tried_three_times(bucket: _Bucket, tmp_path: Path) -> None:
    bucket.breaks = 2
    folder = fetch(tmp_path, {"MODEL_WEIGHTS": "s3://bucket/gpt2/"})
    assert (folder / "config.json").read_bytes() == b"{} " * 10


def test_a_download_that_is_always_interrupted_leaves_no_model(bucket: _Bucket, tmp_path: Path) -> None:
    bucket.breaks = 3
    with pytest.raises(BotoCoreError):
        fetch(tmp_path, {"MODEL_WEIGHTS": "s3://bucket/gpt2/"})
    assert not (tmp_path / "model").exists()
