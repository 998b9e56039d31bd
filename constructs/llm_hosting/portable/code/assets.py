"""Takes the assets out of a template: code of functions becomes text, other assets become archives in buckets."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...archive import zipped
from ..editing.places import Template
from .import_closure import Files, import_closure
from .index_file import BEGINNING, files_below, package_line, text_of

ARCHIVE_BUCKET_PREFIX = "ArchiveBucketPrefix"  # the name of a parameter of the portable template
_ASSET_BUCKET = re.compile(r"cdk-[a-z0-9]+-assets-\$\{AWS::AccountId\}-\$\{AWS::Region\}")
_ARCHIVE_BUCKET = f"${{{ARCHIVE_BUCKET_PREFIX}}}-${{AWS::Region}}"

Code = Literal["inline", "archive"]


class TemplateWithoutAssets(NamedTuple):
    """The template, and the objects that the archive bucket of each region must hold, by their keys."""

    content: Template
    archives: dict[str, bytes]


def without_assets(template: Template, assets: Mapping[str, Path], code: Code) -> TemplateWithoutAssets:
    """Return the template without assets.

    assets: the files and folders of the cloud assembly by the object keys that the template names.

    code: the form of the functions' code; `inline` code stands in `Mappings.Code`. Every other asset is read from the
    bucket `<ArchiveBucketPrefix>-<region>`. If there are archives, the caller declares that parameter. Raises
    InlineCodeError.
    """
    # The CDK names the asset bucket in an Fn::Sub, which can also hold the parameter.
    content = json.loads(_ASSET_BUCKET.sub(_ARCHIVE_BUCKET, json.dumps(template)))
    if code == "inline":
        functions = [each["Properties"] for each in content["Resources"].values() if _has_asset(each, assets)]
        for key in sorted({each["Code"]["S3Key"] for each in functions}):
            of_folder = [each for each in functions if each["Code"].get("S3Key") == key]
            mapping = content.setdefault("Mappings", {}).setdefault("Code", {"start": {"source": BEGINNING}})
            mapping.update(_put_inline(of_folder, files_below(assets[key])))
    text = json.dumps(content["Resources"])
    assert not re.search("cdk-[a-z0-9]+-assets-", text), "the template is synthesized without a region"
    return TemplateWithoutAssets(content, {key: _read(path) for key, path in assets.items() if key in text})


def _has_asset(resource: dict[str, Any], assets: Mapping[str, Path]) -> bool:
    return resource["Type"] == "AWS::Lambda::Function" and resource["Properties"]["Code"].get("S3Key") in assets


def _put_inline(functions: list[dict[str, Any]], files: Files) -> dict[str, dict[str, str]]:
    """Give each function the files that it needs. Return their texts by the functions that share them and by folder."""
    needed = {each["Handler"]: import_closure(each["Handler"].rpartition(".")[0], files) for each in functions}
    parts: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for path in sorted(frozenset[str]().union(*needed.values())):
        users = tuple(handler for handler, paths in needed.items() if path in paths)
        folder = re.sub(
            "[^A-Za-z0-9]", "", path.rpartition("/")[0]
        )  # the only characters that a name in a mapping may hold
        parts.setdefault((users, folder or "root"), []).append(path)
    for each in functions:
        *package, name, attribute = each["Handler"].split(".")
        assert attribute == "handler", f"{each['Handler']}: inline, a function is named `handler`"
        start = [_found("start", "source"), package_line("".join(f"{part}." for part in package))]
        own = [_found(_name(users), folder) for users, folder in parts if each["Handler"] in users]
        each["Code"] = {"ZipFile": {"Fn::Join": ["", [*start, *own]]}}
        each["Handler"] = f"index.{name}"
    texts: dict[str, dict[str, str]] = {}
    for (users, folder), paths in parts.items():
        texts.setdefault(_name(users), {})[folder] = text_of(files, paths)
    return texts


def _found(*keys: str) -> dict[str, Any]:
    return {"Fn::FindInMap": ["Code", *keys]}


def _name(handlers: tuple[str, ...]) -> str:
    """Return the mapping's name of functions that share files, such as `GeneratePollJob`."""
    return "".join(each.split(".")[-2].title().replace("_", "") for each in handlers)


def _read(path: Path) -> bytes:
    return zipped(path) if path.is_dir() else path.read_bytes()
