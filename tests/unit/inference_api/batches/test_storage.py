"""Objects of files and batches: what is sent to S3."""

from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from inference_api.batches import service
from inference_api.shared import runtime


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the requests of the client that the functions make. S3 answers with nothing."""
    requests: list[Any] = []

    def answer(request: Any, **_: Any) -> AWSResponse:
        requests.append(request)
        return AWSResponse(request.url, 200, {"ETag": '"etag"'}, Raw())

    def client(name: str, config: Any) -> Any:
        made = runtime.Runtime().client(name, config)
        made.meta.events.register("before-send.s3", answer)
        return made

    settings = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "eu-west-1"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(service, "runtime", lambda: runtime.Runtime(client=client))
    monkeypatch.setattr(service, "job_settings", lambda: Names())
    service.batch_service.cache_clear()
    yield requests
    service.batch_service.cache_clear()


class Names:
    table = bucket = "jobs"


class Raw:
    def stream(self, **_: Any) -> list[bytes]:
        return [b""]


def test_a_part_carries_no_checksum_that_its_upload_has_not_announced(sent: list[Any]) -> None:
    service.batch_service().storage.put_part("file/a", "upload", 1, b"line")
    (request,) = sent
    assert not [name for name in request.headers if "checksum" in name.lower() or "trailer" in name.lower()]
