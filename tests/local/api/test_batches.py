"""OpenAI's Files and Batch API over real HTTP: one batch from its upload to its output, and what is refused."""

import json
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.pictures import data_url, png
from support.stacks.deployed_stacks import Apis, caller_of

ENDPOINT = "/v1/chat/completions"
BOUNDARY = "line-between"
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
ENDED = ("failed", "completed", "expired", "cancelled")
NEW: dict[str, Any] = {"endpoint": ENDPOINT, "completion_window": "24h"}


def line(custom_id: str, **body: Any) -> dict[str, Any]:
    body = {"model": "Qwen/Qwen3-4B", "max_tokens": 3, "messages": [{"role": "user", "content": custom_id}]} | body
    return {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}


def form(*parts: tuple[str, str | bytes]) -> bytes:
    """Parse a form: the parameters of each part's disposition, and its content."""
    pieces = [
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; {names}\r\n\r\n".encode()
        + (content if isinstance(content, bytes) else content.encode())
        for names, content in parts
    ]
    return b"\r\n".join([*pieces, f"--{BOUNDARY}--\r\n".encode()])


PURPOSE = ('name="purpose"', "batch")


def file_of(content: str | bytes) -> tuple[str, str | bytes]:
    return 'name="file"; filename="in.jsonl"', content


def upload(api: ApiClient, content: str | bytes) -> dict[str, Any]:
    status, _, file = api.send("POST", "/files", form(PURPOSE, file_of(content)), FORM)
    assert status == 200, file
    return dict(file)


def lines_of(*requests: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, requests))


def run(api: ApiClient, cloud: LocalCloud, content: str, **more: Any) -> dict[str, Any]:
    """Run a batch of a file to its end. An event starts it at once, so the clock stays."""
    status, _, batch = api.call("POST", "/batches", {"input_file_id": upload(api, content)["id"]} | NEW | more)
    assert (status, batch["status"]) == (200, "validating"), batch

    def look() -> dict[str, Any] | None:
        found = api.call("GET", f"/batches/{batch['id']}")[2]
        return dict(found) if found["status"] in ENDED else None

    return wait_for(look, f"the end of {batch['id']}")


def content_of(api: ApiClient, file_id: str) -> list[dict[str, Any]]:
    status, headers, text = api.send("GET", f"/files/{file_id}/content", None, {})
    assert (status, headers["content-type"]) == (200, "application/jsonl")
    return [json.loads(each) for each in text.splitlines()]


@pytest.fixture(scope="module")
def api(apis: Apis) -> ApiClient:
    return apis("qwen3-4b")


@pytest.fixture(scope="module")
def batch(api: ApiClient, cloud: LocalCloud) -> dict[str, Any]:
    """Make a batch with more lines than a block; its route would refuse the second line."""
    return run(api, cloud, lines_of(line("1"), line("2", temperature="hot"), *(line(f"{n}") for n in range(3, 103))))


def test_a_batch_answers_its_lines_and_tells_why_others_failed(api: ApiClient, batch: dict[str, Any]) -> None:
    assert batch["status"] == "completed"
    assert batch["request_counts"] == {"total": 102, "completed": 101, "failed": 1}
    output = content_of(api, batch["output_file_id"])
    assert [int(each["custom_id"]) for each in output] == [1, *range(3, 103)]
    for each in output:
        assert each["error"] is None
        answer = each["response"]["body"]
        assert (each["response"]["status_code"], answer["object"]) == (200, "chat.completion")
        assert answer["model"] == "Qwen/Qwen3-4B"
    (failed,) = content_of(api, batch["error_file_id"])
    assert (failed["custom_id"], failed["response"]["status_code"]) == ("2", 400)
    assert failed["response"]["body"]["error"]["param"] == "temperature"


def test_a_batch_shows_images_and_refuses_the_line_of_a_wrong_one(apis: Apis, cloud: LocalCloud) -> None:
    def shows(custom_id: str, url: str) -> dict[str, Any]:
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "How large?"}]
        asked = {"messages": [{"role": "user", "content": content}], "max_tokens": 12}
        return line(custom_id, model="Qwen/Qwen3-VL-4B-Instruct", **asked)

    api = apis("qwen3-vl-4b")
    requests = shows("good", data_url(png(64, 48))), shows("bad", "http://169.254.169.254/")
    batch = run(api, cloud, lines_of(*requests))
    (good,), (bad,) = (content_of(api, batch[name]) for name in ("output_file_id", "error_file_id"))
    assert good["response"]["body"]["choices"][0]["message"]["content"].startswith("The image is 64x48.")
    assert (bad["custom_id"], bad["response"]["status_code"]) == ("bad", 400)
    assert bad["response"]["body"]["error"]["param"] == "messages[0].content[0].image_url"


def test_a_request_that_is_repeated_with_its_key_begins_no_second_batch(api: ApiClient) -> None:
    wanted: dict[str, Any] = {"input_file_id": upload(api, lines_of(line("one")))["id"]} | NEW
    key = {"Idempotency-Key": "batch of the night"}

    def begin(**more: Any) -> tuple[int, Any]:
        status, _, answer = api.call("POST", "/batches", wanted | more, headers=key)
        return status, answer

    assert begin(endpoint="/v1/nowhere")[0] == 400, "a request that is refused takes no key"
    first, again, changed = begin(), begin(), begin(metadata={"night": "2"})
    assert (first[0], again[0]) == (200, 200)
    assert first[1]["id"] == again[1]["id"]
    assert (changed[0], changed[1]["error"]["code"]) == (409, "idempotency_key_reused")


def test_files_and_batches_are_listed_page_by_page(api: ApiClient, batch: dict[str, Any]) -> None:
    listed: list[str] = []
    after, has_more = "", True
    while has_more:
        page = api.call("GET", f"/files?limit=2{after}")[2]
        listed += [file["id"] for file in page["data"]]
        after, has_more = f"&after={page['last_id']}", page["has_more"]
    assert len(set(listed)) == len(listed)
    assert {batch["input_file_id"], batch["output_file_id"], batch["error_file_id"]} <= set(listed)
    purposes = {file["purpose"] for file in api.call("GET", "/files?purpose=batch_output")[2]["data"]}
    assert purposes == {"batch_output"}
    assert batch["id"] in {each["id"] for each in api.call("GET", "/batches?limit=100")[2]["data"]}


def test_a_batch_answers_responses(api: ApiClient, cloud: LocalCloud) -> None:
    asked = {"model": "Qwen/Qwen3-4B", "max_output_tokens": 3}
    lines = [
        {"custom_id": text or "none", "method": "POST", "url": "/v1/responses", "body": asked | {"input": text}}
        for text in ("A list", "")
    ]
    batch = run(api, cloud, lines_of(*lines), endpoint="/v1/responses")
    assert batch["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    (answer,) = content_of(api, batch["output_file_id"])
    assert (answer["custom_id"], answer["response"]["body"]["object"]) == ("A list", "response")
    (refused,) = content_of(api, batch["error_file_id"])
    assert refused["response"]["body"]["error"]["param"] == "input"


BROKEN = {
    "no JSON": ('{"custom_id": "one"', "invalid_json_line"),
    "twice": (lines_of(line("one"), line("one")), "duplicate_custom_id"),
    "url": (lines_of(line("one") | {"url": "/v1/completions"}), "url_mismatch"),
    "method": (lines_of(line("one") | {"method": "GET"}), "invalid_method"),
    "model": (lines_of(line("one", model="gpt-9")), "model_not_found"),
    "empty": ("\n\n", "empty_file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_input_fails_the_batch_before_a_line_runs(api: ApiClient, cloud: LocalCloud, name: str) -> None:
    content, code = BROKEN[name]
    batch = run(api, cloud, content)
    assert (batch["status"], batch["output_file_id"]) == ("failed", None)
    assert [problem["code"] for problem in batch["errors"]["data"]] == [code]


REFUSED = {
    "no form": (b"{}", {"content-type": "application/json"}, 415, "unsupported_media_type"),
    "no boundary": (b"", {"content-type": "multipart/form-data"}, 400, "invalid_form"),
    "cut off": (form(PURPOSE, file_of("{}"))[:-6], FORM, 400, "invalid_form"),
    "two files": (form(PURPOSE, file_of("{}"), file_of("{}")), FORM, 400, "invalid_form"),
    "no file": (form(PURPOSE), FORM, 400, "invalid_parameter"),
    "no purpose": (form(file_of("{}")), FORM, 400, "invalid_parameter"),
    "another purpose": (form(('name="purpose"', "vision"), file_of("{}")), FORM, 400, "invalid_parameter"),
    "4.6 MB": (form(PURPOSE, file_of(b"x" * 4_600_000)), FORM, 413, "file_too_large"),
    "5 MB, more than 6 in base64": (form(PURPOSE, file_of(b"x" * 5_000_000)), FORM, 413, "body_too_large"),
    "50 MB": (form(PURPOSE, file_of(b"x" * 50_000_000)), FORM, 413, "body_too_large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_upload_without_a_file_is_refused(api: ApiClient, name: str) -> None:
    body, headers, status, code = REFUSED[name]
    answer = api.send("POST", "/files", body, headers)
    assert (answer[0], answer[2]["error"]["code"]) == (status, code)


def test_a_batch_needs_a_file_of_its_own_and_can_be_cancelled_before_its_end_only(
    api: ApiClient, cloud: LocalCloud, batch: dict[str, Any]
) -> None:
    stranger = caller_of(cloud, api, "stranger-to-batches")
    file = upload(api, lines_of(line("one")))
    assert api.call("DELETE", f"/files/{file['id']}")[2] == {"id": file["id"], "object": "file", "deleted": True}
    for caller, file_id in ((stranger, batch["input_file_id"]), (api, batch["output_file_id"]), (api, file["id"])):
        status, _, answer = caller.call("POST", "/batches", {"input_file_id": file_id} | NEW)
        assert (status, answer["error"]["field"]) == (400, "input_file_id")
    answers = {
        json.dumps(caller.call("GET", f"/{path}")[2])
        for caller, path in (
            (stranger, f"files/{batch['input_file_id']}"),
            (stranger, f"files/{batch['output_file_id']}/content"),
            (api, f"files/{file['id']}"),
            (api, "files/file-0"),
            (api, f"files/{batch['id']}"),
        )
    }
    assert len(answers) == 1, "what is unknown, malformed, deleted or another's looks the same"
    assert stranger.call("POST", f"/batches/{batch['id']}/cancel")[0] == 404
    assert api.call("POST", f"/batches/{batch['id']}/cancel")[2]["error"]["code"] == "batch_not_cancellable"


def test_a_batch_takes_embeddings(apis: Apis, cloud: LocalCloud) -> None:
    api, url = apis("bge-small"), "/v1/embeddings"
    texts = ["A list", "A row", ["A town", "A river"]]
    lines = [
        {"custom_id": str(texts.index(each)), "method": "POST", "url": url, "body": {"input": each}} for each in texts
    ]
    ended = run(api, cloud, lines_of(*lines), endpoint=url)
    bodies = {each["custom_id"]: each["response"]["body"] for each in content_of(api, ended["output_file_id"])}
    for number, text in enumerate(texts):
        assert bodies[str(number)] == api.call("POST", "/embeddings", {"input": text})[2]
