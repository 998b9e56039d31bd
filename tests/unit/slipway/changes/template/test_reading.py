"""Templates as Python reads them, and texts that are no template."""

import json
import re
from typing import Any

import pytest
import yaml

from slipway.changes.template.reading import NoTemplateError, parse_template


def test_the_short_forms_of_functions_are_the_long_ones() -> None:
    text = "Resources: {A: {Type: X, Properties: {B: !GetAtt C.D, E: !Sub '${F}', G: !If [H, !Ref I, 2012-10-17]}}}"

    assert parse_template(text, "x")["Resources"]["A"]["Properties"] == {
        "B": {"Fn::GetAtt": "C.D"},
        "E": {"Fn::Sub": "${F}"},
        "G": {"Fn::If": ["H", {"Ref": "I"}, "2012-10-17"]},
    }


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"Resources": {"A": {"Type": 5}}}, "Resources.A has no Type"),
        ({"Resources": {"A": {"Type": "B", "Properties": [1]}}}, "Resources.A.Properties must be a mapping"),
        ({"Resources": {5: {"Type": "B"}}}, "Resources has the name 5"),
        ({"Parameters": {"A": None}}, "Parameters.A must be a mapping"),
        ({"Outputs": ["A"]}, "Outputs must be a mapping"),
        ({"Conditions": {"A": "b"}}, "Conditions.A is not a condition"),
        ({"Conditions": {"A": {"Fn::Equals": ["b"]}}}, "Conditions.A is not a condition"),
        ({"Metadata": json.loads("[" * 200 + "]" * 200)}, "nested too deep"),
    ],
)
def test_what_is_no_template_is_said_in_a_sentence(parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NoTemplateError, match=re.escape(sentence)):
        parse_template(yaml.safe_dump({"Resources": {}} | parts), "x")
