"""The script of a machine's first start reports how it ended; bash runs it with stand-ins for `aws` and `curl`."""

import json
import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.machines.user_data import user_data

URL = "https://cloudformation-waitcondition.example/stack?Signature=a%2Bb&Expires=1"
VARIABLES = {"AWS_REGION": "eu-west-3", "MODEL_ID": "openai-community/gpt2", "JOB_SETTINGS": '{"open_jobs":3}'}

AWS = """#!/bin/bash
[ "$1 $2 $4" = "s3 cp s3://code/machine.zip" ] || exit 9
[ "$AWS_REGION" = eu-west-3 ] || exit 8
echo again >>"$STAND_INS/tries"
[ "$(wc -l <"$STAND_INS/tries")" -gt "${DENIED:-0}" ] || exit 7
cp "$STAND_INS/machine.zip" "$5"
"""
CURL = """#!/bin/bash
case "$*" in
    *-X\\ PUT*/latest/api/token) echo the-token ;;
    *the-token*/latest/meta-data/instance-id) echo i-0123456789abcdef0 ;;
    *) printf '%s\\n' "$@" >"$STAND_INS/arguments" && cp signal.json "$STAND_INS/signal" ;;
esac
"""


@dataclass(frozen=True)
class Outcome:
    """The end of a script. `status`: its exit status. `signal`: the bytes that CloudFormation would get."""

    status: int
    signal: bytes
    arguments: list[str]
    home: Path

    @property
    def told(self) -> dict[str, str]:
        told: dict[str, str] = json.loads(self.signal)
        return told


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run the script with a set-up of these lines; None means an archive without a set-up.

    `timeout`: seconds that CloudFormation waits for the signal.
    `denied`: how often S3 refuses the archive before it gives it.
    """

    def start(set_up: str | None, *, timeout: int = 900, denied: int = 0) -> Outcome:
        home, stand_ins = tmp_path / "home", tmp_path / "stand-ins"
        stand_ins.mkdir()
        for name, text in (("aws", AWS), ("curl", CURL), ("sleep", "#!/bin/bash\n")):
            (stand_ins / name).write_text(text)
            (stand_ins / name).chmod(0o755)
        with zipfile.ZipFile(stand_ins / "machine.zip", "w") as archive:
            archive.writestr("machine/setup.sh" if set_up is not None else "other", set_up or "")
        script = user_data(
            code="s3://code/machine.zip",
            variables=VARIABLES,
            number=1,
            renewal=0,
            timeout=timeout,
            signal_url=URL,
        )
        variables = {
            "PATH": f"{stand_ins}:{os.environ['PATH']}",
            "STAND_INS": str(stand_ins),
            "SLIPWAY_HOME": str(home),
            "DENIED": str(denied),
        }
        result = subprocess.run(["bash", "-c", script], env=variables, capture_output=True, timeout=60)
        arguments = (stand_ins / "arguments").read_text().splitlines()
        return Outcome(result.returncode, (stand_ins / "signal").read_bytes(), arguments, home)

    return start


def test_a_set_up_that_ends_well_is_a_success(run: Any) -> None:
    outcome = run('cp environment seen; echo "SLIPWAY_HOME is $SLIPWAY_HOME"')
    assert outcome.status == 0
    assert outcome.told["Status"] == "SUCCESS"
    assert outcome.told["UniqueId"] == "i-0123456789abcdef0"
    assert (outcome.home / "log" / "setup.log").read_text() == f"SLIPWAY_HOME is {outcome.home}\n"
    lines = (outcome.home / "seen").read_text().splitlines()
    assert lines == ["AWS_REGION=eu-west-3", 'JOB_SETTINGS={"open_jobs":3}', "MODEL_ID=openai-community/gpt2"]


def test_the_signal_is_put_to_the_signed_address_without_a_content_type(run: Any) -> None:
    arguments = run("").arguments
    assert arguments[-1] == URL
    assert arguments[arguments.index("-X") + 1] == "PUT"
    assert arguments[arguments.index("-H") + 1] == "Content-Type:"
    assert arguments[arguments.index("--data-binary") + 1] == "@signal.json"


def test_a_failed_step_is_reported_with_the_end_of_the_log(run: Any) -> None:
    outcome = run("echo before; echo 'no matching distribution' >&2; exit 3")
    assert outcome.status == 3
    assert outcome.told["Status"] == "FAILURE"
    assert outcome.told["Reason"].startswith("The set-up of machine 1 ended with status 3 after ")
    assert outcome.told["Reason"].endswith("before\nno matching distribution\n")


def test_a_hanging_set_up_is_reported_before_cloudformation_stops_waiting(run: Any) -> None:
    outcome = run("echo before; tail -f /dev/null", timeout=60)
    assert outcome.status == 124
    assert outcome.told["Status"] == "FAILURE"
    assert outcome.told["Reason"].endswith("before\nstopped: too slow for hosting.startup_timeout_in_seconds: 60\n")


@pytest.mark.parametrize(("denied", "status"), [(4, 0), (5, 7)])
def test_a_role_without_permission_yet_tries_the_archive_five_times(run: Any, denied: int, status: int) -> None:
    assert run("", denied=denied).status == status


def test_an_archive_without_a_set_up_fails(run: Any) -> None:
    outcome = run(None)
    assert outcome.status != 0
    assert outcome.told["Status"] == "FAILURE"


def test_after_a_failed_download_the_earlier_set_up_does_not_run(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / "machine").mkdir(parents=True)
    (tmp_path / "home" / "machine" / "setup.sh").write_text("exit 0")
    with zipfile.ZipFile(tmp_path / "home" / "machine.zip", "w"):
        pass
    monkeypatch.setitem(VARIABLES, "AWS_REGION", "nowhere")  # which the stand-in for `aws` refuses
    outcome = run("exit 0")
    assert (outcome.status, outcome.told["Status"]) == (8, "FAILURE")


def test_the_signal_is_json_of_less_than_4_kb_whatever_the_log_holds(run: Any) -> None:
    noise = r"""for _ in $(seq 300); do printf '"\\\\\033[31m\r\000\377\xe2\x82\xac$(reboot)`\n'; done; exit 1"""
    outcome = run(noise)
    assert len(outcome.signal) < 4096
    assert outcome.told["Status"] == "FAILURE"
    assert outcome.told["Reason"].endswith("$(reboot)`\n")
