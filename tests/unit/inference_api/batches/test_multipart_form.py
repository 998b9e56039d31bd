"""Forms as the SDK, curl and browsers write them."""

import pytest

from inference_api.batches.multipart_form import read_form
from inference_api.shared.errors import ApiError

BODY = (
    b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    b'--b  \r\ncontent-type: application/octet-stream\r\nContent-disposition: form-data; filename="a b.jsonl"; '
    b"name=file"
    b"\r\n\r\n{}\r\n--not the boundary\r\n\xff\r\n--b--\r\n"
).replace(b"name=file\r", b'name="file"\r')


@pytest.mark.parametrize("boundary", ["b", '"b"', "b; charset=utf-8"])
def test_parts_are_read_byte_for_byte(boundary: str) -> None:
    purpose, file = read_form(b"preamble\r\n" + BODY, f"Multipart/Form-Data; boundary={boundary}")
    assert (purpose.name, purpose.filename, purpose.body) == ("purpose", None, b"batch")
    assert (file.name, file.filename) == ("file", "a b.jsonl")
    assert file.body == b"{}\r\n--not the boundary\r\n\xff"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        BODY[:-8],
        b"--b\r\n\r\nno headers\r\n--b--",
        b"--b\r\nX: y\r\n\r\nno name\r\n--b--",
        b"--b\r\n--b--" * 30,
    ],
)
def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError) as refusal:
        read_form(body, "multipart/form-data; boundary=b")
    assert (refusal.value.status, refusal.value.code) == (400, "invalid_form")


def test_a_name_that_comes_twice_is_refused() -> None:
    """Otherwise two readers of one form could see different purposes."""
    part = b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    with pytest.raises(ApiError) as refusal:
        read_form(part * 2 + b"--b--", "multipart/form-data; boundary=b")
    assert "two parts have the same name" in refusal.value.message
