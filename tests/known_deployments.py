"""The deployments that tests run over."""

from local_cloud.assembly import ROOT

SHIPPED = sorted(path.stem for path in (ROOT / "deployments").glob("*.yaml"))
VARIANT_FILES = sorted((ROOT / "tests" / "deployments").glob("*.yaml"))
VARIANTS = [path.stem for path in VARIANT_FILES]
ACCOUNT_SETTINGS = "slipway-account-settings"
