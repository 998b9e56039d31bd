"""`python -m slipway playground`: the page, signed calls, and what the proxy refuses."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from botocore.credentials import Credentials

from local_cloud.api_client import ApiClient
from local_cloud.assembly import ROOT, Stack
from local_cloud.cloud import LocalCloud
from slipway.deployed_api import DeployedApi
from slipway.deployed_stack import DeployedStack, find_stack
from slipway.playground import SigningProxy
from support.command import command_on
from support.deployed_stacks import Apis

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 8}}


def stack_of(cloud: LocalCloud, stack: Stack) -> DeployedStack:
    return find_stack(stack.name, lambda service: cloud.client(service, region=stack.region))


def proxy_of(cloud: LocalCloud, stack: Stack) -> SigningProxy:
    key = Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)
    found = stack_of(cloud, stack)
    return SigningProxy(found, DeployedApi(found, key))


@pytest.fixture(scope="module")
def proxy(apis: Apis, cloud: LocalCloud, stacks: dict[str, Stack]) -> Iterator[SigningProxy]:
    apis("gpt2")
    with proxy_of(cloud, stacks["gpt2"]) as running:
        yield running


@pytest.fixture(scope="module")
def keyed(apis: Apis) -> ApiClient:
    """The API of the deployment that serves the page itself."""
    return apis("playground")


def raw(proxy: SigningProxy, target: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], Any]:
    """Sent as it stands; a header that is given replaces http.client's own."""
    where = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(where.netloc, timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, target, skip_host="host" in given)
    for name, value in given.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, json.loads(content)


def test_any_client_calls_an_iam_api_through_it_unsigned(proxy: SigningProxy) -> None:
    answer = requests.post(f"{proxy.url}generate", json=BODY, timeout=60)
    assert answer.json()[0]["generated_text"]
    assert len(answer.headers["x-request-id"]) > 10
    job = requests.post(f"{proxy.url}jobs?wait=25", json=BODY, timeout=60).json()
    assert requests.get(f"{proxy.url}jobs/{job['id']}", timeout=60).json()["status"] == "succeeded"
    assert requests.delete(f"{proxy.url}jobs/{job['id']}", timeout=60).json()["error"]["code"] == "job_ended"


def test_errors_of_the_api_come_through_as_they_are(proxy: SigningProxy) -> None:
    answer = requests.post(f"{proxy.url}generate", json={"inputs": ""}, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "empty_input")
    assert requests.get(f"{proxy.url}nothing", timeout=60).json()["error"]["code"] == "no_such_route_or_not_signed"


def test_it_serves_the_page_and_tells_it_that_calls_are_signed(proxy: SigningProxy) -> None:
    page = requests.get(proxy.url, timeout=60)
    assert "<title>Slipway playground</title>" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    config = requests.get(f"{proxy.url}playground/config.json", timeout=60).json()
    assert (config["signed_by_proxy"], config["auth"], config["deployment"]) == (True, "iam", "gpt2")
    assert config["api_url"] == proxy.api.url


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "evil.example"}, "foreign_origin"),
        ({"host": "localhost"}, "foreign_origin"),
        ({"origin": "http://evil.example"}, "foreign_origin"),
        ({"origin": "null"}, "foreign_origin"),
    ],
)
def test_a_foreign_host_or_origin_is_refused_though_it_has_the_token(
    proxy: SigningProxy, headers: dict[str, str], code: str
) -> None:
    status, _, answer = raw(proxy, f"/{proxy.token}/endpoint", **headers)
    assert (status, answer["error"]["code"]) == (403, code)


@pytest.mark.parametrize(
    "target", ["/", "/endpoint", "//evil/endpoint", "/wrong/endpoint", "http://evil.example/endpoint", "/é/".encode()]
)
def test_no_call_without_the_token_is_taken(proxy: SigningProxy, target: str | bytes) -> None:
    status, _, answer = raw(proxy, target if isinstance(target, str) else target.decode("latin-1"))
    assert (status, answer["error"]["code"]) == (403, "wrong_token")


@pytest.mark.parametrize(
    "path", ["../endpoint", "/evil", "..%2fendpoint", "jobs/..", "a/./b", "jobs//x", "jobs/", "@evil"]
)
def test_no_path_leads_out_of_the_api(proxy: SigningProxy, path: str) -> None:
    status, _, answer = raw(proxy, f"/{proxy.token}/{path}")
    assert (status, answer["error"]["code"]) == (404, "no_such_route")


@pytest.mark.parametrize("file", ["serve.py", "..%2fserve.py", "../serve.py"])
def test_only_the_pages_own_files_are_served(proxy: SigningProxy, file: str) -> None:
    assert raw(proxy, f"/{proxy.token}/playground/{file}")[0] == 404


def test_a_body_without_a_length_and_an_unknown_method_are_refused(proxy: SigningProxy) -> None:
    assert raw(proxy, f"/{proxy.token}/generate", "POST", transfer_encoding="chunked")[0] == 411
    assert raw(proxy, f"/{proxy.token}/generate", "POST", content_length="99999999")[0] == 413
    assert raw(proxy, f"/{proxy.token}/generate", "PUT")[2]["error"]["code"] == "bad_request"


def test_the_page_needs_no_key_and_the_model_does(keyed: ApiClient) -> None:
    page = requests.get(keyed.url, timeout=60)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert requests.get(f"{keyed.url}playground/config.json", timeout=60).json()["auth"] == "api-key"
    assert requests.get(f"{keyed.url}playground/style.css", timeout=60).status_code == 200
    for path in ("endpoint", "jobs"):
        assert requests.get(f"{keyed.url}{path}", timeout=60).status_code == 403
    assert requests.post(f"{keyed.url}generate", json=BODY, timeout=60).status_code == 403
    missing = requests.get(f"{keyed.url}playground/serve.py", timeout=60)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_such_file")


def test_the_stage_without_its_slash_leads_to_the_page(keyed: ApiClient) -> None:
    found = requests.get(keyed.url.rstrip("/"), timeout=60)
    assert (found.status_code, found.url, len(found.history)) == (200, keyed.url, 1)


def test_with_an_api_key_the_proxy_adds_it(keyed: ApiClient, cloud: LocalCloud, stacks: dict[str, Stack]) -> None:
    with proxy_of(cloud, stacks["playground"]) as proxy:
        assert requests.post(f"{proxy.url}generate", json=BODY, timeout=60).json()[0]["generated_text"]
        text = requests.get(f"{proxy.url}playground/config.json", timeout=60).text
    assert keyed.api_key
    assert keyed.api_key not in text


def test_the_command_prints_its_url_and_a_curl_line_no_secret_and_ends_by_ctrl_c(
    apis: Apis, cloud: LocalCloud, stacks: dict[str, Stack]
) -> None:
    apis("gpt2")
    environment = os.environ | {
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_REGION": stacks["gpt2"].region,
        "AWS_ACCESS_KEY_ID": cloud.deployer.access_key_id,
        "AWS_SECRET_ACCESS_KEY": cloud.deployer.secret_access_key,
    }
    with subprocess.Popen(
        [sys.executable, "-m", "slipway", "playground", "gpt2"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout
        printed = ""
        for line in process.stdout:
            printed += line
            if "Ctrl-C" in line:
                break
        (curl,) = re.findall("^curl .*$", printed, re.MULTILINE)
        answer = subprocess.run(curl, shell=True, capture_output=True, text=True, check=True).stdout
        assert json.loads(answer)["status"] == "InService"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        printed += process.stdout.read()
    assert "Traceback" not in printed
    assert cloud.deployer.access_key_id not in printed
    assert cloud.deployer.secret_access_key not in printed


def test_an_unknown_deployment_and_a_taken_port_are_told_in_one_sentence(
    proxy: SigningProxy,
    cloud: LocalCloud,
    stacks: dict[str, Stack],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = command_on(cloud, stacks["gpt2"].region, monkeypatch, capsys)
    unknown = run("playground", "gpt9")
    assert (unknown.status, "did you mean gpt2?" in unknown.stderr) == (2, True)
    taken = run("playground", "gpt2", "--port", str(proxy.server_port))
    assert (taken.status, "can't be used: Address already in use" in taken.stderr) == (2, True)
