"""Bills of materials in CycloneDX's format, one for each thing that is shipped. They are the same bytes each time."""

import hashlib
import subprocess
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from .licences import licences
from .locks import ROOT, Package, packages

# name of the bill -> what it describes, and the locks whose packages it lists
BILLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "wheel": ("The library and the commands, with the CDK's command", ("requirements.txt", "package-lock.json")),
    "functions": (
        "The code of the Lambda functions, and the layer of api.auth: jwt; Lambda's runtime has boto3",
        ("constructs/llm_hosting/api/layer/requirements.txt",),
    ),
    "machines": (
        "The packages of a machine of hosting.mode ec2; those of Amazon Linux come from its own repository",
        ("model_src/machine/requirements.txt", "model_src/machine/torch.txt"),
    ),
    "handlers": ("The packages of a handler in model_src", ("model_src/transformers/requirements.txt",)),
    "local-cloud": ("The environment of slipway local", ("local_cloud/requirements.txt",)),
    "local-models": ("The environment of slipway local --real", ("local_cloud/requirements-models.txt",)),
}
FUNCTIONS = ROOT / "lambda_src"
INDEX = {"pypi": "https://pypi.org/simple/{}/", "npm": "https://registry.npmjs.org/{}"}


def write_bills(folder: Path) -> None:
    """Write `slipway_aws-<version>-<bill>.cdx.json` for each bill, checked against CycloneDX's schema."""
    folder.mkdir(parents=True, exist_ok=True)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for name, (description, locks) in BILLS.items():
        of = _component(Package("pypi", "slipway-aws", version, (), licence="Apache-2.0"), {})
        of.type, of.description = ComponentType.APPLICATION, description
        bill = _bill(of, [each for lock in locks for each in packages(lock)])
        if name == "functions":
            of.components.update(_files(FUNCTIONS))
        text = _text(bill, uuid.uuid5(uuid.NAMESPACE_URL, _text(bill, uuid.UUID(int=0))))
        if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
            raise ValueError(f"the bill {name} breaks CycloneDX's schema: {fault}")
        (folder / f"slipway_aws-{version}-{name}.cdx.json").write_text(text + "\n")


def _bill(of: Component, listed: list[Package]) -> Bom:
    table = licences()
    components = [_component(each, table) for each in listed]
    bill = Bom(components=components, metadata=BomMetaData(component=of, timestamp=_time_of_commit()))
    bill.register_dependency(of, [found for found, each in zip(components, listed, strict=True) if each.is_direct])
    for package, component in zip(listed, components, strict=True):
        needed = [found for found, each in zip(components, listed, strict=True) if package.name in each.needed_by]
        bill.register_dependency(component, needed)
    return bill


def _component(package: Package, table: Mapping[str, str]) -> Component:
    """Return a package as a component; the hashes of Python's are those of all its files, of which one is installed."""
    url = str(PackageURL(package.kind, name=package.name, version=package.version))
    algorithm = HashAlgorithm.SHA_512 if package.kind == "npm" else HashAlgorithm.SHA_256
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(INDEX[package.kind].format(package.name)),
        hashes=[HashType(alg=algorithm, content=each) for each in package.hashes],
    )
    return Component(
        name=package.name,
        version=package.version,
        bom_ref=url,
        purl=PackageURL.from_string(url),
        licenses=[LicenseFactory().make_from_string(package.licence or table[package.name])],
        external_references=[files] if package.hashes else [],
    )


def _files(folder: Path) -> Iterator[Component]:
    """Yield each file of the functions' code with its SHA-256, as Lambda has it."""
    for file in sorted(each for each in folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        name = str(file.relative_to(folder))
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest)]
        yield Component(name=name, bom_ref=name, type=ComponentType.FILE, hashes=hashes)


def _time_of_commit() -> datetime:
    command = ["git", "log", "-1", "--format=%ct"]
    seconds = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return datetime.fromtimestamp(int(seconds), UTC)


def _text(bill: Bom, serial_number: uuid.UUID) -> str:
    bill.serial_number = serial_number
    return str(JsonV1Dot6(bill).output_as_string(indent=2))
