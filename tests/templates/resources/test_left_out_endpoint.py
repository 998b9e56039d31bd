"""An account whose stack has no endpoint stays quiet."""

import json

from llm_hosting.portable.editing.conditions import ENDPOINT, leave_out_endpoint
from support.templates.template_parts import Template, resources


def test_alarms_that_refused_prompts_would_set_off_come_with_the_endpoint(templates: dict[str, Template]) -> None:
    template = json.loads(json.dumps(templates["qwen3-4b"]))
    leave_out_endpoint(template)
    stay = [each for each in resources(template, "CloudWatch::Alarm") if each.get("Condition") != ENDPOINT]
    named = {each["Properties"].get("MetricName", "Throttles") for each in stay}
    jobs = {"ApproximateNumberOfMessagesVisible", "JobsEndedBySweeper", "JobFailed"}
    assert named == {"Throttles", "Errors", "BatchesStuck", *jobs}, "what prompts and waiting jobs can't raise"
