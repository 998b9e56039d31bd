"""The house stays as it was drawn: imports run one way, and the two sides of the functions agree."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from inference_api.handlers.route import MODULES as HANDLERS_OF_ROUTES
from inference_api.handlers.route import module_of
from llm_hosting.api.routes import ROUTES
from local_cloud.assembly import ROOT
from slipway.reference import files

# Allowed imports by layer: the longest matching prefix counts, and a layer may import itself.
CDK = {"aws_cdk", "cdk_nag", "constructs"}
FACTS = {"llm_hosting.catalog", "llm_hosting.deployment", "llm_hosting.resolution"}
# They read files; what a construct gets is read already.
READERS = {f"llm_hosting.deployment.{name}" for name in ("file", "lock_file", "overlay", "paths", "yaml_file")}
JUDGES = {*FACTS, *READERS, "llm_hosting.archive", "llm_hosting.file_errors", "llm_hosting.preflight"}
RENDERED = {*JUDGES, "llm_hosting.fleets", "llm_hosting.portable"}
API_FACTS = {"llm_hosting.api.gateway_responses", "llm_hosting.api.routes"}  # which the OpenAPI document reads, too
CONSTRUCTS = {
    "llm_hosting",
    *(f"llm_hosting.{room}" for room in ("api", "endpoint", "hosting", "jobs", "machines", "weights")),
}
ALLOWED: dict[str, set[str]] = {
    "llm_hosting.archive": set(),
    "llm_hosting.catalog": set(),
    "llm_hosting.deployment": {"llm_hosting.catalog"},
    **{name: {*READERS, "llm_hosting.deployment", "llm_hosting.file_errors"} for name in READERS},
    "llm_hosting.file_errors": set(),
    "llm_hosting.resolution": FACTS,
    "llm_hosting.preflight": {*FACTS, *READERS},
    "llm_hosting.portable": {*FACTS, "llm_hosting.archive", "llm_hosting.preflight"},
    "llm_hosting.fleets": {*JUDGES, "llm_hosting.portable"},
    **{name: {*API_FACTS, "llm_hosting.deployment"} for name in API_FACTS},
    **{name: {*CDK, *FACTS, *API_FACTS, *CONSTRUCTS, "llm_hosting.archive"} for name in CONSTRUCTS},
    "stacks": {*CDK, *API_FACTS, *CONSTRUCTS, *RENDERED},
    "inference_api.error_codes": set(),
    "inference_api": {"botocore", "inference_api.error_codes"},
    "inference_api.handlers": {"botocore", "inference_api"},
    "local_cloud": {"boto3", "botocore", "llm_hosting.archive", "llm_hosting.file_errors"},
    "slipway": {
        *("boto3", "botocore", "local_cloud", "playground"),
        *API_FACTS,
        *RENDERED,
        "llm_hosting",
        *(*CDK, "stacks"),  # of `render`, which synthesizes
        "inference_api.error_codes",
    },
    "playground": set(),
}
LAYERS = {*ALLOWED, *CDK, "boto3", "botocore"}
SOURCE_ROOTS = (ROOT / "constructs", ROOT / "lambda_src", ROOT)


def dotted(path: Path) -> str:
    """A module by the name it is imported with."""
    root = next(root for root in SOURCE_ROOTS if path.is_relative_to(root))
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


MODULES = {
    dotted(path): path
    for folder in ("constructs", "stacks", "lambda_src", "local_cloud", "playground", "slipway")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def imported(module: str, source: str) -> Iterator[str]:
    """The modules that a module's source imports, relative names resolved."""
    package = module if module in MODULES and MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield name if (name := f"{origin}.{alias.name}") in MODULES else origin


def layer(module: str) -> str | None:
    return max((name for name in LAYERS if f"{module}.".startswith(f"{name}.")), key=len, default=None)


def wrong_imports(module: str, source: str) -> list[str]:
    """What the module's layer may not import; the packages around the module are always imported with it."""
    own = layer(module)
    assert own, f"{module} belongs to no layer"
    return [
        name
        for name in imported(module, source)
        if layer(name) not in {None, own, *ALLOWED[own]} and not module.startswith(f"{name}.")
    ]


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_one_way(module: str) -> None:
    assert wrong_imports(module, MODULES[module].read_text()) == []


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("llm_hosting.catalog.engines", "from ..preflight.validation import validate"),
        ("llm_hosting.catalog.engines", "from ..deployment.model import Deployment"),
        ("llm_hosting.deployment.model", "from ..endpoint import realtime_endpoint"),
        ("llm_hosting.deployment.model", "import aws_cdk as cdk"),
        ("llm_hosting.deployment.model", "from .file import parse"),
        ("llm_hosting.resolution.container", "from ..deployment.file import parse"),
        ("llm_hosting.preflight.validation", "from ..api.inference_api import InferenceApi"),
        ("llm_hosting.preflight", "from ..api.inference_api import InferenceApi"),
        ("llm_hosting.api.inference_api", "from ..preflight.validation import load"),
        ("llm_hosting.jobs.store", "from ..deployment.file import parse"),
        ("inference_api.http", "from inference_api.handlers import generate"),
        ("inference_api.handlers.generate", "import boto3"),
        ("slipway.openapi_errors", "from inference_api.errors import ApiError"),
        ("slipway.openapi_errors", "from llm_hosting.api.inference_api import InferenceApi"),
        ("local_cloud.deploy", "from llm_hosting.deployment.model import Deployment"),
    ],
)
def test_an_import_the_other_way_is_found(module: str, planted: str) -> None:
    assert module in MODULES
    assert wrong_imports(module, planted)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: set(imported(module, path.read_text())) & MODULES.keys() for module, path in MODULES.items()}
    list(TopologicalSorter({name: found - {name} for name, found in graph.items()}).static_order())


def folder(module: str) -> str:
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


# The trees whose folders import one way; in llm_hosting the root is below all rooms.
TREES = ("llm_hosting", "local_cloud", "slipway.changes")


@pytest.mark.parametrize("tree", TREES)
def test_no_folders_import_each_other_in_a_circle(tree: str) -> None:
    graph: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if f"{module}.".startswith(f"{tree}."):
            found = {folder(name) for name in imported(module, path.read_text()) if name in MODULES}
            graph.setdefault(folder(module), set()).update(found - {folder(module)})
    list(TopologicalSorter(graph).static_order())


def internals(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """The names that a module gives to modules of MiniStack, with the members that it declares."""
    assignments = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    for node in assignments:
        assert isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func) in ("internals", "ministack.internals"):
            _, *members = (ast.literal_eval(argument) for argument in node.value.args)
            yield ast.unparse(node.targets[0]), {member.partition(".")[0] for member in members}


def used_members(tree: ast.Module, name: str) -> set[str]:
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == name}


EMULATOR = {name: path for name, path in MODULES.items() if name.startswith("local_cloud.emulator.")}


@pytest.mark.parametrize("module", EMULATOR)
def test_what_is_used_of_ministack_is_declared_so_that_its_existence_is_checked_at_start(module: str) -> None:
    tree = ast.parse(EMULATOR[module].read_text())
    for name, members in internals(tree):
        used = used_members(tree, name)
        assert used | (members & {"time"}) == members  # `time` is replaced by ministack.follow_clock


def test_ministack_is_reached_through_its_adapter_only() -> None:
    importing = set()
    for module, path in EMULATOR.items():
        tree = ast.parse(path.read_text())
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if "importlib.import_module" in calls or any(
            name.partition(".")[0] == "ministack" for name in imported(module, path.read_text())
        ):
            importing.add(module)
    assert importing == {"local_cloud.emulator.core.ministack"}


def test_every_handler_is_named_by_a_stack_or_construct_and_exists() -> None:
    sources = [*(ROOT / "stacks").glob("*.py"), *(ROOT / "constructs" / "llm_hosting").rglob("*.py")]
    named = set(re.findall(r'handler ?= ?"(\w+)"', "".join(path.read_text() for path in sources)))
    folder = ROOT / "lambda_src" / "inference_api" / "handlers"
    named |= set(re.findall(r'"inference_api.handlers.(\w+)"', (folder / "route.py").read_text()))
    handlers = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert named == handlers | {"serve"}
    assert callable(importlib.import_module("playground.serve").handler)
    for name in handlers:
        assert callable(importlib.import_module(f"inference_api.handlers.{name}").handler)


def test_each_short_route_has_its_handler_and_no_handler_is_without_a_route() -> None:
    short = [each for each in ROUTES if each.function == "short" and each.id != "describeEndpoint"]
    found = {module_of({"httpMethod": each.method, "resource": each.path}) for each in short}
    assert found == set(HANDLERS_OF_ROUTES.values())


def test_the_functions_get_exactly_the_environment_they_read() -> None:
    constructs = ROOT / "constructs" / "llm_hosting"
    names = [
        *("api/function_environment", "api/key_usage", "endpoint/hosted_model", "jobs/store"),
        *("hosting/realtime_hosting", "hosting/async_hosting", "hosting/ec2_hosting"),
    ]
    given = set(re.findall(r'"([A-Z_]{5,})":', "".join((constructs / f"{name}.py").read_text() for name in names)))
    read = set(re.findall(r'"([A-Z_]{5,})"', (ROOT / "lambda_src" / "inference_api" / "settings.py").read_text()))
    # Of the portable rendering, and of the agent on a machine.
    assert given | {"ENDPOINT_DEPLOYED"} == read | {"LOG_GROUP"}


@pytest.mark.parametrize(("path", "text"), files(ROOT).items(), ids=lambda value: getattr(value, "name", ""))
def test_the_reference_is_fresh(path: Path, text: str) -> None:
    assert path.read_text() == text, "run `make reference`"
