"""A REST API streams the answers of functions with their own Runtime API loop, as on AWS."""

import json
from typing import Any

import pytest
import requests

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.small_stacks import REGION, Resources, StackFailedError, create, function, resource, role

# A module with its own runtime loop: its import never returns. A test creates files that tell it when to go on.
RUNTIME = """
import http.client, json, os, pathlib, time
api, base = os.environ["AWS_LAMBDA_RUNTIME_API"], "/2018-06-01/runtime/invocation"

def wait_for(path):
    while not pathlib.Path(path).exists():
        time.sleep(0.01)

def answer(connection, case, gate):
    def send(piece):
        connection.send(b"%x\\r\\n%s\\r\\n" % (len(piece), piece))
    metadata = json.dumps({"statusCode": 201, "headers": {"Content-Type": "text/event-stream"}}).encode()
    if case == "no-delimiter":
        send(metadata)
    elif case == "no-json":
        send(b"statusCode" + bytes(8))
    elif case == "endless":
        send(b" " * 20_000)
        wait_for("/never")
    elif case == "late":
        wait_for("/never")
    else:
        send(metadata[:5])
        send(metadata[5:] + bytes(4))
        send(bytes(4) + b"one,")
        if case == "gone":
            try:
                while True:
                    send(b"more,")
                    time.sleep(0.01)
            except OSError:
                pathlib.Path(gate).write_text("the connection is closed")
                return
        wait_for(gate)
        if case == "exit":
            os._exit(1)
        send("zw\\u00f6lf".encode()[:3])
        send("zw\\u00f6lf".encode()[3:])
    error = b"Lambda-Runtime-Function-Error-Type: Unhandled\\r\\n" if case == "error" else b""
    connection.send(b"0\\r\\n" + error + b"\\r\\n")
    connection.getresponse().read()

while True:
    connection = http.client.HTTPConnection(api)
    connection.request("GET", base + "/next")
    response = connection.getresponse()
    event, request_id = json.loads(response.read()), response.headers["Lambda-Runtime-Aws-Request-Id"]
    left = int(response.headers["Lambda-Runtime-Deadline-Ms"]) / 1000 - time.time()
    case, _, gate = (event.get("queryStringParameters") or {}).get("case", "").partition(" ")
    connection = http.client.HTTPConnection(api)
    if case == "refuses":
        body = json.dumps({"errorType": "Refusal", "errorMessage": "no"})
        connection.request("POST", f"{base}/{request_id}/error", body)
        connection.getresponse().read()
        continue
    connection.putrequest("POST", f"{base}/{request_id}/response")
    connection.putheader("Lambda-Runtime-Function-Response-Mode", "streaming")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    answer(connection, case, gate)
    print("answered", case, gate, 25 < left <= 30, os.environ["_HANDLER"], os.environ["LAMBDA_TASK_ROOT"], os.getpid())
"""
PLAIN = "def handler(event, context): return {'statusCode': 200, 'body': 'whole'}"
BROKEN = "raise ValueError('no import')"
URI = "arn:aws:apigateway:${AWS::Region}:lambda:path/2021-11-15/functions/${%s.Arn}/response-streaming-invocations"
LOG_FORMAT = " ".join(
    f"$context.{name}"
    for name in (
        "resourcePath",
        "status",
        "responseLength",
        "integration.responseTransferMode",
        "integration.timeToAllHeaders",
        "integration.timeToFirstContent",
        "integrationErrorMessage",
    )
)


def method(name: str, function_id: str, **integration: Any) -> Resources:
    named = {"RestApiId": {"Ref": "Api"}, "ResourceId": {"Ref": f"{name}Resource"}, "HttpMethod": "GET"}
    proxy = {"Type": "AWS_PROXY", "IntegrationHttpMethod": "POST", "ResponseTransferMode": "STREAM"}
    proxy |= {"Uri": {"Fn::Sub": URI % function_id}} | integration
    parent = {"RestApiId": {"Ref": "Api"}, "ParentId": {"Fn::GetAtt": ["Api", "RootResourceId"]}}
    return {
        f"{name}Resource": resource("ApiGateway::Resource", parent | {"PathPart": name}),
        f"{name}Method": resource("ApiGateway::Method", named | {"AuthorizationType": "NONE", "Integration": proxy}),
    }


def api() -> Resources:
    """A route for each function, and one with a short time limit."""
    functions = {"stream": RUNTIME, "plain": PLAIN, "broken": BROKEN}
    resources: Resources = {
        "Role": role([]),
        "GatewayRole": role([], "apigateway"),
        "Account": resource("ApiGateway::Account", {"CloudWatchRoleArn": {"Fn::GetAtt": ["GatewayRole", "Arn"]}}),
        "Api": resource("ApiGateway::RestApi", {"Name": "streams"}),
        "AccessLog": resource("Logs::LogGroup"),
        "Log": resource("Logs::LogGroup"),
    }
    for name, source in functions.items():
        resources[name] = function(source, LoggingConfig={"LogGroup": {"Ref": "Log"}})
        named = {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": name}}
        resources[f"{name}Permission"] = resource(
            "Lambda::Permission", named | {"Principal": "apigateway.amazonaws.com"}
        )
        resources |= method(name, name)
    resources |= method("short", "stream", TimeoutInMillis=300)
    methods = [f"{name}Method" for name in (*functions, "short")]
    resources["Deployment"] = resource("ApiGateway::Deployment", {"RestApiId": {"Ref": "Api"}}, DependsOn=methods)
    stage = {"RestApiId": {"Ref": "Api"}, "StageName": "v1", "DeploymentId": {"Ref": "Deployment"}}
    log = {"DestinationArn": {"Fn::GetAtt": ["AccessLog", "Arn"]}, "Format": LOG_FORMAT}
    stage_resource = resource("ApiGateway::Stage", stage | {"AccessLogSetting": log}, DependsOn=["Account"])
    return resources | {"Stage": stage_resource}


@pytest.fixture(scope="module")
def ids(bare_cloud: LocalCloud) -> dict[str, str]:
    return create(bare_cloud, "streaming", api())


@pytest.fixture(scope="module")
def url(bare_cloud: LocalCloud, ids: dict[str, str]) -> str:
    return f"{bare_cloud.url}/_aws/execute-api/{ids['Api']}/v1"


def get(url: str, case: str = "") -> requests.Response:
    return requests.get(url, params={"case": case}, stream=True, timeout=30)


def logged(cloud: LocalCloud, group: str) -> list[str]:
    events = cloud.client("logs", region=REGION).filter_log_events(logGroupName=group)["events"]
    return [each["message"] for each in events]


def test_pieces_arrive_while_the_function_still_runs(
    url: str, ids: dict[str, str], bare_cloud: LocalCloud, tmp_path: Any
) -> None:
    gate = tmp_path / "gate"
    with get(f"{url}/stream", f"slow {gate}") as response:
        assert (response.status_code, response.headers["content-type"]) == (201, "text/event-stream")
        pieces = response.iter_content(None)
        assert next(pieces) == b"one,"
        gate.touch()
        assert b"".join(pieces).decode() == "zwölf"
    [line] = [each for each in logged(bare_cloud, ids["AccessLog"]) if each.startswith("/stream 201 10 STREAMED")]
    to_headers, to_content = line.split()[4:6]
    assert 0 <= int(to_headers) <= int(to_content)
    assert any(f"answered slow {gate} True index.handler" in each for each in logged(bare_cloud, ids["Log"]))


@pytest.mark.parametrize("case", ["no-delimiter", "no-json", "endless", "refuses"])
def test_an_answer_without_metadata_is_an_error_of_the_gateway(url: str, case: str) -> None:
    response = get(f"{url}/stream", case)
    assert (response.status_code, response.json()) == (502, {"message": "Internal server error"})


@pytest.mark.parametrize("route", ["plain", "broken"])
def test_a_function_that_does_not_stream_is_an_error_of_the_gateway(url: str, route: str) -> None:
    assert get(f"{url}/{route}").status_code == 502


def test_a_failed_import_is_in_the_log_of_the_function(url: str, ids: dict[str, str], bare_cloud: LocalCloud) -> None:
    get(f"{url}/broken")
    assert any("ValueError: no import" in each for each in logged(bare_cloud, ids["Log"]))


def test_no_first_byte_in_time_is_a_timeout(url: str) -> None:
    assert get(f"{url}/short", "late").status_code == 504


@pytest.mark.parametrize(("route", "case"), [("stream", "error"), ("stream", "exit"), ("short", "slow")])
def test_a_failure_after_the_first_byte_cuts_the_connection(url: str, tmp_path: Any, route: str, case: str) -> None:
    gate = tmp_path / "gate"

    def begun() -> requests.Response | None:
        response = get(f"{url}/{route}", f"{case} {gate}")
        assert response.status_code in (201, 504)
        return response if response.status_code == 201 else None

    response = wait_for(begun, "a first byte within the route's time limit, which a busy machine may miss")
    if case != "slow":
        gate.touch()
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        response.content  # noqa: B018


def test_a_caller_who_hangs_up_ends_the_connection_of_the_runtime(url: str, tmp_path: Any) -> None:
    gate = tmp_path / "gate"
    response = get(f"{url}/stream", f"gone {gate}")
    assert next(response.iter_content(4)) == b"one,"
    response.close()
    wait_for(lambda: gate.exists() or None, "the end of the connection")


def test_streams_run_side_by_side(url: str, tmp_path: Any) -> None:
    gate = tmp_path / "gate"
    responses = [get(f"{url}/stream", f"slow {gate}") for _ in range(3)]
    assert [next(each.iter_content(4)) for each in responses] == [b"one,"] * 3
    gate.touch()
    assert [each.content for each in responses]


def test_a_function_that_changes_while_it_streams_goes_on_and_the_next_process_has_the_same_folder(
    url: str, ids: dict[str, str], bare_cloud: LocalCloud, tmp_path: Any
) -> None:
    gate = tmp_path / "gate"
    with get(f"{url}/stream", f"slow {gate}") as response:
        pieces = response.iter_content(4)
        assert next(pieces) == b"one,"
        bare_cloud.client("lambda", region=REGION).update_function_configuration(
            FunctionName=ids["stream"], MemorySize=256
        )
        gate.touch()
        assert b"".join(pieces).decode() == "zwölf"
    bare_cloud.advance(10)  # a new folder for every start would be a leak
    assert get(f"{url}/stream", f"slow {gate}").content
    before, after = (line.split()[-2:] for line in logged(bare_cloud, ids["Log"]) if str(gate) in line)
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_an_invoke_returns_the_whole_answer_of_a_function_that_streams(
    ids: dict[str, str], bare_cloud: LocalCloud, tmp_path: Any
) -> None:
    (tmp_path / "gate").touch()
    event = json.dumps({"queryStringParameters": {"case": f"slow {tmp_path / 'gate'}"}})
    answer = bare_cloud.client("lambda", region=REGION).invoke(FunctionName=ids["stream"], Payload=event)
    assert json.load(answer["Payload"])["body"] == "one,zwölf"


@pytest.mark.parametrize(
    "integration",
    [
        {"Type": "MOCK"},
        {"TimeoutInMillis": 900_001},
        {"ResponseTransferMode": "BUFFERED"},
        {"Uri": "arn:of/invocations"},
    ],
)
def test_integrations_that_cannot_stream_are_refused(bare_cloud: LocalCloud, integration: dict[str, Any]) -> None:
    resources = api() | method("stream", "stream", **integration)
    with pytest.raises(StackFailedError, match=r"STREAM|stream|Timeout"):
        create(bare_cloud, f"no-stream-{next(iter(integration))}".lower(), resources)
