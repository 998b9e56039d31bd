"""Imports run one way, as docs/architecture.md draws them, and templates and functions agree with each other."""

import ast
import importlib.util
import re
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import llm_hosting
from inference_api.handlers.route import MODULES as HANDLERS_OF_ROUTES
from inference_api.handlers.route import module_of
from inference_api.machines import ec2_instances
from llm_hosting.api.routes import ROUTES
from slipway.reference.generated_files import files
from support.repository import ROOT

# Allowed imports by layer: the longest matching prefix counts, and a layer may import itself.
CDK = {"aws_cdk", "cdk_nag", "constructs"}
VERSION = "llm_hosting.installed_version"
FILES = {"llm_hosting.catalog.layers", "llm_hosting.catalog.row_types"}  # the catalog as data
POLICY = "llm_hosting.resource_policy"  # CDK and portable template write it alike
EXPRESSIONS = "llm_hosting.dashboard.expressions"  # the same
FACTS = {
    VERSION,
    POLICY,
    EXPRESSIONS,
    *FILES,
    *(f"llm_hosting.{room}" for room in ("catalog", "deployment", "resolution")),
}
# These modules read files; constructs get data that is already read.
READERS = {
    f"llm_hosting.deployment.{name}"
    for name in ("endpoint_file", "file", "lock_file", "overlay", "paths", "tenants", "yaml_file")
}
PLACES = {
    f"llm_hosting.{name}" for name in ("archive", "home", "package_installer", "project", "sources")
}  # where code and files are
JUDGES = {*FACTS, *READERS, *PLACES, "llm_hosting.file_errors", "llm_hosting.preflight"}
RENDERED = {*JUDGES, "llm_hosting.fleets", "llm_hosting.portable"}
API_FACTS = {"llm_hosting.api.gateway_responses", "llm_hosting.api.routes"}  # which the OpenAPI document reads, too
APP = "llm_hosting.cdk_app"
CONSTRUCTS = {
    "llm_hosting",
    *(f"llm_hosting.{room}" for room in ("api", "dashboard", "endpoint", "hosting", "jobs", "machines", "weights")),
}
# The functions write these rows and keys; the operator's verbs read them.
ROWS = {
    f"inference_api.{name}"
    for name in ("jobs.state.items", "keys.named_key", "keys.usage_row", "machines.row", "wake.row")
}
# The reference of the API shows this table.
FIELDS = "inference_api.responses.fields"
STATES = "inference_api.shared.model_states"
ALLOWED: dict[str, set[str]] = {
    **dict.fromkeys(PLACES, PLACES),
    VERSION: set(),
    POLICY: set(),
    EXPRESSIONS: {"llm_hosting.catalog"},
    **{name: {*FILES, "llm_hosting.file_errors", "llm_hosting.project"} for name in FILES},
    "llm_hosting.catalog": {*FILES, "llm_hosting.project"},
    "llm_hosting.deployment": {"llm_hosting.catalog", VERSION},
    **{name: {*READERS, *PLACES, "llm_hosting.deployment", "llm_hosting.file_errors"} for name in READERS},
    "llm_hosting.file_errors": set(),
    APP: {"llm_hosting.file_errors"},
    "llm_hosting.resolution": FACTS,
    "llm_hosting.preflight": {*FACTS, *READERS, "llm_hosting.project"},
    "llm_hosting.portable": {*FACTS, "llm_hosting.archive", "llm_hosting.preflight"},
    "llm_hosting.fleets": {*JUDGES, "llm_hosting.portable"},
    **{name: {*API_FACTS, "llm_hosting.deployment"} for name in API_FACTS},
    **{name: {*CDK, *FACTS, *API_FACTS, *CONSTRUCTS, *PLACES} for name in CONSTRUCTS},
    "llm_hosting.service": {*CDK, *API_FACTS, *CONSTRUCTS, *JUDGES},
    "slipway_stacks": {*CDK, *API_FACTS, *CONSTRUCTS, *RENDERED, "llm_hosting.service"},
    "inference_api.shared.error_codes": set(),
    STATES: set(),
    **{name: {"inference_api", STATES, *ROWS} for name in (*ROWS, FIELDS)},
    "inference_api": {"botocore", "inference_api.shared.error_codes", FIELDS, STATES, *ROWS},
    "inference_api.handlers": {"botocore", "inference_api", STATES, *ROWS},
    "local_cloud": {"boto3", "botocore", *PLACES, *FILES, APP, "llm_hosting.file_errors"},
    "slipway": {
        *("boto3", "botocore", "local_cloud", "llm_hosting.playground"),
        *API_FACTS,
        *RENDERED,
        APP,
        "llm_hosting",
        *(*CDK, "slipway_stacks", "llm_hosting.service"),  # for `from slipway import ...`, and for `render`
        "inference_api.shared.error_codes",
        FIELDS,
        STATES,
        *ROWS,
    },
    "llm_hosting.playground": set(),
}
LAYERS = {*ALLOWED, *CDK, "boto3", "botocore"}
SOURCE_ROOTS = (ROOT / "constructs", ROOT / "lambda_src", ROOT / "stacks", ROOT / "tests", ROOT)


def dotted(path: Path) -> str:
    """Return the name by which a module is imported."""
    root = next(root for root in SOURCE_ROOTS if path.is_relative_to(root))
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def modules(*folders: str) -> dict[str, Path]:
    return {dotted(path): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


MODULES = modules("constructs", "stacks", "lambda_src", "local_cloud", "slipway")
ALL_MODULES = MODULES | modules("tools", "tests", "model_src", "examples")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(ALL_MODULES[module].read_text())


def imported(module: str, tree: ast.Module) -> Iterator[str]:
    """Return the modules that a module's syntax tree imports, with relative names resolved."""
    package = (
        module if module in ALL_MODULES and ALL_MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield name if (name := f"{origin}.{alias.name}") in ALL_MODULES else origin


@cache
def imports(module: str) -> frozenset[str]:
    return frozenset(imported(module, tree_of(module)))


def layer(module: str) -> str | None:
    return max((name for name in LAYERS if f"{module}.".startswith(f"{name}.")), key=len, default=None)


def wrong_imports(module: str, names: Iterable[str]) -> list[str]:
    """Return the imports that the module's layer forbids. The packages around a module are always imported with it."""
    own = layer(module)
    assert own, f"{module} belongs to no layer"
    return [
        name for name in names if layer(name) not in {None, own, *ALLOWED[own]} and not module.startswith(f"{name}.")
    ]


def test_imports_run_one_way() -> None:
    assert {module: wrong for module in MODULES if (wrong := wrong_imports(module, imports(module)))} == {}


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
        ("inference_api.http.gateway", "from inference_api.handlers import generate"),
        ("inference_api.handlers.generate", "import boto3"),
        ("slipway.openapi.errors", "from inference_api.shared.errors import ApiError"),
        ("slipway.stack.key_counts", "from inference_api.keys.key_usage import KeyUsage"),
        ("slipway.openapi.errors", "from llm_hosting.api.inference_api import InferenceApi"),
        ("local_cloud.deploy", "from llm_hosting.deployment.model import Deployment"),
    ],
)
def test_an_import_the_other_way_is_found(module: str, planted: str) -> None:
    assert module in MODULES
    assert wrong_imports(module, imported(module, ast.parse(planted)))


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: imports(module) & MODULES.keys() for module in MODULES}
    list(TopologicalSorter({name: found - {name} for name, found in graph.items()}).static_order())


def folder(module: str) -> str:
    return module if ALL_MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


@cache
def folders_imported() -> dict[str, set[str]]:
    """Return the folders that each folder's modules import. A folder is above or below its rooms, never both."""
    graph: dict[str, set[str]] = {}
    for module in ALL_MODULES:
        graph.setdefault(folder(module), set()).update(folder(name) for name in imports(module) if name in ALL_MODULES)
    return {name: found - {name} for name, found in graph.items()}


def test_no_folders_import_each_other_in_a_circle() -> None:
    list(TopologicalSorter(folders_imported()).static_order())


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("inference_api.machines.rows", "from inference_api.jobs.service import jobs"),
        ("llm_hosting.surroundings", "from llm_hosting.api.keys import ApiKeys"),
        ("local_cloud.emulator.core.clock", "from local_cloud.emulator.installation import install"),
        ("slipway.shared.table", "import slipway.__main__"),
        ("simulation.aws.s3", "from simulation.world.world import World"),
        ("tools.benchmarks.shared.pairs", "from tools.benchmarks.__main__ import GROUPS"),
    ],
)
def test_a_circle_of_folders_is_found(module: str, planted: str) -> None:
    found = {folder(name) for name in imported(module, ast.parse(planted)) if name in ALL_MODULES}
    assert found
    graph = folders_imported()
    with pytest.raises(CycleError):
        list(TopologicalSorter(graph | {folder(module): graph[folder(module)] | found}).static_order())


def test_each_folder_of_unit_tests_stands_for_a_folder_of_the_tree() -> None:
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    roots = (ROOT / "constructs", ROOT / "lambda_src", ROOT)
    assert [str(name) for name in folders if not any((root / name).is_dir() for root in roots)] == []


VERBS = {name for name in MODULES if re.fullmatch(r"slipway\.cli\.\w+\.\w+", name)}


def test_no_verbs_module_imports_another_verbs() -> None:
    assert VERBS
    assert {verb: others for verb in VERBS if (others := imports(verb) & VERBS)} == {}


def calls(tree: ast.Module) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_no_module_imports_a_module_that_serves() -> None:
    serving = {
        name for name in MODULES if name.startswith("inference_api.handlers.") and "serve" in calls(tree_of(name))
    }
    assert len(serving) >= 2
    assert {name: wrong for name in MODULES if (wrong := imports(name) & serving)} == {}


def internals(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Return the names under which a module imports MiniStack's modules, with the members that it declares."""
    assignments = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    for node in assignments:
        assert isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func) in ("internals", "ministack.internals"):
            _, *members = (ast.literal_eval(argument) for argument in node.value.args)
            yield ast.unparse(node.targets[0]), {member.partition(".")[0] for member in members}


def used_members(tree: ast.Module, name: str) -> set[str]:
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == name}


EMULATOR = [name for name in MODULES if name.startswith("local_cloud.emulator.")]


def test_every_used_member_of_ministack_is_declared_and_checked_at_start() -> None:
    for module in EMULATOR:
        tree = tree_of(module)
        for name, members in internals(tree):
            used = used_members(tree, name)
            assert used | (members & {"time"}) == members, module  # ministack.follow_clock replaces `time`


def test_ministack_is_reached_through_its_adapter_only() -> None:
    importing = set()
    for module in EMULATOR:
        packages = {name.partition(".")[0] for name in imports(module)}
        if "importlib.import_module" in calls(tree_of(module)) or "ministack" in packages:
            importing.add(module)
    assert importing == {"local_cloud.emulator.core.ministack"}


def handlers_named(tree: ast.Module) -> Iterator[str]:
    """Return the texts that are passed as `handler=` or assigned to a name that ends in `handler`."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.keyword(arg=str(name), value=ast.Constant(value=str(handler)))
                | ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(handler)))
            ) if name.endswith("handler"):
                yield handler


def test_every_handler_is_named_by_a_stack_or_construct_and_exists() -> None:
    package = "inference_api.handlers."
    sources = [name for name in MODULES if name.startswith(("slipway_stacks.", "llm_hosting."))]
    named = {handler for name in sources for handler in handlers_named(tree_of(name))}
    texts = (node.value for node in ast.walk(tree_of(f"{package}route")) if isinstance(node, ast.Constant))
    named |= {text.removeprefix(package) for text in texts if isinstance(text, str) and text.startswith(package)}
    modules = [name for name in MODULES if name.startswith((package, "inference_api.tasks."))]
    assert named == {name.rpartition(".")[2] for name in modules} | {"serve"}
    for name in (*modules, "llm_hosting.playground.serve"):
        assert callable(importlib.import_module(name).handler)


def variables_given(tree: ast.Module) -> Iterator[str]:
    """Return the keys of dictionaries that become variables of an environment."""
    keys = (key for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys)
    names = (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    yield from (name for name in names if re.fullmatch("[A-Z_]{5,}", name))


def variables_read(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.Subscript(value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name)))
                | ast.Call(
                    func=ast.Attribute(value=ast.Attribute(attr="environ")), args=[ast.Constant(value=str(name)), *_]
                )
            ):
                yield name


def test_each_short_route_has_its_handler_and_no_handler_is_without_a_route() -> None:
    short = [each for each in ROUTES if each.function == "short" and each.id != "describeEndpoint"]
    found = {module_of({"httpMethod": each.method, "resource": each.path}) for each in short}
    assert found == set(HANDLERS_OF_ROUTES.values())


def test_machines_have_the_tags_by_which_the_functions_find_them() -> None:
    assert (ec2_instances.DEPLOYMENT_TAG, ec2_instances.MACHINE_TAG) == (
        llm_hosting.DEPLOYMENT_TAG,
        llm_hosting.MACHINE_TAG,
    )


def test_the_functions_get_exactly_the_environment_they_read() -> None:
    names = (
        *("api.function_environment", "api.key_usage", "endpoint.components.endpoint", "endpoint.hosted_model"),
        *("endpoint.components.inference_component", "jobs.store"),
        *("hosting.realtime_hosting", "hosting.async_hosting", "hosting.ec2_hosting"),
    )
    given = {variable for name in names for variable in variables_given(tree_of(f"llm_hosting.{name}"))}
    read = set(variables_read(tree_of("inference_api.shared.settings")))
    # Variables of the portable rendering, and of the agent on a machine.
    assert given | {"ENDPOINT_DEPLOYED"} == read | {"LOG_GROUP"}


def test_the_reference_is_fresh() -> None:
    stale = [path.name for path, text in files(ROOT).items() if path.read_text() != text]
    assert stale == [], "run `make reference`"
