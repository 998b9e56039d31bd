"""The words for a file that can't be used."""

import errno
import os
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
