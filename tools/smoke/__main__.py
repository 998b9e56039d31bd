"""Runs the smoke test: shows the cost and asks, deploys, checks how AWS behaves, destroys, writes a report."""

import argparse
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.catalog.instances import instances
from llm_hosting.home import HOME
from slipway.checking import check
from slipway.operations.verify import checks_of
from slipway.shared.aws_clients import clients_in
from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import UnknownStackError
from tools.smoke import questions
from tools.smoke.local import LOOK_INTERVAL_IN_SECONDS, local_account
from tools.smoke.questions import asked, calling_while_it_starts
from tools.smoke.report import AwsAnswer, page
from tools.smoke.trial import NAMES, TimeIsUpError, Trial

_HOURS = 2
_MOST_INSTANCES = 5  # two of the three endpoints have an old and a new instance during an update
_TYPE = "ml.m5.xlarge"
_LOOK_INTERVAL_IN_SECONDS = 10


def main() -> None:
    """Exit with 0 if every answer is as expected and nothing is left, 1 if not, 2 if AWS could not be reached."""
    parser = argparse.ArgumentParser(prog="python -m tools.smoke", description=__doc__)
    parser.add_argument("--region", help="region (default AWS_REGION, or your profile's)")
    parser.add_argument("--local", action="store_true", help="run against the local cloud on this machine")
    parser.add_argument("--yes", action="store_true", help="spend the money without asking")
    parser.add_argument("--report", type=Path, help="where to write the report (default smoke-<region>-<time>.md)")
    given = parser.parse_args()
    with ExitStack() as stack:
        if given.local:
            stack.enter_context(local_account(["tools/smoke/deployments/slipway-smoke.yaml"]))
        try:
            sys.exit(_run(given))
        except (BotoCoreError, ClientError) as error:
            print(sentence(error), file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt:
            print("Stopped while destroying: `slipway list` shows what is left.", file=sys.stderr)
            sys.exit(130)


def _run(given: argparse.Namespace) -> int:
    clients, started = clients_in(given.region), datetime.now(UTC)
    account = clients("sts").get_caller_identity()["Account"]
    region = str(clients("sts").meta.region_name)
    where = f"{region} of account {account}" + (", the local cloud" if given.local else "")
    files = [str(HOME / "tools" / "smoke" / "deployments" / f"{name}.yaml") for name in NAMES]
    if status := check.run(files, HOME, check.CheckOptions(account=True, region=given.region)):
        print("Nothing was deployed: the account is not ready.", file=sys.stderr)
        return status
    with TemporaryDirectory() as folder:
        interval = LOOK_INTERVAL_IN_SECONDS if given.local else _LOOK_INTERVAL_IN_SECONDS
        trial = Trial(clients, region, Path(folder), time.monotonic() + _HOURS * 3600, interval)
        if there := trial.there():
            print(
                f"{', '.join(there)}: already there; destroy what an earlier smoke test left.",
                file=sys.stderr,
            )
            return 1
        if not given.local and not may_spend(where, sure=given.yes):
            return 1
        answers = answers_of(trial)
    report = given.report or Path(f"smoke-{region}-{started:%Y%m%d-%H%M}.md")
    report.write_text(page(where, started, answers))
    print(f"\n{report}: {sum(answer.good for answer in answers)} of {len(answers)} answers are as expected.")
    return 0 if all(answer.good for answer in answers) else 1


def may_spend(where: str, *, sure: bool) -> bool:
    """Show the cost and ask for consent. sure: consent was given on the command line."""
    price = instances()[_TYPE].usd_per_hour or 0
    most = price * _MOST_INSTANCES * (_HOURS + 0.5)  # destroying takes time too
    print(
        f"Three endpoints on {_TYPE} in {where}, for an hour or so: about {price * len(NAMES):.2f} USD, and at most\n"
        f"{most:.2f} USD, as everything is destroyed after {_HOURS} hours (from third-party prices, never a bill).\n"
        "If this command is killed, destroy them yourself: `slipway list` shows them."
    )
    if sure:
        return True
    if not sys.stdin.isatty():
        print(
            "Standard input is not a terminal, so nobody can be asked; add --yes to spend it.",
            file=sys.stderr,
        )
        return False
    return input(f"Type {most:.2f} to spend it: ").strip() == f"{most:.2f}"


def answers_of(trial: Trial) -> list[AwsAnswer]:
    """Run the whole test. Everything is destroyed, whatever happens before."""
    answers: list[AwsAnswer] = []
    try:
        for answer in _life(trial):
            _say(answer)
            answers.append(answer)
    except TimeIsUpError:
        answers.append(AwsAnswer("Was there time for everything?", "yes", f"no, {_HOURS} hours were over", good=False))
    except UnknownStackError as error:
        answers.append(AwsAnswer("Is everything deployed?", "yes", str(error), good=False))
    except KeyboardInterrupt:
        answers.append(AwsAnswer("Did it run to its end?", "yes", "no: Ctrl-C", good=False))
    except Exception as error:  # after any failure, everything must still be destroyed
        answers.append(AwsAnswer("Did the smoke test itself work?", "yes", f"no: {place_of(error)}", good=False))
    print("destroying everything", flush=True)
    started = time.monotonic()
    trial.destroy()
    left = trial.left()
    seen = ", ".join(left) or f"nothing is left after {time.monotonic() - started:.0f} s"
    answers.append(AwsAnswer("Is everything gone after destroy and purge?", "it is", seen, not left))
    _say(answers[-1])
    return answers


def place_of(error: Exception) -> str:
    """The error of a traceback and the place where it was raised, on one line."""
    *_, place, said = traceback.format_exception(error)
    return " ".join(f"{said.strip()} ({place.strip()})".split())


def _life(trial: Trial) -> Iterator[AwsAnswer]:
    print("deploying all", flush=True)
    started = time.monotonic()
    with calling_while_it_starts(trial) as early:
        status = trial.deploy(*NAMES)
    seconds = time.monotonic() - started
    reasons = "".join(questions.why(trial, name) for name in trial.there())
    seen = f"exit status {status} after {seconds:.0f} s{reasons}"
    yield AwsAnswer("Does a first deploy succeed?", "yes", seen, status == 0)
    if status:
        return
    yield early()
    yield from _verified(trial, "after the deploy")
    for question in (
        questions.access_log,
        questions.trust_by_source_account,
        questions.notifications_arrive,
        questions.output_is_named,
        questions.busy_endpoint_refuses,
        questions.update_at_zero,
        questions.waking,
    ):
        print(f"asking: {question.__name__.replace('_', ' ')}", flush=True)
        yield asked(question, trial)
    print("asking: component at zero", flush=True)
    yield from questions.component_at_zero(trial)
    print("asking: rollback", flush=True)
    yield from questions.rollback(trial)
    yield from _verified(trial, "after the updates")
    yield asked(questions.metrics_of_alarms, trial)


def _verified(trial: Trial, when: str) -> Iterator[AwsAnswer]:
    for name in NAMES:
        bad = [check for check in checks_of(trial.stack(name), timeout=trial.seconds_left(1800)) if not check.good]
        seen = "; ".join(f"{check.name}: {check.seen}" for check in bad) or "yes"
        yield AwsAnswer(f"Does verify find {name} good {when}?", "yes", seen, not bad)


def _say(answer: AwsAnswer) -> None:
    print(f"{'ok' if answer.good else 'NO':4}{answer.question}\n    {answer.seen}", flush=True)


if __name__ == "__main__":
    main()
