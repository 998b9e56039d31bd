"""Assets out of a template: the functions' code inline and once, archives in a bucket of each region."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..archive import zipped
from .index_file import index_file
from .places import Template

ARCHIVE_BUCKET_PREFIX = "ArchiveBucketPrefix"  # a parameter of the portable template
_ASSET_BUCKET = re.compile(r"cdk-[a-z0-9]+-assets-\$\{AWS::AccountId\}-\$\{AWS::Region\}")
_ARCHIVE_BUCKET = f"${{{ARCHIVE_BUCKET_PREFIX}}}-${{AWS::Region}}"
_NO_PACKAGE = "playground"  # its module lies beside the files that it serves


class InlineTemplate(NamedTuple):
    """archives: the bytes of the objects that the archive buckets must hold, by key."""

    content: Template
    archives: dict[str, bytes]


def with_inline_code(template: Template, assets: Mapping[str, Path]) -> InlineTemplate:
    """assets: the files and folders of the cloud assembly by the object keys that the template names.

    Functions get their code from `Mappings.Code`. What else names an asset gets the bucket
    `<ArchiveBucketPrefix>-<region>`; the parameter is the caller's to declare where there are archives. Raises
    InlineCodeError.
    """
    # The bucket of assets is always named in an Fn::Sub, which takes the parameter as well.
    content = json.loads(_ASSET_BUCKET.sub(_ARCHIVE_BUCKET, json.dumps(template)))
    codes: dict[str, str] = {}
    for resource in content["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Function" and resource["Properties"]["Code"].get("S3Key") in assets:
            _inline(resource["Properties"], assets, codes)
    if codes:
        sources = {entry: {"source": text} for entry, text in sorted(codes.items())}
        content["Mappings"] = content.get("Mappings", {}) | {"Code": sources}
    text = json.dumps(content["Resources"])
    assert not re.search("cdk-[a-z0-9]+-assets-", text), "the template is synthesized without a region"
    return InlineTemplate(content, {key: _read(path) for key, path in assets.items() if key in text})


def _inline(function: dict[str, Any], assets: Mapping[str, Path], codes: dict[str, str]) -> None:
    module, _, attribute = function["Handler"].rpartition(".")
    package, dot, name = module.rpartition(".")
    assert attribute == "handler", f"{function['Handler']}: inline, a function is named `handler`"
    entry = package.partition(".")[0].replace("_", "") or _NO_PACKAGE  # CloudFormation takes letters and digits only
    if entry not in codes:
        codes[entry] = index_file(assets[function["Code"]["S3Key"]], f"{package}{dot}")
    function["Code"] = {"ZipFile": {"Fn::FindInMap": ["Code", entry, "source"]}}
    function["Handler"] = f"index.{name}"


def _read(path: Path) -> bytes:
    return zipped(path) if path.is_dir() else path.read_bytes()
