"""docs/pictures/stack.svg shows the functions of the shipped template, and what each may use."""

import re
from xml.etree import ElementTree

from support.repository import ROOT
from support.templates.template_parts import Template, all_of, functions, logical_id, variant

SERVICES = {"sqs": "SQS", "dynamodb": "DynamoDB", "s3": "S3", "events": "EventBridge", "sagemaker": "SageMaker"}
NOT_DRAWN = {"logs", "xray"}  # every function may use them
READING = re.compile(r"\w+:(Get|BatchGet|Query|List|Describe|Receive|Head)")
LEFT_OF_FUNCTIONS = "328"
SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> dict[tuple[str, str], str]:
    """Read the dot of each function and service: `solid` for changes, `hollow` for reads."""
    root = ElementTree.parse(ROOT / "docs" / "pictures" / "stack.svg").getroot()
    words = list(root.iter(f"{SVG}text"))
    columns = {each.get("x"): each.text for each in words if each.get("class") == "title"}
    # A text's baseline is 4 pixels below the middle of its box.
    rows = {int(each.get("y", 0)) - 4: each.text for each in words if each.get("x") == LEFT_OF_FUNCTIONS}
    return {
        (str(rows[int(dot.get("cy", 0))]), str(columns[dot.get("cx")])): dot.get("class", "")
        for dot in root.iter(f"{SVG}circle")
        if dot.get("cx") in columns  # a dot of the legend is in no column
    }


def permitted(template: Template) -> dict[tuple[str, str], str]:
    """Derive the same dots, `solid` or `hollow`, from the policies of the functions' roles."""
    found: dict[tuple[str, str], str] = {}
    for name, function in functions(template).items():
        for policy in all_of(template, "IAM::Policy"):
            if {"Ref": logical_id(function["Role"])} not in policy["Roles"]:
                continue
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = statement["Action"]
                for action in [actions] if isinstance(actions, str) else actions:
                    service = action.partition(":")[0]
                    if service not in NOT_DRAWN:
                        pair = (name, SERVICES.get(service, service))
                        found[pair] = found.get(pair, "hollow") if READING.match(action) else "solid"
    return found


def test_the_picture_has_a_dot_for_each_permission(templates: dict[str, Template]) -> None:
    assert drawn() == permitted(templates["qwen3-4b"]), "redraw docs/pictures/stack.svg"


def test_the_picture_names_the_instances(templates: dict[str, Template]) -> None:
    wanted = variant(templates["qwen3-4b"])
    text = (ROOT / "docs" / "pictures" / "stack.svg").read_text()
    assert f"{wanted['InitialInstanceCount']} x {wanted['InstanceType']}" in text
