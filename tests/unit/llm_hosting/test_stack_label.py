"""The label tells which version of Slipway made a stack."""

from dataclasses import asdict

from llm_hosting.installed_version import installed_version
from llm_hosting.stack_label import METADATA_KEY, StackLabel, versions_in


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


def test_the_services_of_a_stack_tell_their_versions() -> None:
    labels = {name: asdict(StackLabel("gpt2", "ec2", version)) for name, version in (("a", "0.1.0"), ("b", "0.2.0"))}
    assert versions_in({METADATA_KEY: {"services": labels}}) == ["0.1.0", "0.2.0"]
    assert versions_in(StackLabel("gpt2", "ec2", "0.3.0").as_metadata()) == ["0.3.0"]
    assert versions_in({}) == []
