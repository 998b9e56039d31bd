"""Where the CDK's command is missing, the line installs it first."""

import json
import shutil
from pathlib import Path

from slipway.shared.cdk_command import cdk
from support.repository import ROOT


def test_a_project_without_the_command_gets_it_first(tmp_path: Path) -> None:
    destroy = "destroy -c deployment=gpt2"
    version = json.loads((ROOT / "package.json").read_text())["devDependencies"]["aws-cdk"]
    lock = tmp_path / "package-lock.json"
    assert cdk(destroy, tmp_path) == f"npm install --save-dev aws-cdk@{version} && npx cdk {destroy}"
    lock.write_text('{"packages": {"node_modules/react": {}}}')
    assert cdk(destroy, tmp_path) == f"npm install --save-dev aws-cdk@{version} && npx cdk {destroy}"
    shutil.copy(ROOT / "package-lock.json", lock)
    assert cdk(destroy, tmp_path) == f"npm ci && npx cdk {destroy}"
    command = tmp_path / "node_modules" / ".bin" / "cdk"
    command.parent.mkdir(parents=True)
    command.touch()
    assert cdk(destroy, tmp_path) == f"npx cdk {destroy}"
