"""The words for a file that can't be used."""

import errno
import os
import ssl
from pathlib import Path

import pytest

from llm_hosting.file_errors import _WORDS, why


def test_no_words_are_the_systems_own() -> None:
    assert not {why(OSError(number, os.strerror(number))) for number in _WORDS} & {os.strerror(each) for each in _WORDS}


def test_a_folder_in_place_of_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory") as refused:
        tmp_path.read_text()
    assert why(refused.value) == "it is a folder"


def test_what_nobody_foresaw_has_the_systems_words() -> None:
    assert why(OSError(errno.EPIPE, "Broken pipe")) == "broken pipe"


def test_a_certificate_that_is_not_trusted_is_no_lack_of_permissions() -> None:
    refused = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    refused.verify_message = "self-signed certificate"
    assert why(refused) == "its certificate is not trusted (self-signed certificate)"


def test_a_server_without_tls_is_said() -> None:
    incoming = ssl.MemoryBIO()
    incoming.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    tls = ssl.create_default_context().wrap_bio(incoming, ssl.MemoryBIO(), server_hostname="localhost")
    with pytest.raises(ssl.SSLError) as refused:
        tls.do_handshake()
    assert why(refused.value) == "TLS with it fails (wrong version number)"
