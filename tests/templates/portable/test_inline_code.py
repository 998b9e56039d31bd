"""Templates without assets: the functions' code in Mappings or as archives, archives in a bucket of each region."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.portable.code.assets import Code, TemplateWithoutAssets, without_assets
from local_cloud.assembly import Stack
from support.deployments.known_deployments import SHIPPED, VARIANTS
from support.repository import ROOT
from support.templates.inline_code import index_of
from support.templates.template_parts import Template, all_of, resources

MOST_BYTES_INLINE = 4 * 2**20  # of Code.ZipFile


def inline(stack: Stack, code: Code = "inline") -> TemplateWithoutAssets:
    return without_assets(stack.template, {asset.object_key: asset.source for asset in stack.assets}, code)


def without_code(template: Template) -> Template:
    """Return the template without what differs between the two forms of code."""
    left = deepcopy(template)
    left.setdefault("Mappings", {}).pop("Code", None)
    for each in left["Resources"].values():
        each.get("Metadata", {}).pop("aws:asset:path", None)
        each.get("Metadata", {}).pop("aws:asset:property", None)
        if not each.get("Metadata", True):
            del each["Metadata"]
    for each in all_of(left, "Lambda::Function"):
        del each["Code"], each["Handler"]
    text = json.dumps(left["Resources"])
    text = text.replace("cdk-hnb659fds-assets-${AWS::AccountId}-", "${ArchiveBucketPrefix}-")
    return left | {"Resources": json.loads(text)}


@pytest.mark.parametrize("name", [*SHIPPED, *VARIANTS])
def test_assets_are_gone_and_nothing_else_changes(stacks: dict[str, Stack], name: str) -> None:
    before, (content, archives) = stacks[name].template, inline(stacks[name])
    assert without_code(content) == without_code(before)
    text = json.dumps(content["Resources"])
    assert "aws:asset" not in text
    assert "-assets-" not in text
    layers = {each["Content"]["S3Key"] for each in all_of(content, "Lambda::LayerVersion")}
    assert text.count("S3Key") == len(layers)
    assert layers <= {*archives}
    places = [text.count(f"/{key}") for key in {*archives} - layers]
    assert all(count > 1 for count in places), "where it is, and who may read it"
    assert text.count("${ArchiveBucketPrefix}-${AWS::Region}") == sum(places) + len(layers)
    assert before == stacks[name].template


def test_a_template_whose_bucket_names_a_region_is_refused(stacks: dict[str, Stack]) -> None:
    text = json.dumps(stacks["opt-30b"].template).replace("AccountId}-${AWS::Region}", "AccountId}-eu-west-1")
    with pytest.raises(AssertionError, match="without a region"):
        without_assets(json.loads(text), {}, "inline")


FORMS = ["qwen3-4b", "qwen3-4b-async", "gpt2-ec2", "playground", "jobs-off"]

IMPORT_ALL = """
import importlib, json, sys
index = importlib.import_module("index")
handler = getattr(index, sys.argv[1])
modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in index.FILES
           if name.endswith(".py")]
for module in modules:
    importlib.import_module(module)
own = [each for each in sys.modules if each.partition(".")[0] in ("inference_api", "serve")]
print(json.dumps([callable(handler), sorted(modules) == sorted(own), list(index.FILES)]))
"""


@pytest.mark.parametrize("name", FORMS)
def test_every_function_starts_with_only_its_own_modules(stacks: dict[str, Stack], tmp_path: Path, name: str) -> None:
    before, (content, _) = stacks[name].template, inline(stacks[name])
    shipped = {path.relative_to(ROOT / "lambda_src").as_posix() for path in (ROOT / "lambda_src").rglob("*.py")}
    for logical_id, each in before["Resources"].items():
        if each["Type"] != "AWS::Lambda::Function":
            continue
        function = content["Resources"][logical_id]["Properties"]
        handler = each["Properties"]["Handler"].split(".")[-2]
        assert function["Handler"] == f"index.{handler}"
        folder = tmp_path / handler
        folder.mkdir()
        (folder / "index.py").write_text(text := index_of(content, function))
        assert len(text) < MOST_BYTES_INLINE
        variables = {key: value for key, value in function["Environment"]["Variables"].items() if "{" in str(value)}
        run = subprocess.run(
            [sys.executable, "-c", IMPORT_ALL, handler],
            cwd=folder,
            env={"PATH": os.environ["PATH"], **{k: v for k, v in variables.items() if isinstance(v, str)}},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        starts, only_its_own, files = json.loads(run.stdout)
        assert starts
        assert only_its_own, handler
        if handler != "serve":
            assert set(files) < shipped, "none has them all"


def test_values_of_mappings_are_small_and_each_stands_once(stacks: dict[str, Stack]) -> None:
    for name in FORMS:
        values = [text for part in inline(stacks[name]).content["Mappings"]["Code"].values() for text in part.values()]
        assert max(map(len, values)) < 130_000
        files = re.findall(r"^FILES\[(.*?)\] = ", "".join(values), re.MULTILINE)
        assert len(files) == len(set(files)) > 20


@pytest.mark.parametrize("name", ["qwen3-4b", "playground", "gpt2-ec2"])
def test_archives_hold_the_code_that_the_functions_have_in_a_deploy_of_the_cdk(
    stacks: dict[str, Stack], name: str
) -> None:
    before, (content, archives) = stacks[name].template, inline(stacks[name], "archive")
    assert "Code" not in content.get("Mappings", {})
    for logical_id, each in before["Resources"].items():
        if each["Type"] == "AWS::Lambda::Function":
            function, key = content["Resources"][logical_id]["Properties"], each["Properties"]["Code"]["S3Key"]
            bucket = {"Fn::Sub": "${ArchiveBucketPrefix}-${AWS::Region}"}
            assert function["Code"] == {"S3Bucket": bucket, "S3Key": key}
            assert function["Handler"] == each["Properties"]["Handler"]
            *package, handler, _ = function["Handler"].split(".")
            assert f"{'/'.join([*package, handler])}.py" in zipfile.ZipFile(io.BytesIO(archives[key])).namelist()


def test_the_archive_of_a_handler_keeps_its_key_and_its_bytes(stacks: dict[str, Stack]) -> None:
    ((key, content),) = inline(stacks["opt-30b"]).archives.items()
    assert key == f"{hashlib.sha256(content).hexdigest()}.tar.gz"


def test_the_code_of_machines_is_a_zip_of_its_folder(stacks: dict[str, Stack]) -> None:
    ((key, content),) = inline(stacks["gpt2-ec2"]).archives.items()
    assert key.endswith(".zip")
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {"machine/setup.sh", "inference_api/worker/__main__.py", "generation/server.py"} <= set(names)
    (template,) = resources(inline(stacks["gpt2-ec2"]).content, "EC2::LaunchTemplate")
    script: list[Any] = template["Properties"]["LaunchTemplateData"]["UserData"]["Fn::Base64"]["Fn::Join"][1]
    assert {"Fn::Sub": f"s3://${{ArchiveBucketPrefix}}-${{AWS::Region}}/{key}"} in script
