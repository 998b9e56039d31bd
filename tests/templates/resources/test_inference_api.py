"""The template's REST API: authorization, limits, answers of the gateway, functions."""

import json
from typing import Any

import pytest

from inference_api.http.gateway import Response
from inference_api.shared.errors import ApiError
from llm_hosting.api.gateway_responses import gateway_responses
from llm_hosting.api.routes import ROUTES
from llm_hosting.deployment.settings.api import Api
from support.templates.template_parts import Template, all_of, functions, logical_id, properties, referred, routes


@pytest.mark.parametrize("name", ["gpt2", "qwen3-4b", "qwen3-4b-async"])
def test_every_route_needs_a_signed_request_by_default(templates: dict[str, Template], name: str) -> None:
    methods = all_of(templates[name], "ApiGateway::Method")
    assert {method["HttpMethod"] for method in methods} == {"POST", "GET", "DELETE"}
    assert {method["AuthorizationType"] for method in methods} == {"AWS_IAM"}


def test_an_api_key_is_asked_for_on_every_route_and_counted(templates: dict[str, Template]) -> None:
    template = templates["with-api-key"]
    methods = routes(template).values()
    assert {(method["ApiKeyRequired"], method["AuthorizationType"]) for method in methods} == {(True, "CUSTOM")}
    assert properties(template, "ApiGateway::RestApi")["ApiKeySourceType"] == "AUTHORIZER"
    (plan,) = (each for each in all_of(template, "ApiGateway::UsagePlan") if "Tags" not in each)
    assert plan["Quota"] == {"Limit": 12, "Period": "DAY"}
    assert plan["Throttle"] == {"BurstLimit": 50, "RateLimit": 50}
    key = properties(template, "ApiGateway::ApiKey")
    assert "Value" not in key, "the secret would stand in the template"


STREAMED = {("POST", path) for path in ("/generate", "/chat/completions", "/completions")}
OF_CHATS = {("POST", "/responses")}  # only where the engine takes messages
OPENAI = {*(STREAMED - {("POST", "/generate")}), ("GET", "/models"), ("GET", "/models/{id+}")}


@pytest.mark.parametrize("name", ["qwen3-4b", "qwen3-4b-async", "gpt2-ec2", "with-api-key", "open"])
def test_routes_that_ask_the_model_stream_by_one_function(templates: dict[str, Template], name: str) -> None:
    found = routes(templates[name])
    streamed = {route: each for route, each in found.items() if "ResponseTransferMode" in each["Integration"]}
    assert set(streamed) == (STREAMED if name == "with-api-key" else STREAMED | OF_CHATS)
    assert set(found) >= OPENAI
    uris = [each["Integration"]["Uri"]["Fn::Join"][1] for each in streamed.values()]
    assert all(each == uris[0] for each in uris)
    assert "/2021-11-15/functions/" in str(uris[0])
    assert uris[0][-1] == "/response-streaming-invocations"
    # During an update from an earlier release the old stage still calls the function of this id, which cannot stream.
    assert "ApiGenerateFunction0624A92C" not in templates[name]["Resources"]


def test_routes_of_openai_take_a_bearer_and_the_others_the_header(templates: dict[str, Template]) -> None:
    template = templates["with-api-key"]
    for route, method in routes(template).items():
        authorizer = referred(template, method["AuthorizerId"])
        takes_bearer = route in OPENAI or route[1].startswith(("/files", "/batches"))
        header = "Authorization" if takes_bearer else "x-api-key"
        assert authorizer["IdentitySource"] == f"method.request.header.{header}", route
        assert authorizer["Type"] == "TOKEN"


@pytest.mark.parametrize(("name", "kind"), [("qwen3-4b", "AWS_IAM"), ("with-api-key", "CUSTOM"), ("open", "NONE")])
def test_routes_of_openai_have_the_authorization_of_the_other_routes(
    templates: dict[str, Template], name: str, kind: str
) -> None:
    found = routes(templates[name])
    assert {found[route]["AuthorizationType"] for route in OPENAI} == {kind}


@pytest.mark.parametrize(("name", "is_caught"), [("qwen3-4b", False), ("with-api-key", True), ("open", True)])
def test_unknown_routes_are_answered_without_a_signature_and_reach_no_function(
    templates: dict[str, Template], name: str, is_caught: bool
) -> None:
    template = templates[name]
    caught = [each for each in all_of(template, "ApiGateway::Method") if each["Integration"]["Type"] == "MOCK"]
    assert bool(caught) is is_caught
    for each in caught:
        assert (each["HttpMethod"], each["AuthorizationType"], each["ApiKeyRequired"]) == ("ANY", "NONE", False)
        assert not each["Integration"].keys() & {"Uri", "Credentials"}
    under = [each["ResourceId"] for each in caught]
    assert [referred(template, each)["PathPart"] for each in under if "Ref" in each] == ["{unknown+}"] * is_caught
    assert [each["Fn::GetAtt"][1] for each in under if "Ref" not in each] == ["RootResourceId"] * is_caught


def test_no_named_key_and_no_secret_is_in_a_template(templates: dict[str, Template]) -> None:
    template = templates["with-api-key"]
    keys = all_of(template, "ApiGateway::ApiKey")
    assert [set(key) & {"Name", "Value"} for key in keys] == [set()]
    variables = functions(template)["authorize"]["Environment"]["Variables"]
    assert set(json.loads(variables["API_KEYS"])) == {"team-search", "guest", "trial", "crawler", "former"}
    plans = all_of(template, "ApiGateway::UsagePlan")
    named = {tag["Value"]: plan for plan in plans for tag in plan.get("Tags", []) if tag["Key"] == "slipway:key"}
    assert set(named) == {"team-search", "guest", "trial", "crawler", "former"}
    assert named["team-search"]["Quota"] == {"Limit": 90_000, "Period": "MONTH"}


def test_usage_plans_are_made_one_after_the_other(templates: dict[str, Template]) -> None:
    """Otherwise CloudFormation makes them side by side, and API Gateway refuses many at once (429, 409)."""
    made = {
        name: set(each.get("DependsOn", []))
        for name, each in templates["with-api-key"]["Resources"].items()
        if each["Type"] == "AWS::ApiGateway::UsagePlan"
    }
    assert len(made) > 3
    ordered = sorted(made, key=lambda name: len(behind(name, made)))
    assert [len(behind(name, made)) for name in ordered] == list(range(len(made)))


def behind(name: str, made: dict[str, set[str]]) -> set[str]:
    """Return the plans that are made before this one."""
    before = made[name] & made.keys()
    return before.union(*(behind(each, made) for each in before))


def test_lambda_updates_the_runtime_under_a_streaming_function_with_its_code_only(
    templates: dict[str, Template],
) -> None:
    for name in ("qwen3-4b", "qwen3-4b-async", "gpt2-ec2"):
        pinned = {
            handler: each["RuntimeManagementConfig"]
            for handler, each in functions(templates[name]).items()
            if "RuntimeManagementConfig" in each
        }
        assert pinned == {
            "generate" if name == "qwen3-4b" else "generate_by_job": {"UpdateRuntimeOn": "FunctionUpdate"}
        }


def test_the_api_is_open_only_with_auth_none(templates: dict[str, Template]) -> None:
    opened = {
        name
        for name, template in templates.items()
        for method in routes(template).values()
        if method["AuthorizationType"] == "NONE"
        and not method["ApiKeyRequired"]
        and called_handler(template, method) != "serve"
    }
    assert opened == {"open"}


def called_handler(template: Template, method: dict[str, Any]) -> str:
    """Return the handler of the function behind a method."""
    (arn,) = (part for part in method["Integration"]["Uri"]["Fn::Join"][1] if "Fn::GetAtt" in part)
    return str(referred(template, arn)["Handler"].split(".")[-2])


def test_only_the_playgrounds_own_files_are_open_beside_routes_that_need_a_key(templates: dict[str, Template]) -> None:
    template = templates["playground"]
    paths = {name: each["Properties"].get("PathPart") for name, each in template["Resources"].items()}
    opened = {
        (method["HttpMethod"], called_handler(template, method), paths.get(method["ResourceId"].get("Ref", ""), "/"))
        for method in routes(template).values()
        if not method["ApiKeyRequired"]
    }
    assert opened == {("GET", "serve", "/"), ("GET", "serve", "{file}")}


def test_the_playgrounds_function_may_do_nothing_and_knows_no_secret(templates: dict[str, Template]) -> None:
    template = templates["playground"]
    function = functions(template)["serve"]
    actions = {
        action
        for policy in all_of(template, "IAM::Policy")
        if {"Ref": logical_id(function["Role"])} in policy["Roles"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in statement["Action"]
    }
    assert actions == {"logs:CreateLogStream", "logs:PutLogEvents"}
    assert function["Environment"]["Variables"]["AUTH"] == "api-key"
    assert not any(each["Type"] == "AWS::ApiGateway::ApiKey" for each in _referred_in(template, function))


def _referred_in(template: Template, function: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every resource that the function's environment names."""
    values = [value for value in function["Environment"]["Variables"].values() if isinstance(value, dict)]
    text = json.dumps(values)
    return [each for name, each in template["Resources"].items() if f'"{name}"' in text]


def test_there_is_no_playground_unless_the_deployment_asks_for_it(templates: dict[str, Template]) -> None:
    assert {name for name, template in templates.items() if "serve" in functions(template)} == {
        "front-door",
        "images",
        "playground",
    }


def test_every_api_takes_modern_tls_for_its_own_name_only(templates: dict[str, Template]) -> None:
    apis = [api for template in templates.values() for api in all_of(template, "ApiGateway::RestApi")]
    assert apis
    assert {api["SecurityPolicy"] for api in apis} == {"SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09"}
    # A private API is called by names of its VPC endpoints, too.
    modes = {(api["EndpointConfiguration"]["Types"][0], api["EndpointAccessMode"]) for api in apis}
    assert modes == {("REGIONAL", "STRICT"), ("PRIVATE", "BASIC")}


def test_the_api_is_regional_throttled_and_logged_without_bodies(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    api = properties(template, "ApiGateway::RestApi")
    assert api["EndpointConfiguration"]["Types"] == ["REGIONAL"]
    stage = properties(template, "ApiGateway::Stage")
    (settings,) = stage["MethodSettings"]
    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (20, 40)
    assert settings["DataTraceEnabled"] is False
    fields = json.loads(stage["AccessLogSetting"]["Format"])
    assert fields["requestId"] == "$context.requestId"
    assert not any("body" in value.lower() for value in fields.values())


@pytest.mark.parametrize(
    ("kind", "seconds"), [("ACCESS_DENIED", None), ("THROTTLED", 1), ("DEFAULT_4XX", None), ("DEFAULT_5XX", 5)]
)
def test_the_gateway_answers_with_the_headers_of_the_functions(
    templates: dict[str, Template], kind: str, seconds: int | None
) -> None:
    answers = {each["ResponseType"]: each for each in all_of(templates["gpt2"], "ApiGateway::GatewayResponse")}
    (content_type,) = answers[kind]["ResponseTemplates"]
    headers = {
        name.removeprefix("gatewayresponse.header."): value.strip("'")
        for name, value in answers[kind]["ResponseParameters"].items()
    }
    of_a_function = Response(500, {}, retry_after_in_seconds=seconds).for_gateway("context.requestId")["headers"]
    assert {"content-type": content_type, **headers} == of_a_function


def test_every_answer_of_the_gateway_has_our_shape(templates: dict[str, Template]) -> None:
    answers = all_of(templates["gpt2"], "ApiGateway::GatewayResponse")
    assert {"DEFAULT_4XX", "DEFAULT_5XX", "THROTTLED"} <= {answer["ResponseType"] for answer in answers}
    for answer in answers:
        error = json.loads(answer["ResponseTemplates"]["application/json"])["error"]
        assert set(error) == {"code", "message", "type", "param"}
        status = int(answer.get("StatusCode", 400))
        assert error["type"] == ApiError("internal_error", "", status=status).as_object()["type"]
        says_when = "gatewayresponse.header.retry-after" in answer["ResponseParameters"]
        assert says_when == (answer.get("StatusCode") in ("429", "503"))


@pytest.mark.parametrize(("name", "named"), [("gpt2", True), ("jobs-off", False)])
def test_an_unknown_route_is_answered_with_the_known_ones(
    templates: dict[str, Template], name: str, named: bool
) -> None:
    answers = all_of(templates[name], "ApiGateway::GatewayResponse")
    texts = {answer["ResponseType"]: answer["ResponseTemplates"]["application/json"] for answer in answers}
    said = texts["MISSING_AUTHENTICATION_TOKEN"]
    assert "POST /generate" in said
    assert "GET /endpoint" in said
    assert ("POST or GET /jobs, GET or DELETE /jobs/{id}" in said) is named
    assert ("POST /jobs" in texts["INTEGRATION_TIMEOUT"]) is named


@pytest.mark.parametrize(("name", "seconds"), [("gpt2", 29), ("small-limits", 60)])
def test_a_function_ends_before_the_gateway_gives_up(templates: dict[str, Template], name: str, seconds: int) -> None:
    template = templates[name]
    methods = all_of(template, "ApiGateway::Method")
    called = [
        template["Resources"][logical_id(part)]["Properties"]["Timeout"]
        for method in methods
        for part in method["Integration"]["Uri"]["Fn::Join"][1]
        if "Fn::GetAtt" in part
    ]
    assert len(called) == len(methods)
    budgets = {
        (method["Integration"].get("ResponseTransferMode"), method["Integration"]["TimeoutInMillis"])
        for method in methods
    }
    assert budgets == {(None, 1000 * seconds), ("STREAM", 870_000)}
    slowest = {
        mode: max(
            time
            for method, time in zip(methods, called, strict=True)
            if method["Integration"].get("ResponseTransferMode") == mode
        )
        for mode in (None, "STREAM")
    }
    assert slowest == {None: seconds - 1, "STREAM": 860}
    variables = [each["Environment"]["Variables"] for each in functions(template).values()]
    assert {each["LONGEST_WAIT_IN_SECONDS"] for each in variables} == {str(seconds - 4)}


def test_the_log_of_a_function_outlives_a_failed_deploy(templates: dict[str, Template]) -> None:
    for name in ("gpt2", "playground", "gpt2-ec2"):
        groups = [logical_id(each["LoggingConfig"]["LogGroup"]) for each in functions(templates[name]).values()]
        for group in groups:
            kept = templates[name]["Resources"][group]
            assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == ("Retain", "Retain")
            assert {"Key": "slipway:deployment", "Value": {"Ref": "AWS::StackName"}} in kept["Properties"]["Tags"]


def test_functions_run_on_arm_unless_the_deployment_says_otherwise(templates: dict[str, Template]) -> None:
    assert {tuple(each["Architectures"]) for each in all_of(templates["gpt2"], "Lambda::Function")} == {("arm64",)}
    opened = all_of(templates["open"], "Lambda::Function")
    assert {tuple(each["Architectures"]) for each in opened} == {("x86_64",)}
    assert {each["MemorySize"] for each in opened} == {1024}


def test_tracing_is_one_switch(templates: dict[str, Template]) -> None:
    stage = properties(templates["open"], "ApiGateway::Stage")
    assert stage["TracingEnabled"] is True
    assert {each["TracingConfig"]["Mode"] for each in all_of(templates["open"], "Lambda::Function")} == {"Active"}
    assert not any("TracingConfig" in each for each in all_of(templates["gpt2"], "Lambda::Function"))


def test_tracing_gives_every_answer_and_line_the_traces_id(templates: dict[str, Template]) -> None:
    traced = templates["traced"]
    for answer in all_of(traced, "ApiGateway::GatewayResponse"):
        assert answer["ResponseParameters"]["gatewayresponse.header.x-trace-id"] == "context.xrayTraceId"
    logged = json.loads(properties(traced, "ApiGateway::Stage")["AccessLogSetting"]["Format"])
    assert logged["trace"] == "$context.xrayTraceId"
    assert {each["Environment"]["Variables"]["TRACING"] for each in all_of(traced, "Lambda::Function")} == {"on"}
    untraced = json.dumps(templates["gpt2"])
    assert [each for each in ("TRACING", "xrayTraceId", "xray:") if each in untraced] == []


def test_no_function_reserves_concurrency_unless_the_deployment_asks_for_it(templates: dict[str, Template]) -> None:
    kinds = {name: all_of(template, "Lambda::Function") for name, template in templates.items()}
    reserved = {name for name, each in kinds.items() if any("ReservedConcurrentExecutions" in one for one in each)}
    assert reserved == {"governed"}


def test_the_log_role_of_the_account_outlives_its_stack(templates: dict[str, Template]) -> None:
    resources = templates["slipway-account-settings"]["Resources"].values()
    assert {each["DeletionPolicy"] for each in resources} == {"RetainExceptOnCreate"}


@pytest.mark.parametrize("name", ["gpt2", "async", "jobs-off", "with-api-key", "playground"])
def test_alarms_watch_the_api_and_every_function(templates: dict[str, Template], name: str) -> None:
    template = templates[name]
    alarms = {key: each["Properties"] for key, each in template["Resources"].items() if key.startswith("ApiAlarms")}
    server_errors, throttles = (alarm for _, alarm in sorted(alarms.items()))
    assert (server_errors["Namespace"], server_errors["MetricName"], server_errors["Statistic"]) == (
        "AWS/ApiGateway",
        "5XXError",
        "Average",
    )
    assert (server_errors["Threshold"], server_errors["DatapointsToAlarm"], server_errors["EvaluationPeriods"]) == (
        0.05,
        2,
        3,
    )
    assert {each["Name"]: each["Value"] for each in server_errors["Dimensions"]} == {
        "ApiName": {"Ref": "AWS::StackName"},
        "Stage": {"Ref": next(k for k, v in template["Resources"].items() if v["Type"] == "AWS::ApiGateway::Stage")},
    }
    total, *parts = throttles["Metrics"]
    filled = ", ".join(f"FILL({each['Id']}, 0)" for each in parts)  # a function without calls has no data
    assert total["Expression"] == f"SUM([{filled}])"
    assert len(parts) <= 10
    assert (throttles["Threshold"], throttles["TreatMissingData"]) == (0, "notBreaching")
    stats = [each["MetricStat"] for each in parts]
    assert {(each["Metric"]["Namespace"], each["Metric"]["MetricName"], each["Stat"]) for each in stats} == {
        ("AWS/Lambda", "Throttles", "Sum")
    }
    watched = {logical_id(each["Metric"]["Dimensions"][0]["Value"]) for each in stats}
    assert watched == {key for key, each in template["Resources"].items() if each["Type"] == "AWS::Lambda::Function"}


def test_a_failed_authorizer_is_answered_as_unavailable() -> None:
    responses = gateway_responses(Api(auth="api-key"), ROUTES)
    answers = {response.kind: (response.status, response.code) for response in responses}
    for kind in ("AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR"):
        assert answers[kind] == (503, "service_unavailable")
