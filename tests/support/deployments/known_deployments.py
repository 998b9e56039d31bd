"""The deployments that tests cover: the shipped ones and the variants of tests/deployments."""

from llm_hosting.deployment.paths import find, names, stack_name
from support.repository import ROOT

DEPLOYMENTS = ROOT / "deployments"
SHIPPED_FILES = {stack_name(path): path for path in (find(name, DEPLOYMENTS) for name in names(DEPLOYMENTS))}
SHIPPED = sorted(SHIPPED_FILES)  # keys are stack names
VARIANT_FILES = sorted((ROOT / "tests" / "deployments").glob("*.yaml"))
VARIANTS = [path.stem for path in VARIANT_FILES]
ACCOUNT_SETTINGS = "slipway-account-settings"
STAGED_FILE = ROOT / "tests" / "deployments" / "isolated.yaml"
STAGING = f"slipway-staging-{STAGED_FILE.stem}"  # the build project that stages its weights
