"""The catalog's data are well formed."""

import re
from typing import get_args

import pytest

from llm_hosting.catalog.engines import engine
from llm_hosting.catalog.instances import instances
from llm_hosting.catalog.regions import container_accounts
from llm_hosting.deployment import Serving

ENGINES = get_args(Serving.model_fields["engine"].annotation)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_has_its_default_version_and_every_tag_names_its_cuda(name: str) -> None:
    known = engine(name)
    assert known.default_version in known.versions
    for version in known.versions.values():
        assert f"cu{round(version.cuda * 10)}" in version.tag
        assert set(version.bodies) <= {"inputs", "messages", "prompt"}
        assert len(f"{known.repository}:{version.tag}") < 200


def test_parameter_ranges_use_known_words() -> None:
    words = {"minimum", "maximum", "exclusive_minimum", "exclusive_maximum"}
    for name in ENGINES:
        assert all(set(limits) <= words for limits in engine(name).parameters.values())


def test_an_instance_with_accelerators_says_how_many() -> None:
    for name, instance in instances().items():
        assert re.fullmatch(r"ml\.[a-z0-9-]+\.[a-z0-9-]+", name)
        assert (instance.accelerator_count > 0) == (instance.kind != "cpu"), name


def test_an_instance_with_nvme_takes_no_volume() -> None:
    for name, instance in instances().items():
        assert not (instance.local_nvme_in_gb and instance.volume_size_allowed), name


def test_every_region_has_an_account() -> None:
    assert len(container_accounts()) > 40
    assert all(re.fullmatch(r"\d{12}", account) for account in container_accounts().values())
