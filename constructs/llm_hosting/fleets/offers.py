"""Regions that have an instance type, as far as cfn-lint's data says, and their partitions."""

import importlib.util
import json
from functools import cache
from pathlib import Path

_PARTITIONS = {"cn": "aws-cn", "us-gov": "aws-us-gov", "us-iso": "aws-iso", "us-isob": "aws-iso-b", "eusc": "aws-eusc"}
# Lists of the values that CloudFormation's types take in each region.
_FILES = {"ec2": "aws_ec2_instance", "endpoint": "aws_sagemaker_hosting"}


def partition(region: str) -> str:
    """For example `aws-cn` of `cn-north-1`."""
    found = [name for prefix, name in _PARTITIONS.items() if region.startswith(f"{prefix}-")]
    return found[0] if found else "aws"


def is_missing(instance_type: str, region: str, mode: str) -> bool:
    """False also where nothing is known. mode: of `hosting`."""
    types = _types("ec2" if mode == "ec2" else "endpoint")
    is_known = any(instance_type in each for each in types.values())  # else it is newer than the lists
    return is_known and region in types and instance_type not in types[region]


@cache
def _types(kind: str) -> dict[str, frozenset[str]]:
    package = importlib.util.find_spec("cfnlint")  # its data alone: the import takes half a second
    assert package
    assert package.origin
    path = Path(package.origin).parent / "data" / "schemas" / "extensions" / _FILES[kind] / "instancetype_enum.json"
    content = json.loads(path.read_text())
    return {region: frozenset(each["enum"]) for region, each in content.items() if isinstance(each, dict)}
