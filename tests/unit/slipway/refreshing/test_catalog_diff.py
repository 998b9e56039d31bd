"""`slipway catalog diff`: what AWS's lists have that the catalog lacks, and lists of another form."""

import http.client
import json
import socket
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from llm_hosting.catalog.engines import engine
from llm_hosting.catalog.instances import ec2_instances, instances
from slipway.refreshing import catalog_diff
from support.own_project import own_project
from support.price_list import price_list

REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
NEWEST = engine("vllm").versions["0.31.0"].tag
PAGE = """
| Region | Code | General | Example URL |
| --- | --- | --- | --- |
| US East | us-east-1 | yes | `{registry}/<repository-name>:<image-tag>` |

## vLLM

| Framework | Platform | Example URL |
| --- | --- | --- |
| vLLM 0.31 | SageMaker | `{registry}/vllm:0.31-gpu-py312` |
| vLLM | EC2/ECS/EKS | `{registry}/vllm:0.99.0-gpu-py312-cu130-ubuntu24.04-ec2` |
| vLLM | SageMaker | {rows} |
| PyTorch | SageMaker | `{registry}/pytorch-inference:99.0-gpu-py312` |
"""


def said(
    capsys: pytest.CaptureFixture[str], images: tuple[Path, ...] = (), prices: tuple[Path, ...] = ()
) -> tuple[int, list[dict[str, Any]]]:
    status = catalog_diff.run([str(each) for each in images], [str(each) for each in prices], as_json=True)
    return status, json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *, images: object = (), prices: object = ()) -> str:
    status = catalog_diff.run([str(images)] if images else [], [str(prices)] if prices else [], as_json=False)
    captured = capsys.readouterr()
    assert (status, captured.out, captured.err.count("\n")) == (2, "", 1)
    return captured.err


def page(folder: Path, *urls: str) -> Path:
    path = folder / "available_images.md"
    path.write_text(PAGE.format(registry=REGISTRY, rows=" |\n| vLLM | SageMaker | ".join(f"`{url}`" for url in urls)))
    return path


def listed(folder: Path, name: str, text: str) -> Path:
    path = folder / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder / "data"


def test_the_catalog_has_all_of_botocores_types_and_host_images(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = said(capsys)
    assert [(each["new"], each["gone"]) for each in found] == [([], [])] * 3
    assert [each["subject"] for each in found] == [
        *("instance types of endpoints", "host images of endpoints", "instance types of EC2")
    ]
    assert all(each["compared"] >= 5 for each in found)
    assert status == 0


def test_types_that_botocore_does_not_list_are_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"kind": "cpu", "arch": "x86_64", "vcpu": 8, "memory_in_gib": 64, "volume_size_allowed": True}
    with own_project(tmp_path, {"instances.json": {"instances": {"ml.g99.xlarge": row}}}):
        status, (endpoints, _, machines) = said(capsys)
    assert (status, endpoints["gone"], machines["gone"]) == (1, ["ml.g99.xlarge"], ["g99.xlarge"])


@pytest.fixture
def botocore_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, list[str]]], None]:
    """Write another version of botocore's data on SageMaker, with these shapes and their values alone."""

    def write(shapes: dict[str, list[str]]) -> None:
        folder = tmp_path / "sagemaker" / "2017-07-24"
        folder.mkdir(parents=True)
        model = botocore.session.get_session().get_component("data_loader").load_service_model("sagemaker", "service-2")
        enumerations = {name: {"type": "string", "enum": values} for name, values in shapes.items()}
        (folder / "service-2.json").write_text(json.dumps({"metadata": model["metadata"], "shapes": enumerations}))
        monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))

    return write


def test_what_a_newer_botocore_lists_is_new(
    botocore_data: Callable[[dict[str, list[str]]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    types, images = [*instances(), "ml.g99.xlarge"], ["al2-ami-sagemaker-inference-gpu-2", "al2099-ami"]
    botocore_data({"ProductionVariantInstanceType": types, "ProductionVariantInferenceAmiVersion": images})
    status, (endpoints, host_images, _) = said(capsys)
    # A type that is left out on purpose must be in the list, too.
    assert (status, endpoints["new"], endpoints["gone"]) == (1, ["ml.g99.xlarge"], ["ml.dl1.24xlarge"])
    assert host_images["new"] == ["al2099-ami"]
    assert "al2023-ami-sagemaker-inference-gpu-4-1" in host_images["gone"]


def test_a_botocore_without_a_list_is_refused(
    botocore_data: Callable[[dict[str, list[str]]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    botocore_data({"ProductionVariantInferenceAmiVersion": ["al2099-ami"]})
    said = "the one that is known: sagemaker has no values of ProductionVariantInstanceType.\n"
    assert refusal(capsys).endswith(said)


def test_a_page_shows_new_images_for_sagemaker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = f"{REGISTRY}/vllm:0.99.0-gpu-py313-cu140-ubuntu26.04-sagemaker"
    path = page(tmp_path, f"{REGISTRY}/vllm:{NEWEST}", new, f"{REGISTRY}/vllm:omni-sagemaker-cuda-v9")
    status, found = said(capsys, images=(path,))
    assert (status, found[-1]["source"], found[-1]["compared"]) == (1, str(path), 3)
    assert found[-1]["new"] == ["vllm:0.99.0-gpu-py313-cu140-ubuntu26.04-sagemaker"]


def test_a_page_of_known_images_differs_in_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = said(capsys, images=(page(tmp_path, f"{REGISTRY}/vllm:{NEWEST}"),))
    assert (status, found[-1]["new"], found[-1]["compared"]) == (0, [], 2)


def test_a_row_of_the_users_project_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag = "0.99.0-gpu-py313-cu140-ubuntu26.04-sagemaker"
    path = page(tmp_path, f"{REGISTRY}/vllm:{tag}")
    version = {"tag": tag, "cuda": 14.0}
    with own_project(tmp_path, {"engines/vllm.json": {"versions": {"0.99.0": version}}}):
        assert said(capsys, images=(path,))[0] == 0


def test_a_patch_of_a_known_version_is_new_though_they_share_a_short_tag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = listed(tmp_path, "vllm/a.yml", "platform: sagemaker\ntags: [0.31.9-gpu-py312, 0.31-gpu-py312]\n")
    assert said(capsys, images=(folder,))[1][-1]["new"] == ["vllm:0.31.9-gpu-py312"]


def test_a_folder_shows_new_and_changed_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = "framework: vLLM\naccelerator: gpu\n"
    listed(tmp_path, "vllm/a.yml", f"{head}platform: ec2\ncuda: cu130\ntags: [0.98.0-gpu-ec2]\n")
    listed(tmp_path, "vllm/b.yml", f"{head}platform: sagemaker\ncuda: cu140\ntags: [0.99.0-gpu-sagemaker]\n")
    listed(
        tmp_path, "vllm-server/c.yml", f"{head}platform: sagemaker\necr_repository: vllm\ntags: [server-sagemaker-x]\n"
    )
    listed(tmp_path, "template/d.yml", "tags: nothing\n")
    folder = listed(tmp_path, "vllm/e.yml", f"{head}platform: sagemaker\ncuda: cu132\ntags: [{NEWEST}, 0.31-gpu]\n")
    status, found = said(capsys, images=(folder,))
    assert (status, found[-1]["new"]) == (1, ["vllm:0.99.0-gpu-sagemaker", "vllm:server-sagemaker-x"])
    assert found[-1]["changed"] == [{"name": f"vllm:{NEWEST}", "fact": "CUDA", "ours": "13.0", "theirs": "13.2"}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# A page without tables\n", "it has no table with images in a column `Example URL`"),
        (
            PAGE.format(registry=REGISTRY, rows=f"{REGISTRY}/a:1")
            + PAGE.replace("Example URL", "Image URL").format(registry=REGISTRY, rows="x"),
            "a table has URLs of images in another column than `Example URL`",
        ),
        (PAGE.format(registry=REGISTRY, rows="see below"), "'see below' below Example URL is not the URL of an image"),
        (
            PAGE.replace("vllm:", "unheard-of:").format(registry=REGISTRY, rows=f"{REGISTRY}/a:1"),
            "it has no image of an",
        ),
    ],
)
def test_a_page_of_another_form_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    (tmp_path / "page.md").write_text(text)
    assert f"another form than the one that is known: {problem}" in refusal(capsys, images=tmp_path / "page.md")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tags: []\nplatform: sagemaker\n", "`tags` is not a list of tags"),
        ("images: [a]\nplatform: sagemaker\n", "`tags` is not a list of tags"),
        ("tags: [a]\n", "`platform` is missing"),
        ("tags: [a]\nplatform: sagemaker\ncuda: thirteen\n", "cuda 'thirteen' is not a version such as cu130"),
        ("tags: [a\n", "it is not valid YAML"),
        ("as_of: 2026-13-13\n", "it is not valid YAML"),
    ],
)
def test_a_file_of_another_form_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    folder = listed(tmp_path, "vllm/a.yml", text)
    assert f"{folder}/vllm/a.yml has another form than the one that is known: {problem}." in refusal(
        capsys, images=folder
    )


OTHER_LIST = "it is not a price list v1.0 of AmazonSageMaker or AmazonEC2"
NUMBERED = {"SKU0": {"attributes": {"component": "Hosting", "regionCode": "us-east-1", "instanceName": 6}}}
NO_PRICE = "product SKU0 has no price, or several, in USD for an hour"


def prices_of_catalog(types: dict[str, Any]) -> dict[str, object]:
    return {name: str(each.usd_per_hour) for name, each in types.items() if each.usd_per_hour}


def test_prices_of_endpoints_are_new_changed_and_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prices = prices_of_catalog(instances())
    del prices["ml.g5.xlarge"]
    rounded = (instances()["ml.g5.2xlarge"].usd_per_hour or 0) * 1.001
    prices |= {
        "ml.g6.2xlarge": "9.5000000000",
        "ml.g5.2xlarge": str(rounded),
        "ml.z9.large": "1",
        "ml.dl1.24xlarge": "14",
    }
    path = price_list(tmp_path, "AmazonSageMaker", prices)
    status, found = said(capsys, prices=(path,))
    assert (status, found[-1]["gone"], found[-1]["new"]) == (1, ["ml.g5.xlarge"], ["ml.z9.large: 1 USD an hour"])
    ours = f"{instances()['ml.g6.2xlarge'].usd_per_hour:g}"
    assert found[-1]["changed"] == [{"name": "ml.g6.2xlarge", "fact": "USD an hour", "ours": ours, "theirs": "9.5"}]


def test_ec2s_list_is_compared_for_the_prices_that_the_catalog_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = prices_of_catalog(ec2_instances()) | {"z9.large": "1", "c7a.large": "0.2"}
    status, found = said(capsys, prices=(price_list(tmp_path, "AmazonEC2", prices),))
    assert (status, found[-1]["new"], found[-1]["gone"]) == (1, [], [])
    assert [each["name"] for each in found[-1]["changed"]] == ["c7a.large"]


@pytest.mark.parametrize(
    ("prices", "changes", "problem"),
    [
        ({}, {}, "it has no prices of instances in us-east-1"),
        (
            {"ml.g6.2xlarge": "1"},
            {"formatVersion": "v2.0"},
            "it is not a price list v1.0 of AmazonSageMaker or AmazonEC2",
        ),
        (
            {"ml.g6.2xlarge": "1"},
            {"offerCode": "AmazonS3"},
            "it is not a price list v1.0 of AmazonSageMaker or AmazonEC2",
        ),
        ({"ml.g6.2xlarge": "1"}, {"offerCode": ["AmazonSageMaker"]}, OTHER_LIST),
        ({"ml.g6.2xlarge": "1"}, {"publicationDate": "soon"}, "it has no date of publication"),
        ({"ml.g6.2xlarge": "1"}, {"terms": {}}, "it has no `products`, or no `terms.OnDemand`"),
        (
            {"ml.g6.2xlarge": "1"},
            {"terms": {"OnDemand": {}}},
            "product SKU0 has no price, or several, in USD for an hour",
        ),
        ({"ml.g6.2xlarge": "free"}, {}, NO_PRICE),
        ({"ml.g6.2xlarge": "nan"}, {}, NO_PRICE),
        ({"": "1"}, {}, "product SKU0 has no instanceName"),
        ({"ml.g6.2xlarge": "1"}, {"products": NUMBERED}, "product SKU0 has no instanceName"),
        ({"ml.g6.2xlarge": "1"}, {"products": {"SKU0": "gone"}}, "a product or a term is not an object"),
    ],
)
def test_a_price_list_of_another_form_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prices: dict[str, object], changes: dict[str, Any], problem: str
) -> None:
    path = price_list(tmp_path, "AmazonSageMaker", prices, **changes)
    assert f"{path} has another form than the one that is known: {problem}." in refusal(capsys, prices=path)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("/nowhere/index.json", "/nowhere/index.json can't be read: there is no such file or folder."),
        ("http://example.com/a", "http://example.com/a is not a source; name a file, a folder or an https URL."),
        ("https://127.0.0.1:9/a", "https://127.0.0.1:9/a can't be read: nothing listens there."),
        ("https://localhost:abc/x", "https://localhost:abc/x can't be read: it is no valid URL."),
        ("https://a b/c", "https://a b/c can't be read: it is no valid URL."),
        ("https://[::1/x", "https://[::1/x can't be read: it is no valid URL."),
        ("https://example.com/\N{SNOWMAN}", "https://example.com/\N{SNOWMAN} can't be read: it is no valid URL."),
        pytest.param("x" * 8000, f"{'x' * 8000} can't be read: its name is too long.", id="a long name"),
    ],
)
def test_a_source_that_can_not_be_read_is_one_sentence(
    capsys: pytest.CaptureFixture[str], source: str, problem: str
) -> None:
    assert refusal(capsys, prices=source) == f"{problem}\n"
    assert refusal(capsys, images=source) == f"{problem}\n"


class WithoutTls(urllib.request.HTTPSHandler):
    """Opens https URLs without TLS, for which a test would need a certificate."""

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(http.client.HTTPConnection, request)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "its answer ends too early"),
        (b"220 mail.example.com ESMTP\r\n", "it does not answer in HTTP"),
        (b"", "remote end closed connection without response"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it answers 404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\xff", "it is not UTF-8 text"),
    ],
)
def test_an_answer_that_is_not_a_list_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: bytes, problem: str
) -> None:
    monkeypatch.setattr(
        urllib.request, "_opener", urllib.request.build_opener(WithoutTls, urllib.request.ProxyHandler({}))
    )
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(answer)

        served = pool.submit(serve)
        url = f"https://127.0.0.1:{server.getsockname()[1]}/index.json"
        assert refusal(capsys, prices=url) == f"{url} can't be read: {problem}.\n"
        served.result()


def test_people_read_one_line_for_each_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = page(tmp_path, f"{REGISTRY}/vllm:0.99.0-gpu-sagemaker")
    assert catalog_diff.run([str(path)], [], as_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(": nothing differs")
    assert lines[-2:] == [f"{path}: images, 2 compared: 1 new", "  new      vllm:0.99.0-gpu-sagemaker"]
