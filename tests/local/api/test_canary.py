"""No log, metric, event, tag or row tells what callers write: a canary goes through every route, and is looked for."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.stacks.boundaries import make_boundary
from support.stacks.canary import KEPT, Canary
from support.stacks.deployed_stacks import Apis, ended, ended_batch
from support.stacks.ordered_faults import OrderedFaults

JSON = {"content-type": "application/json"}
FORM = {"content-type": "multipart/form-data; boundary=cut"}


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "Qwen/Qwen3-4B", "messages": [{"role": "user", "content": text}], "max_tokens": 3} | more


def requests_with(text: str, bodies: int) -> Iterator[tuple[str, str, Any, dict[str, str]]]:
    """Yield requests that hold the text: in each place of each route, good and bad, whole and streamed."""
    parameters = {"max_new_tokens": 3}
    of_routes: dict[str, dict[str, Any]] = {
        "/generate": {"inputs": text, "parameters": parameters},
        "/chat/completions": chat(text),
        "/completions": {"model": "Qwen/Qwen3-4B", "prompt": text, "max_tokens": 3},
        "/responses": {"model": "Qwen/Qwen3-4B", "input": text, "max_output_tokens": 3},
        "/jobs": {"inputs": text, "parameters": parameters},
    }
    for path, body in of_routes.items():
        yield from islice(_variants(path, body, text), bodies)
    yield "POST", "/generate", {"inputs": text, "parameters": {"temperature": -1}}, {}  # refused by the engine's rules
    yield "POST", "/generate", {"inputs": text, "parameters": {text: 1}}, {}
    yield "POST", "/embeddings", {"model": "Qwen/Qwen3-4B", "input": text}, {}
    yield "POST", "/rerank", {"query": text, "documents": [text]}, {}
    for method, path in (
        ("GET", "/jobs/"),
        ("DELETE", "/jobs/"),
        ("GET", "/files/"),
        ("GET", "/batches/"),
        ("GET", "/"),
    ):
        yield method, f"{path}{text}", None, {}
    yield "GET", f"/jobs?limit={text}&after={text}", None, {}
    yield "POST", "/batches", {"input_file_id": text, "endpoint": text, "completion_window": "24h"}, {}
    yield "POST", "/batches", {"input_file_id": "file-1", "metadata": {text: text}}, {}
    yield "GET", "/models", None, {"authorization": f"Bearer {text}"}


def _variants(path: str, body: dict[str, Any], text: str) -> Iterator[tuple[str, str, Any, dict[str, str]]]:
    yield "POST", path, body, {}
    yield "POST", path, body | {"stream": True}, {}
    yield "POST", path, body | {text: text}, {}  # an unknown setting
    yield "POST", path, body | {"model": text}, {}
    yield "POST", path, body, {"idempotency-key": text, "x-canary": text, "user-agent": text}
    yield "POST", path, json.dumps(body).encode()[:-1], JSON  # no JSON
    yield "POST", path, text.encode(), {"content-type": text}
    yield "POST", f"{path}?wait={text}&{text}={text}", body, {}


def form(purpose: str, name: str, content: str) -> bytes:
    return (
        f'--cut\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n--cut\r\nContent-Disposition: '
        f'form-data; name="file"; filename="{name}"\r\n\r\n{content}\r\n--cut--\r\n'
    ).encode()


def bearer(api: ApiClient) -> dict[str, str]:
    """Return the header by which OpenAI's routes take a key."""
    return {"authorization": f"Bearer {api.api_key}"} if api.api_key else {}


def send_everywhere(api: ApiClient, text: str, bodies: int) -> list[int]:
    """Send the text through every route. Return the statuses. bodies: how many each model route gets."""
    key = bearer(api)

    def send(request: tuple[str, str, Any, dict[str, str]]) -> int:
        method, path, body, headers = request
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with api.open(method, path, data, key | (JSON if isinstance(body, dict) else {}) | headers) as answer:
            answer.read()
        return answer.status

    forms = [("POST", "/files", form(each, text, text), FORM) for each in ("batch", text)]
    # One after the other: calls at once would start more functions, which takes longer than the calls.
    return [send(each) for each in [*requests_with(text, bodies), *forms]]


def run_batch(api: ApiClient, text: str) -> None:
    line = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": chat(text)}
    key = bearer(api)
    file = api.send("POST", "/files", form("batch", "in.jsonl", json.dumps(line)), FORM | key)[2]
    new = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    batch = api.call("POST", "/batches", new, headers=key)[2]
    ended_batch(api, batch, key)


def end_all_jobs(api: ApiClient) -> None:
    for job in api.call("GET", "/jobs?limit=100")[2]["jobs"]:
        ended(api, job)


@pytest.fixture(scope="module", autouse=True)
def boundary(cloud: LocalCloud) -> None:
    """Make the policy that the deployment `governed` names as the boundary of its roles."""
    make_boundary(cloud)


# How many bodies each route gets: an asynchronous model answers each of them by a job, which takes its time.
@pytest.mark.parametrize(("name", "bodies"), [("governed", 8), ("qwen3-4b-async", 2)])
def test_what_callers_write_is_only_where_the_documents_say(
    cloud: LocalCloud, apis: Apis, stacks: dict[str, Stack], name: str, bodies: int
) -> None:
    text = f"canary-in-{name}"
    api, faults = apis(name), OrderedFaults(cloud)
    canary = Canary(cloud, stacks[name].region, text)
    before = canary.lines_of_requests()  # log groups outlive the stacks of other modules
    statuses = send_everywhere(api, text, bodies)
    assert {200, 400, 404} <= set(statuses)
    for fault in ("engine_error", "engine_exit", "cut_in_character"):
        faults.order("sagemaker-runtime", "InvokeEndpointWithResponseStream", fault, tokens=1)
        api.send("POST", "/chat/completions", json.dumps(chat(text, stream=True)).encode(), JSON | bearer(api))
    for service, operation, function in (
        ("dynamodb", "UpdateItem", "Route"),
        ("s3", "PutObject", "Route"),
        ("sagemaker-runtime", "InvokeEndpoint", "Generate"),
    ):
        faults.order(service, operation, "error_after", function=function, count=8)
        api.call("POST", "/generate", {"inputs": text})
        api.call("POST", "/jobs", {"inputs": text})
        faults.clear()
    run_batch(api, text)
    end_all_jobs(api)
    places, lines = canary.places(), [line for line in canary.lines_of_requests() if line not in before]
    assert places - KEPT == set()
    assert {"file input", "file file"} <= places, "the canary was sent"
    assert canary.heard == ({"events"} if name == "governed" else {"events", "topics"})
    if name == "governed":
        assert {"file capture", "segment of API Gateway"} <= places
        assert [line for line in lines if line["status"] < 500 and line["code"] is None] == []
        assert not {"caller", "bytes_in", "bytes_out", "sourceIp"} & {field for line in lines for field in line}
    else:
        assert {"sourceIp", "caller", "bytes_in"} <= {field for line in lines for field in line}
