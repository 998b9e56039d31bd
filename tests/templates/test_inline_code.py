"""Templates without assets: the functions' code in Mappings, archives in a bucket of each region."""

import hashlib
import io
import json
import zipfile
from copy import deepcopy
from typing import Any

import pytest

from llm_hosting.portable.code import InlineTemplate, with_inline_code
from llm_hosting.portable.index_file import index_file
from local_cloud.assembly import ROOT, Stack
from support.known_deployments import SHIPPED, VARIANTS
from support.template_parts import Template, all_of, resources

INFERENCE = index_file(ROOT / "lambda_src", "inference_api.handlers.")


def inline(stack: Stack) -> InlineTemplate:
    return with_inline_code(stack.template, {asset.object_key: asset.source for asset in stack.assets})


def without_code(template: Template) -> Template:
    """What the two forms share."""
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
def test_no_asset_is_left_and_all_else_stays(stacks: dict[str, Stack], name: str) -> None:
    before, (content, archives) = stacks[name].template, inline(stacks[name])
    assert without_code(content) == without_code(before)
    text = json.dumps(content["Resources"])
    assert "aws:asset" not in text
    assert "-assets-" not in text
    assert "S3Key" not in text
    places = [text.count(f"/{key}") for key in archives]
    assert all(count > 1 for count in places), "where it is, and who may read it"
    assert text.count("${ArchiveBucketPrefix}-${AWS::Region}") == sum(places)
    assert before == stacks[name].template


def test_a_template_of_one_region_is_refused_as_its_bucket_is(stacks: dict[str, Stack]) -> None:
    text = json.dumps(stacks["opt-30b"].template).replace("AccountId}-${AWS::Region}", "AccountId}-eu-west-1")
    with pytest.raises(AssertionError, match="without a region"):
        with_inline_code(json.loads(text), {})


@pytest.mark.parametrize("name", ["qwen3-4b", "qwen3-4b-async", "gpt2-ec2", "playground"])
def test_every_function_names_its_handler_in_the_one_text_of_its_package(stacks: dict[str, Stack], name: str) -> None:
    before, (content, _) = stacks[name].template, inline(stacks[name])
    code = content["Mappings"]["Code"]
    assert code["inferenceapi"] == {"source": INFERENCE}
    for logical_id, each in before["Resources"].items():
        if each["Type"] == "AWS::Lambda::Function":
            function = content["Resources"][logical_id]["Properties"]
            *package, handler, _ = each["Properties"]["Handler"].split(".")
            entry = "inferenceapi" if package else "playground"
            assert function["Handler"] == f"index.{handler}"
            assert function["Code"] == {"ZipFile": {"Fn::FindInMap": ["Code", entry, "source"]}}
            assert f'\nFILES["{"/".join([*package, handler])}.py"] = ' in code[entry]["source"]


def test_the_archive_of_a_handler_keeps_its_key_and_its_bytes(stacks: dict[str, Stack]) -> None:
    ((key, content),) = inline(stacks["opt-30b"]).archives.items()
    assert key == f"{hashlib.sha256(content).hexdigest()}.tar.gz"


def test_the_code_of_machines_is_a_zip_of_its_folder(stacks: dict[str, Stack]) -> None:
    ((key, content),) = inline(stacks["gpt2-ec2"]).archives.items()
    assert key.endswith(".zip")
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {"machine/setup.sh", "inference_api/machine/__main__.py", "generation/server.py"} <= set(names)
    (template,) = resources(inline(stacks["gpt2-ec2"]).content, "EC2::LaunchTemplate")
    script: list[Any] = template["Properties"]["LaunchTemplateData"]["UserData"]["Fn::Base64"]["Fn::Join"][1]
    assert {"Fn::Sub": f"s3://${{ArchiveBucketPrefix}}-${{AWS::Region}}/{key}"} in script
