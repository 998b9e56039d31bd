"""A job as its owner sees it: small outputs inline, large ones behind a link."""

import json
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import botocore.session
import pytest

from inference_api.http.answer import Answer
from inference_api.jobs.service import SIGNED_FOR_THE_REGION, JobService
from inference_api.jobs.state.files import JobFiles
from inference_api.jobs.state.job import SUCCEEDED, Job, Output
from inference_api.jobs.view import MOST_INLINE, full

OUTPUT = Output("output/a/1/x", "version-1", "etag", 10, "application/json", 1, in_table=False)
JOB = Job("a" * 32, "owner", SUCCEEDED, 0.0, 60.0, None, output=OUTPUT, ended_at=1.0)


class Service:
    """The two parts that a view reads."""

    def __init__(self, answer: Answer) -> None:
        credentials = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        session = botocore.session.get_session()
        client = session.create_client("s3", "eu-west-1", config=SIGNED_FOR_THE_REGION, **credentials)
        self.files, self._answer = JobFiles(client, "bucket"), answer

    def read_answer(self, job: Job, output: Output) -> Answer:
        return self._answer


def view(body: bytes, size: int) -> dict[str, Any]:
    service = cast(JobService, Service(Answer(body, "application/json")))
    return full(replace(JOB, output=OUTPUT._replace(size=size)), service)


def test_an_output_up_to_the_limit_is_inline() -> None:
    assert view(b'{"generated_text": "a"}', MOST_INLINE)["output"] == {"generated_text": "a"}


@pytest.mark.parametrize(
    ("body", "size"),
    [(b"{}", MOST_INLINE + 1), (json.dumps('"' * (MOST_INLINE // 3)).encode(), MOST_INLINE // 3 * 2)],
    ids=["large", "large-once-escaped"],
)
def test_a_larger_output_is_a_link_to_its_version_for_five_minutes(body: bytes, size: int) -> None:
    shown = view(body, size)
    assert "output" not in shown
    query = parse_qs(urlsplit(shown["output_url"]).query)
    assert query["versionId"] == ["version-1"]
    assert query["response-content-disposition"] == ["attachment"]
    assert query["X-Amz-Expires"] == ["300"]


@pytest.mark.parametrize("body", [b'{"logprob": 1e999}', b'{"logprob": -1e999}', b"[NaN]", b'{"logprob": Infinity}'])
def test_an_answer_with_a_number_that_no_parser_can_hold_is_shown_as_text(body: bytes) -> None:
    shown = json.dumps(view(body, len(body)), allow_nan=False)
    assert json.loads(shown)["output"] == body.decode()
