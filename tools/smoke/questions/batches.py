"""A batch of OpenAI's form, from the upload to the file of answers."""

import json
from typing import Any

from tools.smoke.asking.calls import call
from tools.smoke.asking.question import Answer, Line, Question
from tools.smoke.asking.stacks import EC2
from tools.smoke.asking.trial import Trial

_LINES = 20
_ENDED = ("completed", "failed", "expired", "cancelled")
_PATIENCE_IN_SECONDS = 1200
_BOUNDARY = "slipway-smoke"
_MODEL = "openai-community/gpt2"


def batch_of_lines(trial: Trial) -> Answer:
    """Upload lines, begin a batch, wait for its end, and read the file of answers."""
    gateway, stack = trial.clients("apigateway"), trial.stack()
    key = gateway.get_api_key(apiKey=stack.outputs["ApiKeyId"], includeValue=True)["value"]
    form = {"content-type": f"multipart/form-data; boundary={_BOUNDARY}"}
    file = call(trial, "POST", "files", _upload(), key=key, headers=form)
    if file.status != 200:
        return Answer(f"POST /files: {file}", good=False)
    wanted = {"input_file_id": file.content["id"], "endpoint": "/v1/completions", "completion_window": "24h"}
    begun = call(trial, "POST", "batches", wanted, key=key)
    if begun.status != 200:
        return Answer(f"POST /batches: {begun}", good=False)

    def look() -> dict[str, Any] | None:
        batch = call(trial, "GET", f"batches/{begun.content['id']}", key=key).content
        return batch if batch.get("status") in _ENDED else None

    batch = trial.wait(look, _PATIENCE_IN_SECONDS)
    if not batch or not batch.get("output_file_id"):
        return Answer(f"no output: {batch}", good=False)
    content = call(trial, "GET", f"files/{batch['output_file_id']}/content", key=key).content
    lines = [json.loads(line) for line in content.splitlines()] if isinstance(content, str) else []
    in_order = [each["custom_id"] for each in lines] == [str(number) for number in range(_LINES)]
    answered = sum(each["response"]["status_code"] == 200 for each in lines)
    seconds = batch["completed_at"] - batch["created_at"]
    seen = (
        f"{batch['status']} after {seconds} s, {answered} of {_LINES} answers, {'in' if in_order else 'out of'} order"
    )
    return Answer(seen, batch["status"] == "completed" and in_order and answered == _LINES)


def _upload() -> bytes:
    bodies = ({"model": _MODEL, "prompt": f"Number {number} is", "max_tokens": 8} for number in range(_LINES))
    requests = (
        {"custom_id": str(number), "method": "POST", "url": "/v1/completions", "body": body}
        for number, body in enumerate(bodies)
    )
    lines = "\n".join(map(json.dumps, requests))
    parts = (
        '--{0}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        '--{0}\r\ncontent-disposition: form-data; name="file"; filename="lines.jsonl"\r\n\r\n{1}\r\n--{0}--\r\n'
    )
    return parts.format(_BOUNDARY, lines).encode()


QUESTIONS = (
    Question(
        "batch",
        "Does a batch of 20 lines end with a file of 20 answers, in order?",
        "it does",
        batch_of_lines,
        Line("docs/batches.md", "How it runs", "the results are joined to two files, in the order of the input"),
        minutes=5,
        stack=EC2,
    ),
)
