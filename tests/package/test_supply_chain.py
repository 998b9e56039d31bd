"""The bills of materials, and the question for known faults, as `make sbom` and `make audit` run them."""

import hashlib
import json
import subprocess
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from package.conftest import Release
from support.repository import ROOT
from support.stand_ins.loopback_server import LoopbackServer
from tools.supply_chain.locks import packages

PYTHON = ROOT / ".venv-audit" / "bin" / "python"


def bills_in(folder: Path) -> dict[str, Any]:
    command = [str(PYTHON), "-W", "error", "-m", "tools.supply_chain", "sbom", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return {
        each.name.split("-", 2)[-1].removesuffix(".cdx.json"): json.loads(each.read_text()) for each in folder.iterdir()
    }


@pytest.fixture(scope="module")
def bills(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The bills by name; the command checks each against CycloneDX's schema."""
    return bills_in(tmp_path_factory.mktemp("bills"))


def versions(bill: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(each["name"], each["version"]) for each in bill["components"]}


def test_the_bill_of_the_wheel_has_each_package_with_licence_and_hashes(bills: dict[str, Any]) -> None:
    wanted = [*packages("requirements.txt"), *packages("package-lock.json")]
    assert versions(bills["wheel"]) == {(each.name, each.version) for each in wanted}
    for each in bills["wheel"]["components"]:
        assert each["licenses"], each["name"]
        assert each["externalReferences"][0]["hashes"], each["name"]


def test_a_bill_says_which_package_needs_which(bills: dict[str, Any]) -> None:
    needs = {each["ref"]: each.get("dependsOn", []) for each in bills["wheel"]["dependencies"]}
    names = {ref: {each.split("/")[-1].split("@")[0] for each in needed} for ref, needed in needs.items()}
    (of_us,) = (names[ref] for ref in names if ref.startswith("pkg:pypi/slipway-aws@"))
    assert {"aws-cdk-lib", "boto3", "pydantic", "aws-cdk"} <= of_us
    assert "botocore" not in of_us
    (of_boto3,) = (names[ref] for ref in names if ref.startswith("pkg:pypi/boto3@"))
    assert of_boto3 == {"botocore", "jmespath", "s3transfer"}


def test_the_bill_of_the_functions_has_each_file_of_their_code_as_the_wheel_has_it(
    bills: dict[str, Any], release: Release
) -> None:
    with ZipFile(release.wheel) as wheel:
        code = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("inference_api/")}
    listed = bills["functions"]["metadata"]["component"]["components"]
    found = {each["name"]: each["hashes"][0]["content"] for each in listed}
    assert found == {name: hashlib.sha256(content).hexdigest() for name, content in code.items()}


def test_each_bill_is_the_same_bytes_again(bills: dict[str, Any], tmp_path: Path) -> None:
    assert bills_in(tmp_path) == bills


def services(faults: Mapping[str, Any]) -> type[BaseHTTPRequestHandler]:
    """Return a server that plays OSV's API and npm's. faults: by name of package, what each answers."""

    class Services(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["content-length"] or 0))
            if "/-/npm/" in self.path:
                answer = {name: each for name, each in faults.items() if isinstance(each, list)}
            else:
                answer = faults.get(json.loads(asked)["package"]["name"], {})
            self.send(answer)

        def do_GET(self) -> None:
            """A package with one version, as npm asks for it to tell which versions have a fault."""
            name = self.path.strip("/")
            self.send({"name": name, "versions": {"2.1148.1": {"name": name, "version": "2.1148.1"}}})

        def send(self, answer: Any) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Services


def audited(url: str) -> tuple[int, str]:
    program = (
        "import sys; from tools.supply_chain.audit import audit; sys.exit(audit("
        f"['-s', 'osv', '--osv-url', '{url}/v1/query'], ['--registry', '{url}/', '--fetch-retries', '0']))"
    )
    done = subprocess.run([str(PYTHON), "-c", program], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_without_known_faults_an_audit_passes() -> None:
    with LoopbackServer(services({})) as server:
        status, said = audited(server.url)
    assert (status, said) == (0, "No package of the locks has a known fault, beside the accepted ones.\n")


def test_a_known_fault_fails_an_audit_and_an_accepted_one_does_not() -> None:
    fixed = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}]
    fault = {"id": "GHSA-0", "affected": [{"package": {"name": "idna", "ecosystem": "PyPI"}, "ranges": fixed}]}
    osv = {"vulns": [{**fault, "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z"}]}
    npm = [{"id": 1, "url": "", "title": "", "severity": "high", "vulnerable_versions": "*"}]
    with LoopbackServer(services({"idna": osv, "aws-cdk": npm})) as server:
        status, said = audited(server.url)
    assert status == 1
    assert "idna 3.20 has GHSA-0; fixed in: 99.0; in requirements.txt, " in said
    assert "aws-cdk *: high (package-lock.json)" in said


def test_an_audit_that_no_service_answers_says_so_and_fails() -> None:
    with LoopbackServer(services({})) as server:
        server.refuse()
        status, said = audited(server.url)
    assert status == 2
    assert "NOT CHECKED: pip-audit got no answer" in said
    assert "NOT CHECKED: npm audit got no answer" in said
