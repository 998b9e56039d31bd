"""`operations.tracing`: one trace from API Gateway through the functions to the model, and through a job to its end."""

import json
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.command import Command
from support.stacks.deployed_stacks import Apis, ended, ended_batch, resource_ids
from support.stacks.ordered_faults import OrderedFaults
from support.stacks.traces import Segment, everything, segments_of, wait_for_segment, walk

MARKER = "a-prompt-that-nobody-else-writes"
BODY = {"inputs": MARKER, "parameters": {"max_new_tokens": 3}}
CHAT = {"model": "Qwen/Qwen3-4B", "messages": [{"role": "user", "content": MARKER}], "max_tokens": 3}
ROOT = "1-5759e988-bd862e3fe1be46a994272793"
FORM = {"content-type": "multipart/form-data; boundary=cut"}


@pytest.fixture
def api(apis: Apis) -> ApiClient:
    return apis("traced")


def parts(trace: list[Segment]) -> dict[str, Segment]:
    return {each["name"]: each for each in walk(trace)}


def segments(cloud: LocalCloud, api: ApiClient, trace_id: str) -> dict[str, Segment]:
    """Return everything in a trace by its name."""
    return parts(segments_of(cloud, api.region, trace_id))


def lines_of(cloud: LocalCloud, stack: Stack, trace_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the lines of a trace in all logs of the stack, each with its log group."""
    logs, found = cloud.client("logs", region=stack.region), []
    for group in resource_ids(cloud, stack, "AWS::Logs::LogGroup"):
        events = logs.filter_log_events(logGroupName=group, filterPattern=f'"{trace_id}"')["events"]
        found += [(group, json.loads(event["message"])) for event in events]
    return found


def test_a_trace_leads_from_the_gateway_through_the_function_to_the_model(cloud: LocalCloud, api: ApiClient) -> None:
    _, headers, _ = api.call("POST", "/chat/completions", CHAT)
    gateway, function = segments_of(cloud, api.region, headers["x-trace-id"])
    (model,) = function["subsegments"]
    assert (gateway["origin"], function["origin"]) == ("AWS::ApiGateway::Stage", "AWS::Lambda::Function")
    assert function["parent_id"] == gateway["id"]
    assert (model["name"], model["namespace"]) == ("model", "remote")
    told = model["annotations"]
    assert (told["status"], told["variant"], told["completion_tokens"]) == (200, "AllTraffic", 3)
    assert told["endpoint"].startswith("traced-")
    assert gateway["start_time"] <= model["start_time"] <= model["end_time"] <= gateway["end_time"]


def test_a_stream_has_its_trace_before_its_first_piece_and_tells_the_time_to_it(
    cloud: LocalCloud, api: ApiClient
) -> None:
    _, headers, text = api.call("POST", "/chat/completions", CHAT | {"stream": True})
    assert text.endswith("data: [DONE]\n\n")
    told = segments(cloud, api, headers["x-trace-id"])["model"]["annotations"]
    assert told["first_byte_ms"] >= 0


def test_a_failed_call_of_the_model_is_a_fault_with_its_code(cloud: LocalCloud, api: ApiClient) -> None:
    OrderedFaults(cloud).order("sagemaker-runtime", "InvokeEndpointWithResponseStream", "engine_exit", tokens=1)
    _, headers, text = api.call("POST", "/chat/completions", CHAT | {"stream": True})
    model = segments(cloud, api, headers["x-trace-id"])["model"]
    assert model["fault"] is True
    assert f'"code": "{model["annotations"]["code"]}"' in text


def test_answers_logs_and_the_access_log_have_one_trace_id(
    cloud: LocalCloud, api: ApiClient, stacks: dict[str, Stack]
) -> None:
    _, headers, _ = api.call("POST", "/generate", BODY)
    found = lines_of(cloud, stacks["traced"], headers["x-trace-id"])
    assert {line["trace"] for _, line in found} == {headers["x-trace-id"]}
    assert {"request_id", "requestId"} <= {name for _, line in found for name in line}, "of function and gateway"


def test_an_answer_of_the_gateway_itself_has_the_trace(cloud: LocalCloud, api: ApiClient) -> None:
    status, headers, _ = api.call("GET", "/nothing")
    (gateway,) = segments_of(cloud, api.region, headers["x-trace-id"])
    assert (status, gateway["http"]["response"]["status"]) == (403, 403)


@pytest.mark.parametrize("path", ["/endpoint", "/nothing"])
def test_a_page_of_another_origin_may_read_the_trace(api: ApiClient, path: str) -> None:
    _, headers, _ = api.call("GET", path, headers={"origin": "https://chat.example.com"})
    assert "x-trace-id" in headers["access-control-expose-headers"]


def test_a_caller_may_bring_a_trace_of_its_own(cloud: LocalCloud, api: ApiClient) -> None:
    _, headers, _ = api.call("POST", "/generate", BODY, headers={"x-amzn-trace-id": f"Root={ROOT};Sampled=1"})
    assert headers["x-trace-id"] == ROOT
    assert "model" in segments(cloud, api, ROOT)


def test_a_request_that_is_not_sampled_has_an_id_and_no_segments(
    cloud: LocalCloud, api: ApiClient, stacks: dict[str, Stack]
) -> None:
    root = "1-5759e988-000000000000000000000000"
    _, headers, job = api.call("POST", "/jobs", BODY, headers={"x-amzn-trace-id": f"Root={root};Sampled=0"})
    ended(api, job)
    assert headers["x-trace-id"] == job["trace_id"] == root
    assert cloud.client("xray", region=api.region).batch_get_traces(TraceIds=[root])["Traces"] == []
    assert {"JobsEnded", "request_id"} <= {name for _, line in lines_of(cloud, stacks["traced"], root) for name in line}


def test_a_job_goes_on_with_its_requests_trace_to_its_end(
    cloud: LocalCloud, api: ApiClient, stacks: dict[str, Stack]
) -> None:
    _, headers, job = api.call("POST", "/jobs", BODY)
    assert ended(api, job)["trace_id"] == job["trace_id"] == headers["x-trace-id"]
    found = parts(wait_for_segment(cloud, api.region, job["trace_id"], "traced run_job"))
    run, submit, end = found["traced run_job"], found["submit job"], found["end job"]
    assert run["parent_id"] == end["parent_id"] == submit["id"]
    assert [each["name"] for each in run["subsegments"]] == ["claim", "model", "record"]
    assert run["annotations"] == submit["annotations"] == {"job": job["id"]}
    assert (end["annotations"]["status"], end["annotations"]["attempts"]) == ("succeeded", 1)
    assert any("JobsEnded" in line for _, line in lines_of(cloud, stacks["traced"], job["trace_id"]))


def test_the_lines_of_a_batch_go_on_with_its_requests_trace(cloud: LocalCloud, api: ApiClient) -> None:
    lines = [
        json.dumps({"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": CHAT})
        for number in range(2)
    ]
    form = '--cut\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--cut\r\nContent-Disposition: '
    form += 'form-data; name="file"; filename="in.jsonl"\r\n\r\n' + "\n".join(lines) + "\r\n--cut--\r\n"
    file = api.send("POST", "/files", form.encode(), FORM)[2]
    new = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    _, headers, batch = api.call("POST", "/batches", new)
    ended_batch(api, batch)
    found = wait_for_segment(cloud, api.region, headers["x-trace-id"], "traced run_job", count=2)
    names = [each["name"] for each in walk(found)]
    assert (names.count("submit job"), names.count("traced run_job"), names.count("end job")) == (2, 2, 2)


def test_an_asynchronous_job_is_traced_to_its_end(cloud: LocalCloud, apis: Apis) -> None:
    api = apis("traced-async")
    _, headers, job = api.call("POST", "/jobs", BODY)
    ended(api, job)
    found = parts(wait_for_segment(cloud, api.region, headers["x-trace-id"], "traced-async record_result"))
    record = found["traced-async record_result"]
    assert record["parent_id"] == found["submit job"]["id"]
    assert [each["name"] for each in record["subsegments"]] == ["model"]
    assert found["model"]["end_time"] > found["model"]["start_time"]
    assert found["end job"]["annotations"]["by_sweeper"] is False


def test_no_segment_holds_a_text_a_key_or_a_caller(cloud: LocalCloud, api: ApiClient, stacks: dict[str, Stack]) -> None:
    answer, job = api.call("POST", "/generate", BODY)[2], api.call("POST", "/jobs", BODY)[2]
    output = ended(api, job)["output"]
    dynamodb = cloud.client("dynamodb", region=api.region)
    (table,) = resource_ids(cloud, stacks["traced"], "AWS::DynamoDB::Table")
    row = dynamodb.get_item(TableName=table, Key={"pk": {"S": f"job#{job['id']}"}})["Item"]
    found = everything(cloud)  # also of the other tests
    assert found["refused"] == []
    text = json.dumps(found["kept"])
    assert job["id"] in text
    assert api.credentials
    texts = MARKER, answer["generated_text"], output["generated_text"]
    callers = row["owner"]["S"], api.credentials.access_key_id
    assert [each for each in (*texts, *callers) if each in text] == []


def test_a_function_without_the_permission_sends_nothing(
    cloud: LocalCloud, api: ApiClient, stacks: dict[str, Stack]
) -> None:
    """Like Lambda, the local cloud drops such segments without a word."""
    iam = cloud.client("iam", region=api.region)
    (role,) = (each for each in resource_ids(cloud, stacks["traced"], "AWS::IAM::Role") if "ApiGenerate" in each)
    (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = json.dumps(iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"])
    assert "xray:PutTraceSegments" in document
    less = document.replace("xray:PutTraceSegments", "xray:GetGroups")
    iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=less)
    try:
        _, headers, _ = api.call("POST", "/generate", BODY)
        found = segments_of(cloud, api.region, headers["x-trace-id"])
        assert [each["origin"] for each in found] == ["AWS::ApiGateway::Stage"]
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=document)


def test_slipway_shows_a_trace_as_a_tree(slipway: Command, api: ApiClient) -> None:
    _, headers, _ = api.call("POST", "/generate", BODY)
    outcome = slipway("trace", "traced", headers["x-trace-id"])
    names = [line[25:].split("  status")[0].rstrip() for line in outcome.stdout.splitlines()[1:]]
    assert names[0] == "traced/v1"
    assert names[1].startswith("  traced-")
    assert names[2].startswith("    model  endpoint=traced-")


def test_slipway_finds_the_lines_of_a_trace_and_of_a_request(slipway: Command, api: ApiClient) -> None:
    _, headers, _ = api.call("POST", "/generate", BODY)
    by_trace = slipway("logs", "traced", "--trace", headers["x-trace-id"]).stdout.splitlines()
    assert {line.split("  ")[1] for line in by_trace} == {"access", "generate"}
    by_request = slipway("logs", "traced", "--request", headers["x-request-id"]).stdout.splitlines()
    assert [line.split("  ")[1] for line in by_request] == ["access", "generate"]
    assert set(by_request) < set(by_trace), "a trace has metrics, too"


def test_slipway_says_why_there_is_no_trace(slipway: Command, api: ApiClient) -> None:
    outcome = slipway("trace", "traced", "1-5759e988-111111111111111111111111")
    assert outcome.status == 1
    assert "slipway logs traced --trace 1-5759e988-111111111111111111111111" in outcome.stderr


def test_slipway_refuses_what_is_no_id(slipway: Command, api: ApiClient) -> None:
    assert "use an answer's x-trace-id, or a job's trace_id" in slipway("trace", "traced", "1-2-3").stderr
