"""docs/pictures/stack.svg shows the shipped template, and nothing that is not in it."""

import json
import re

import pytest

from local_cloud.assembly import ROOT
from support.template_parts import Template
from tools.pictures.stack import picture


def test_the_picture_of_the_stack_is_fresh(templates: dict[str, Template]) -> None:
    drawn = picture("qwen3-4b", templates["qwen3-4b"])
    assert (ROOT / "docs" / "pictures" / "stack.svg").read_text() == drawn, "run `make pictures`"


def test_a_dot_is_a_permission(templates: dict[str, Template]) -> None:
    template = templates["qwen3-4b"]
    text = re.sub(r'"sagemaker:InvokeEndpoint\w*"', '"sagemaker:DescribeEndpoint"', json.dumps(template))
    read_only = json.loads(text)
    assert picture("x", template).count('"solid"') - picture("x", read_only).count('"solid"') == 2  # generate, run_job
    with pytest.raises(KeyError, match="kinesis"):
        picture("x", json.loads(json.dumps(template).replace('"dynamodb:', '"kinesis:')))
