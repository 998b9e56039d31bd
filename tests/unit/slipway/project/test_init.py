"""`slipway init`: what it writes, what it keeps, and which folders it refuses."""

import json
import re
import shlex
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from slipway.__main__ import command_line
from slipway.project import init
from slipway.project.contents import contents
from support.repository import ROOT

Said = tuple[int, str, str]
Slipway = Callable[..., Said]


@pytest.fixture
def slipway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Slipway:
    """The command line in an empty folder. Returns exit status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Said:
        given = command_line().parse_args(arguments)
        given.project = tmp_path
        return (given.run(given), *capsys.readouterr())

    return run


def tree(folder: Path) -> dict[str, str]:
    """Return the text of each file by its path, and "/" for each folder."""
    found = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): "/" if path.is_dir() else path.read_text() for path in found}


def files_in(folder: Path) -> set[str]:
    return {name for name, text in tree(folder).items() if text != "/"}


def test_a_project_is_written_into_a_new_folder(slipway: Slipway, tmp_path: Path) -> None:
    status, out, err = slipway("init", "teams/chat service")

    assert (status, err) == (0, "")
    new = contents().keys() - {"fleets/schema.json", "endpoints/schema.json"}
    written = files_in(tmp_path / "teams" / "chat service")
    assert written == new == set(re.findall("^  wrote  (.+)$", out, re.MULTILINE))
    assert {"app.py", "cdk.json", "deployments/chat.yaml", "tests/test_snapshots.py", ".gitignore"} <= written


def test_the_next_commands_are_told_for_a_shell(slipway: Slipway) -> None:
    told = slipway("init", "chat service")[1].partition("Next:\n")[2].partition("\n\n")[0].splitlines()
    commands = [shlex.split(line, comments=True) for line in told]
    assert commands[0] == ["cd", "chat service"]
    assert [command[:3] for command in commands[1:3]] == [["slipway", verb, "chat"] for verb in ("check", "local")]
    assert commands[3] == ["npm", "ci", "&&", "slipway", "deploy", "chat"]


def test_a_project_without_accepted_templates_is_told_how_to_write_them(slipway: Slipway, tmp_path: Path) -> None:
    assert "Before the first commit: `slipway snapshot`" in slipway("init")[1]
    (tmp_path / "tests" / "snapshots").mkdir()
    assert "Before the first commit" not in slipway("init")[1]


def test_the_current_folder_is_the_default(slipway: Slipway, tmp_path: Path) -> None:
    _, out, _ = slipway("init")
    assert (tmp_path / "app.py").is_file()
    assert "  cd " not in out


def test_within_a_project_the_project_is_the_default(
    slipway: Slipway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slipway("init")
    (tmp_path / "app.py").unlink()
    monkeypatch.chdir(tmp_path / "deployments")
    before = files_in(tmp_path)

    slipway("init")

    assert files_in(tmp_path) == before | {"app.py"}


def test_a_project_with_fleets_gets_their_schema(slipway: Slipway, tmp_path: Path) -> None:
    (tmp_path / "fleets").mkdir()
    slipway("init")
    assert (tmp_path / "fleets" / "schema.json").read_text() == (ROOT / "fleets" / "schema.json").read_text()


def test_the_roles_name_the_place_of_their_template() -> None:
    roles = contents()[".github/role.yaml"]
    assert "--template-file .github/role.yaml" in roles
    assert "examples/" not in roles


def test_a_second_run_writes_only_what_is_missing(slipway: Slipway, tmp_path: Path) -> None:
    slipway("init")
    (tmp_path / "app.py").write_text("# ours\n")
    removed = ("README.md", "package-lock.json")
    for name in removed:
        (tmp_path / name).unlink()
    before = tree(tmp_path)

    status, out, _ = slipway("init")

    assert status == 0
    assert tuple(re.findall("^  wrote  (.+)$", out, re.MULTILINE)) == removed
    assert "  kept   app.py\n" in out
    assert tree(tmp_path) == before | {name: contents()[name] for name in removed}


def test_a_project_with_a_deployment_of_its_own_gets_no_other(slipway: Slipway, tmp_path: Path) -> None:
    slipway("init")
    (tmp_path / "deployments" / "chat.yaml").rename(tmp_path / "deployments" / "answers.yaml")

    _, out, _ = slipway("init")

    assert not (tmp_path / "deployments" / "chat.yaml").exists()
    assert "slipway check answers " in out


def test_a_kept_package_json_gets_no_lock_of_ours(slipway: Slipway, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"react": "19"}}')
    _, out, _ = slipway("init")
    assert not {"package-lock.json", ".npmrc"} & files_in(tmp_path)
    assert re.search(r"  npm install --save-dev aws-cdk@[\d.]+ && slipway deploy chat ", out)


@pytest.mark.parametrize(
    ("name", "kept", "told"),
    [
        ("requirements.txt", contents()["requirements.txt"], ""),
        (
            "requirements.txt",
            "Slipway_AWS[x]==0.0.9  # ours\naws-cdk-lib==2.1\ncdk-nag\n",
            "lacks pytest==[0-9.]+; add it",
        ),
        ("requirements.txt", "boto3\n", "lacks slipway-aws==[0-9.]+, aws-cdk-lib==[0-9.]+, .+; add them"),
        ("app.py", "from slipway import LlmService\n", ""),
        ("app.py", "import aws_cdk\n", "makes no stack of Slipway; import create_app or LlmService from slipway"),
    ],
)
def test_a_kept_file_that_lacks_what_the_written_ones_need_is_told(
    name: str, kept: str, told: str, slipway: Slipway, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(kept)
    said = re.findall(f"^kept {re.escape(name)} (.+)$", slipway("init")[1], re.MULTILINE)
    assert bool(said) == bool(told)
    assert all(re.fullmatch(told, each) for each in said)


def test_a_link_to_nowhere_is_kept(slipway: Slipway, tmp_path: Path) -> None:
    (tmp_path / "app.py").symlink_to("elsewhere/app.py")
    assert "  kept   app.py\n" in slipway("init")[1]
    assert (tmp_path / "app.py").is_symlink()


def make_file(path: Path) -> None:
    path.write_text("x")


@pytest.mark.parametrize(
    ("in_the_way", "make", "folder", "said"),
    [
        ("p", make_file, "p", "its path leads through a file"),
        ("p", make_file, "p/q", "its path leads through a file"),
        ("tests", make_file, ".", "its path leads through a file"),
        ("deployments", make_file, ".", "its path leads through a file"),
        ("app.py", Path.mkdir, ".", "app.py can't be written: it is a folder;"),
        ("other", make_file, "n" * 300, "its name is too long"),
    ],
)
def test_a_folder_that_can_not_be_used_is_refused_and_stays_as_it_was(
    in_the_way: str, make: Callable[[Path], None], folder: str, said: str, slipway: Slipway, tmp_path: Path
) -> None:
    make(tmp_path / in_the_way)
    before = tree(tmp_path)

    status, out, err = slipway("init", folder)

    assert (status, out) == (2, "")
    assert said in err
    assert re.fullmatch(r".+ can't be written: .+; nothing was changed\.\n", err)
    assert tree(tmp_path) == before


def test_a_disk_that_can_only_be_read_is_refused_in_one_sentence(slipway: Slipway) -> None:
    status, _, err = slipway("init", "/proc/chat")
    assert (status, err.count("\n")) == (2, 1)
    assert "/proc/chat can't be written: " in err


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    class Interrupting(dict[str, str]):
        def items(self):  # type: ignore[no-untyped-def]
            yield from super().items()
            raise KeyboardInterrupt

    (tmp_path / "b").mkdir()
    with pytest.raises(KeyboardInterrupt):
        init.write_missing(tmp_path, Interrupting({"a/one": "", "b/two": ""}))
    assert tree(tmp_path) == {"b": "/"}


@pytest.mark.parametrize("name", ["", "a\nb", "a\udcffb"])
def test_text_that_names_no_folder_is_refused(name: str, slipway: Slipway, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        slipway("init", name)
    assert ended.value.code == 2
    assert tree(tmp_path) == {}


def test_the_feature_flags_are_those_of_the_tested_templates() -> None:
    ours, written = json.loads((ROOT / "cdk.json").read_text()), json.loads(contents()["cdk.json"])
    assert written["context"] == ours["context"]
    assert written["app"] == "python3 app.py"


def test_the_versions_are_the_installed_and_the_tested_ones() -> None:
    tested = (ROOT / "requirements-dev.txt").read_text()
    pins = dict(line.split("==") for line in contents()["requirements.txt"].splitlines() if not line.startswith("#"))
    assert pins.pop("slipway-aws") == version("slipway-aws")
    assert {"aws-cdk-lib", "cdk-nag", "pytest"} == pins.keys()
    assert [name for name, pin in pins.items() if f"\n{name}=={pin} " not in tested] == []


def test_the_deployment_is_the_shipped_one() -> None:
    shipped = (ROOT / "deployments" / "qwen3-4b.yaml").read_text()
    text = contents()["deployments/chat.yaml"]
    assert yaml.safe_load(text) == yaml.safe_load(shipped)
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")


def test_a_schema_of_another_version_is_told_with_the_fix(slipway: Slipway, tmp_path: Path) -> None:
    slipway("init")
    assert slipway("check", "chat")[2] == ""
    schema = tmp_path / "deployments" / "schema.json"
    schema.write_text(schema.read_text().replace("instance_type", "type", 1))

    status, _, err = slipway("check", "chat")
    assert status == 0
    assert re.fullmatch(r"deployments/schema\.json is .+: delete it, then run `slipway init`\.\n", err)

    schema.unlink()
    slipway("init")
    assert slipway("check", "chat")[2] == ""
