"""The deployments that tests run over."""

from local_cloud.assembly import ROOT

SHIPPED = sorted(path.stem for path in (ROOT / "deployments").glob("*.yaml"))
VARIANT_FILES = sorted((ROOT / "tests" / "deployments").glob("*.yaml"))
VARIANTS = [path.stem for path in VARIANT_FILES]
ACCOUNT_SETTINGS = "slipway-account-settings"
STAGED_FILE = ROOT / "tests" / "deployments" / "isolated.yaml"
STAGING = f"slipway-staging-{STAGED_FILE.stem}"  # the build project that stages its weights
