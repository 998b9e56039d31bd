"""`hosting.mode` is chosen in one place of the templates and in one of the functions."""

import re
from typing import get_args

from llm_hosting.deployment import Hosting
from llm_hosting.hosting_modes import HOSTING_MODES
from local_cloud.assembly import ROOT


def test_every_mode_of_a_deployment_has_its_construct() -> None:
    assert set(HOSTING_MODES) == set(get_args(Hosting.model_fields["mode"].annotation))


def test_no_stack_construct_or_function_compares_the_mode_but_the_job_service() -> None:
    sources = [
        *(ROOT / "stacks").glob("*.py"),
        *(ROOT / "constructs" / "llm_hosting").glob("*.py"),
        *(ROOT / "lambda_src").rglob("*.py"),
    ]
    comparing = {path.name for path in sources if re.search(r"(\.|hosting_)mode (==|!=|in)", path.read_text())}
    # deployment.py: SageMaker's own time limit of a call follows from the mode.
    assert comparing == {"service.py", "deployment.py"}
