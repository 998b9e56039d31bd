"""Whatever is installed is named to the byte: by hashes, or by a commit."""

import json
import re
import subprocess

import pytest
import yaml

from slipway.project.contents import contents
from support.repository import ROOT
from tools.supply_chain.locks import SHIPPED, TESTED_WITH, TOOLS, packages

LOCKS = SHIPPED + TOOLS + TESTED_WITH
OURS = {str(each.relative_to(ROOT)): each.read_text() for each in (ROOT / ".github" / "workflows").glob("*.yml")}
WORKFLOWS = {
    **OURS,
    **{str(each.relative_to(ROOT)): each.read_text() for each in (ROOT / "examples" / "github").glob("*.yml")},
    **{f"a project's {name}": text for name, text in contents().items() if name.startswith(".github/workflows/")},
}
INSTALL = re.compile(
    r"""(?:^|[^\w-])(?:
        (?:uv\ )?pip3?["']?(?:,\ ["'])?\ +(?:install|sync|download)\b.*   # of Python packages
        | uvx\ .* | pipx\ .* | (?:pip|uv)\ tool\ .*
        | npm\ +(?:install|ci|i|exec)\b.* | npx\ +-.*                     # of npm packages
        | (?:curl|wget)\ .*https?:.*                                      # of whatever else
        | docker\ +(?:run|pull)\b.* )""",
    re.VERBOSE,
)
# Each fetches only what hashes in a file name, or nothing.
PINNED = (
    r"--require-hashes",
    r"uv pip sync -q --python \S+ \S+\.txt",  # test_each_file_of_requirements_has_hashes
    r"--no-deps --no-build-isolation --editable \.",
    r"npm ci\b",
    r"127\.0\.0\.1",
)
# Files that install, beside the workflows.
INSTALLERS = ("Makefile", ".ci/run", "model_src/machine/setup.sh", "constructs/llm_hosting/machines/user_data.sh")
STAGING = "constructs/llm_hosting/weights/staging_project.py"


def tracked(*patterns: str) -> set[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def unpinned(text: str) -> list[str]:
    """Return the lines of a file that install something that no hash names."""
    lines = [line for line in text.replace("\\\n", " ").splitlines() if not re.match(r"\s*#", line)]
    found = [line.strip() for line in lines if INSTALL.search(line)]
    return [line for line in found if not any(re.search(each, line) for each in PINNED)]


def test_no_lock_is_forgotten() -> None:
    assert set(LOCKS) == tracked("*requirements*.txt", "*torch.txt", "*package-lock.json")


@pytest.mark.parametrize("lock", [each for each in LOCKS if each.endswith(".txt")])
def test_each_file_of_requirements_has_hashes(lock: str) -> None:
    text = re.sub(r"^ *#.*\n|^--extra-index-url \S+\n", "", (ROOT / lock).read_text().replace("\\\n", ""), flags=re.M)
    assert text
    assert [each for each in text.splitlines() if not re.search(r"^\S+==\S+ .*--hash=sha256:[0-9a-f]{64}$", each)] == []
    assert all(each.hashes for each in packages(lock))


@pytest.mark.parametrize("lock", [each for each in LOCKS if each.endswith(".json")])
def test_each_package_of_npm_has_its_hash(lock: str) -> None:
    found = [each for path, each in json.loads((ROOT / lock).read_text())["packages"].items() if path]
    assert found
    assert [each for each in found if not each["integrity"].startswith("sha512-")] == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_each_action_is_a_commit_whose_version_stands_beside_it(name: str) -> None:
    used = re.findall(r"uses: *(.*)", WORKFLOWS[name])
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each)] == []


def test_one_action_is_one_commit_everywhere() -> None:
    used = {tuple(each.split("@")) for text in WORKFLOWS.values() for each in re.findall(r"uses: *(.*)", text)}
    assert len(used) == len({action for action, _ in used})


@pytest.mark.parametrize("name", INSTALLERS)
def test_nothing_is_installed_without_hashes(name: str) -> None:
    assert unpinned((ROOT / name).read_text()) == []


@pytest.mark.parametrize("name", OURS)
def test_no_workflow_of_ours_installs_without_hashes(name: str) -> None:
    jobs = yaml.safe_load(OURS[name])["jobs"].values()
    assert unpinned("\n".join(step.get("run", "") for job in jobs for step in job["steps"])) == []


def test_the_copying_of_weights_installs_by_hashes() -> None:
    assert re.findall(r"pip install.*", (ROOT / STAGING).read_text())
    assert unpinned((ROOT / STAGING).read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "pip install requests",
        "\t@.venv/bin/python -m pip install -q uv==0.13.9",
        "uv pip install -r requirements.txt",
        "npm install --save-dev aws-cdk@2.1148.1",
        "npx -y aws-cdk synth",
        "curl -fsSL https://example.com/install.sh | sh",
        "docker run ubuntu:latest",
        "pip install \\\n  requests",
    ],
)
def test_a_line_without_hashes_is_found(line: str) -> None:
    assert unpinned(line) != []
