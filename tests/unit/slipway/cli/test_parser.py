"""The command line itself: the overview, misspelt words, the version, a Python without the packages."""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slipway.__main__ import command_line, main
from slipway.shared import version
from support.repository import ROOT


def said(*arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["slipway", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_without_a_verb_it_shows_each_verb_once_below_what_it_is_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = said(monkeypatch=monkeypatch, capsys=capsys)
    (verbs,) = (each for each in command_line()._actions if isinstance(each, argparse._SubParsersAction))
    assert sorted(re.findall(r"^  ([a-z]\S+)  ", out, re.MULTILINE)) == sorted(verbs.choices)
    assert (status, max(map(len, out.splitlines())) <= 80) == (0, True)
    assert re.findall(r"^  ([a-z]\S+)  ", out.partition("\nWork on Slipway itself\n")[2], re.MULTILINE) == ["reference"]
    assert out.index("\nDeploy\n") < out.index("  doctor ") < out.index("\nRun\n") < out.index("  status ")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["lst"], "'lst' is not known; did you mean list?"),
        (["fleet", "stats", "qwen3-4b"], "'stats' is not known; did you mean status?"),
        (["keys", "creat", "gpt2", "alice"], "'creat' is not known; did you mean create?"),
        (["verify", "gpt2", "--regoin=eu-west-1"], "'--regoin' is not known; did you mean --region?"),
        (["bench", "gpt2", "--route", "chats"], "'chats' is not known; did you mean chat?"),
        (["verify", "gpt2", "gpt3"], "'gpt3' is not known; see slipway verify -h"),
        (["STATUS", "gpt2"], "'STATUS' is not known; did you mean status?"),
        (["synth", "gpt2"], "'synth' is another command; use npx cdk synth -c deployment=NAME"),
        (["deploy", "gpt2,"], "'gpt2,' must name deployments, each once, such as gpt2,qwen3-4b"),
        (["frobnicate"], "'frobnicate' is not known; see slipway -h"),
    ],
)
def test_a_misspelt_word_is_refused_with_the_one_that_was_meant(
    given: list[str], meant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, error = said(*given, monkeypatch=monkeypatch, capsys=capsys)
    assert (status, error.splitlines()[-1].partition(": error: ")[2].endswith(meant)) == (2, True)


def test_the_version_names_release_commit_and_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = said("--version", monkeypatch=monkeypatch, capsys=capsys)
    assert status == 0
    assert re.match(r"Slipway \d+\.\d+\.\d+, commit \S+ of 20\d\d-\d\d-\d\d\nPython 3", out)
    assert "aws-cdk-lib 2." in out


def test_the_commit_of_a_repository_around_a_copy_is_not_taken_for_ours(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    author = ["-c", "user.name=A", "-c", "user.email=a@b"]
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "other"], cwd=tmp_path, check=True)
    (copy := tmp_path / "copy").mkdir()
    assert re.match(r"Slipway \d+\.\d+\.\d+\n", version.described(copy))
    assert ", commit " in version.described(tmp_path)


@pytest.mark.parametrize("verb", ["list", "check gpt2 --on ml.g5.xlarge", "local gpt2", "fleet plan qwen3-4b"])
def test_a_python_without_the_packages_is_told_in_one_sentence(verb: str) -> None:
    bare = [sys.executable, "-S", "-E", "-m", "slipway", *verb.split()]
    done = subprocess.run(bare, cwd=ROOT, capture_output=True, text=True)
    assert re.fullmatch(
        r"This Python has no [\w-]+: activate the environment with Slipway, or make one .*\n", done.stderr
    )
    assert done.returncode == 1


def test_no_room_that_does_a_verbs_work_is_imported_to_read_the_command_line() -> None:
    program = (
        "import sys; from slipway.__main__ import command_line; command_line()\n"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('slipway.')}))\n"
        "print([name for name in sys.modules if name.startswith('local_cloud.')])"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["['__main__', 'cli', 'shared']", "['local_cloud.real_model']"]


def test_another_project_of_our_name_is_told_in_one_sentence(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "slipway", tmp_path / "slipway")
    (tmp_path / "slipway-0.2.dist-info").mkdir()
    done = subprocess.run([sys.executable, "-m", "slipway", "list"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.startswith("Another project of the name slipway is installed here")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
