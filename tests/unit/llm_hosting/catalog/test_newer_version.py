"""A version that is newer than the catalog has an image of the known form, and the facts of the newest version."""

import pytest

from llm_hosting.catalog.engines import engine
from llm_hosting.catalog.newer_version import newer_version


@pytest.mark.parametrize(
    ("name", "version", "label", "tag", "cuda", "facts_from"),
    [
        ("vllm", "0.99.0", "0.99.0", "0.99.0-gpu-py312-cu130-ubuntu24.04-sagemaker", 13.0, "0.31.0"),
        ("lmi-vllm", "0.99.0-lmi99", "0.99.0-lmi99", "0.99.0-lmi99.0.0-cu130", 13.0, "0.38.0-lmi29"),
        # A whole tag may name another CUDA, Python or Ubuntu.
        (
            *("vllm", "0.99.0-gpu-py313-cu141-ubuntu26.04-sagemaker-v1.2"),
            *("0.99.0", "0.99.0-gpu-py313-cu141-ubuntu26.04-sagemaker-v1.2", 14.1, "0.31.0"),
        ),
        ("lmi-vllm", "0.99.0-lmi99.1.2-cu131", "0.99.0-lmi99", "0.99.0-lmi99.1.2-cu131", 13.1, "0.38.0-lmi29"),
        ("vllm", "server-sagemaker-cuda-v2.99", "server-2.99", "server-sagemaker-cuda-v2.99", 13.0, "server-2.6"),
        ("llama-cpp", "b99999-cpu-ubuntu24.04", "huggingface-b99999-cpu", "b99999-cpu-ubuntu24.04", None, "b9522"),
    ],
)
def test_a_newer_version_takes_the_facts_of_the_newest_of_its_form(
    name: str, version: str, label: str, tag: str, cuda: float | None, facts_from: str
) -> None:
    found, known = newer_version(engine(name), version), engine(name)
    assert found
    assert (found.label, found.tag, found.cuda, found.regions) == (label, tag, cuda, None)
    assert facts_from in found.facts_from
    taken = known.versions[found.facts_from]
    assert (found.repository, found.variables, found.bodies) == (taken.repository, taken.variables, taken.bodies)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("vllm", "0.30.5"),  # between two known ones: AWS has not published it
        ("vllm", "0.1.0"),
        ("vllm", "0.310"),  # another form
        ("vllm", "nonsense"),
        ("vllm", "server-2.99"),  # the label is not in the tag
        ("lmi-vllm", "0.99.0"),  # which LMI?
        ("lmi-vllm", "0.99.0-deepspeed0.99.0-cu130"),  # a form that LMI's own took the place of
        ("tgi", "9.9.9"),  # legacy: not built any more
        ("transformers", "99.0.0"),  # no image
        ("custom", "99"),
    ],
)
def test_another_name_is_no_newer_version(name: str, version: str) -> None:
    assert newer_version(engine(name), version) is None


def test_an_architecture_that_a_newer_version_may_run_is_not_refused() -> None:
    known = engine("sglang")
    before, found = known.versions[known.default_version], newer_version(known, "0.99.0")
    assert found
    assert before.architectures
    assert found.architectures
    assert found.architectures.known >= before.architectures.known
    assert found.architectures.reason_against("UnheardOfForCausalLM", {}) is None


def test_vllm_in_an_image_of_vllm_is_as_new_as_the_image() -> None:
    found = newer_version(engine("vllm"), "0.99.0")
    assert found
    assert (found.vllm, found.architectures and found.architectures.version) == ("0.99.0", "0.99.0")
