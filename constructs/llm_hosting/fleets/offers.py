"""The regions that have an instance type, by cfn-lint's data, and their partitions, by botocore's data."""

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from typing import Any


def partition(region: str) -> str:
    """Return the partition of a region, for example `aws-cn` for `cn-north-1`."""
    return next((each["id"] for each in _partitions() if re.match(each["regionRegex"], region)), "aws")


def known_regions() -> list[str]:
    """Return the regions of all partitions; a region may be newer than the list."""
    names = [name for each in _partitions() for name in each["regions"]]
    return sorted(name for name in names if not name.endswith("-global"))


@cache
def _partitions() -> list[dict[str, Any]]:
    path = _data_of("botocore") / "partitions.json"
    return list(json.loads(path.read_text())["partitions"])


def is_missing(instance_type: str, region: str, *, on_machines: bool) -> bool:
    """Whether a region lacks the type; False if the region or the type is not known.

    on_machines: whether it is a type for EC2 machines, or one for SageMaker endpoints.
    """
    types = _types("aws_ec2_instance" if on_machines else "aws_sagemaker_hosting")
    is_known = any(instance_type in each for each in types.values())  # otherwise it is newer than the lists
    return is_known and region in types and instance_type not in types[region]


@cache
def _types(folder: str) -> dict[str, frozenset[str]]:
    """Return the values that a CloudFormation type takes in each region."""
    path = _data_of("cfnlint") / "schemas" / "extensions" / folder / "instancetype_enum.json"
    content = json.loads(path.read_text())
    return {region: frozenset(each["enum"]) for region, each in content.items() if isinstance(each, dict)}


def _data_of(package: str) -> Path:
    """Return the folder with a package's data, without importing it: cfn-lint takes half a second."""
    found = importlib.util.find_spec(package)
    assert found
    assert found.origin
    return Path(found.origin).parent / "data"
