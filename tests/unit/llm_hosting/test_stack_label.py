"""The label tells which version of Slipway made a stack."""

from llm_hosting.installed_version import installed_version
from llm_hosting.stack_label import METADATA_KEY, StackLabel


def test_a_new_label_has_the_installed_version() -> None:
    assert StackLabel("gpt2", "ec2").version == installed_version() != ""


def test_a_label_is_read_as_it_was_written() -> None:
    label = StackLabel("gpt2", "ec2", "9.8.7")
    assert StackLabel.from_metadata(label.as_metadata()) == label


def test_a_label_without_a_version_is_read() -> None:
    label = StackLabel.from_metadata({METADATA_KEY: {"model": "gpt2", "mode": "ec2"}})
    assert label == StackLabel("gpt2", "ec2", version="")


def test_what_a_later_version_adds_is_ignored() -> None:
    found = {"model": "gpt2", "mode": "ec2", "version": "9.8.7", "colour": "blue"}
    assert StackLabel.from_metadata({METADATA_KEY: found}) == StackLabel("gpt2", "ec2", "9.8.7")
