"""`examples/own_app.py`: two services in a team's own stack and VPC."""

import pytest

from examples.own_app import Services
from support.templates.services import an_app
from support.templates.template_parts import Template, all_of, properties


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    app = an_app(tmp_path_factory.mktemp("own_app"))
    Services(app, "services")
    (stack,) = app.synth().stacks
    found: Template = stack.template
    return found


def test_both_services_are_in_the_one_vpc(template: Template) -> None:
    assert len(all_of(template, "EC2::VPC")) == 1
    assert len(properties(template, "SageMaker::Model")["VpcConfig"]["Subnets"]) == 2
    assert len(all_of(template, "EC2::Instance")) == 1


def test_the_endpoint_waits_for_the_way_to_the_internet(template: Template) -> None:
    (endpoint,) = [each for each in template["Resources"].values() if each["Type"] == "AWS::SageMaker::Endpoint"]
    assert any("PrivateSubnet1DefaultRoute" in each for each in endpoint["DependsOn"])


def test_the_application_may_call_both(template: Template) -> None:
    (policy,) = [each for name, each in template["Resources"].items() if name.startswith("ApplicationDefaultPolicy")]
    assert len(policy["Properties"]["PolicyDocument"]["Statement"][0]["Resource"]) == 2
