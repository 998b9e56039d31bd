"""Lines of output files: one JSON document each, whatever the model answers."""

import json
from typing import Any, cast

import pytest

from inference_api.batches.batch import Batch
from inference_api.batches.input_lines import InputLine
from inference_api.batches.lines import Lines
from inference_api.http.answer import Answer
from inference_api.jobs.state.job import SUCCEEDED, Job, Output
from inference_api.openai.call import OpenAICall
from inference_api.openai.exchange import PlainExchange

BATCH = Batch("batch_0", "o", "/v1/completions", "file-0", "k", "v", 0, 500, 60)
OUTPUT = Output("output/0", "v", "e", 10, "application/json", 1, in_table=True)
JOB = Job(id="0" * 32, owner="o", state=SUCCEEDED, accepted_at=0, deadline=60, due_at=None, version=1, output=OUTPUT)
# Characters that end a line for some readers, and half of a character, which UTF-8 can't hold.
TEXT = "one\u2028two\u2029three\u0085four\ud800"


def line_for(answer: object) -> dict[str, Any]:
    """Return the line of a job with this answer."""
    call = OpenAICall({"prompt": "p"}, "prompt", False, "m", False, False, False, False)
    lines = Lines(cast(Any, None), lambda body, endpoint: PlainExchange(call))
    raw = Answer(json.dumps(answer).encode(), "application/json")
    found = lines.result(BATCH, InputLine(1, TEXT[:-1], {}), JOB, None, raw)
    (text,) = found.raw.decode().splitlines()
    document: dict[str, Any] = json.loads(text)
    assert found.is_success == (document["response"]["status_code"] == 200)
    return document


def test_no_answer_breaks_a_line_of_the_output() -> None:
    document = line_for({"choices": [{"text": TEXT}]})
    assert (document["custom_id"], document["response"]["body"]["choices"][0]["text"]) == (TEXT[:-1], TEXT)


@pytest.mark.parametrize(
    "answer",
    [None, [[]], {"choices": [{"finish_reason": []}]}, {"generated_text": "", "details": [1]}, {"error": {"code": []}}],
)
def test_an_answer_of_no_known_form_costs_its_own_line(answer: object) -> None:
    """It does not cost its batch, whose driver would come back to it for ever."""
    assert line_for(answer)["response"]["status_code"] == 502
