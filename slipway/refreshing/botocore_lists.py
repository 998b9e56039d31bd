"""Compares the catalog with botocore's enumerations of instance types and host images."""

from collections.abc import Iterator
from typing import get_args

import botocore
import botocore.session

from llm_hosting.catalog.instances import ec2_instances, instances
from llm_hosting.catalog.left_out import left_out_types
from llm_hosting.deployment.settings.hosting import Hosting
from slipway.refreshing.difference import Difference
from slipway.refreshing.source import other_form

_NAME = f"botocore {botocore.__version__}"


def differences() -> list[Difference]:
    """Return the differences to the installed botocore. Raises SourceError if it lacks an enumeration."""
    types, images = _values("sagemaker", "ProductionVariantInstanceType"), _host_images()
    known = {*instances(), *left_out_types()}
    return [
        _difference("instance types of endpoints", types, known),
        _difference("host images of endpoints", _values("sagemaker", "ProductionVariantInferenceAmiVersion"), images),
        # The catalog has only some of EC2's types.
        _difference("instance types of EC2", _values("ec2", "InstanceType"), set(ec2_instances()), has_all=False),
    ]


def _difference(subject: str, theirs: set[str], ours: set[str], *, has_all: bool = True) -> Difference:
    new = sorted(theirs - ours) if has_all else []
    return Difference(_NAME, subject, len(theirs), new=new, gone=sorted(ours - theirs))


def _values(service: str, shape: str) -> set[str]:
    model = botocore.session.get_session().get_service_model(service)
    found = set(model.shape_for(shape).enum) if shape in model.shape_names else set()
    if not found:
        raise other_form(_NAME, f"{service} has no values of {shape}")
    return found


def _host_images() -> set[str]:
    return {value for value in _leaves(Hosting.model_fields["inference_ami_version"].annotation) if value}


def _leaves(kind: object) -> Iterator[str]:
    for each in get_args(kind):
        if isinstance(each, str):
            yield each
        else:
            yield from _leaves(each)
