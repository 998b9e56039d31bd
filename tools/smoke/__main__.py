"""Asks AWS what only AWS can answer: deploys small stacks, asks, removes everything, and writes a report."""

import argparse
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.home import HOME
from slipway.account.endpoint_quota import quota_values
from slipway.checking import check
from slipway.deploying.cdk_cli import CdkCliError, find_cli
from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import described_stack
from tools.smoke.asking.place import Place, this_place
from tools.smoke.asking.question import Question
from tools.smoke.asking.record import Record, RecordError
from tools.smoke.asking.stop import Stop
from tools.smoke.estimate import listing, may_spend
from tools.smoke.lane import Run
from tools.smoke.local import local_account
from tools.smoke.money import Meter, instance_type
from tools.smoke.questions import UnknownQuestionError, chosen, names_of_stacks, stacks_of
from tools.smoke.report import write_page
from tools.smoke.run import Interrupts, ask_all, clean_command, in_thread, remove_and_prove, show

_MINUTES, _USD = 120, 5.0


def main() -> None:
    """Exit with 0 if every answer is as expected and nothing is left, 1 if not, 2 if AWS could not be asked.

    After a signal: with 128 and its number, such as 130 after Ctrl-C.
    """
    given = _arguments()
    try:
        if given.list:
            print(listing(chosen(given.only)))
            sys.exit(0)
        with ExitStack() as stack:
            if given.local:
                stack.enter_context(local_account([each.file for each in stacks_of(chosen(given.only))]))
            place = this_place(given.region)
            sys.exit(_clean(given, place) if given.clean else _smoke(given, place))
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
        sys.exit(2)
    except (CdkCliError, RecordError, UnknownQuestionError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nStopped; nothing was deployed or removed.", file=sys.stderr)
        sys.exit(130)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.smoke", description=__doc__)
    parser.add_argument("--region", help="region (default AWS_REGION, or your profile's)")
    parser.add_argument("--local", action="store_true", help="run against the local cloud on this machine")
    parser.add_argument("--yes", action="store_true", help="spend the money without asking")
    parser.add_argument("--list", action="store_true", help="show the questions with their minutes and price")
    parser.add_argument("--only", type=_words, default=[], metavar="IDS", help="ask these only: batch,playground")
    parser.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with what an earlier run left unanswered")
    parser.add_argument("--clean", action="store_true", help="remove what a run has left, and ask nothing")
    parser.add_argument("--minutes", type=int, default=_MINUTES, help=f"stop and remove after (default {_MINUTES})")
    parser.add_argument("--usd", type=float, default=_USD, help=f"stop once so much may be spent (default {_USD})")
    return parser.parse_args()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _clean(given: argparse.Namespace, place: Place) -> int:
    """Remove all. The records of runs in this folder tell which resources of SageMaker to look for."""
    records = [Record.resumed(given.resume, place)] if given.resume else Record.found(place)
    record = records[-1] if records else Record.begun(place)
    record.note(pair for each in records for pair in each.seen)
    with Interrupts(Stop(), place):
        is_gone = in_thread(lambda: remove_and_prove(record, _say))
    write_page(record, chosen(record.ids))
    return 0 if is_gone else 1


def _smoke(given: argparse.Namespace, place: Place) -> int:
    record = Record.resumed(given.resume, place) if given.resume else None
    questions = chosen(given.only or (record.ids if record else ()))
    find_cli(HOME)  # before anything costs money
    clients = place.clients()
    there = [name for name in names_of_stacks() if described_stack(name, clients)]
    if there and not given.resume:
        print(
            f"{', '.join(there)}: already there, from an earlier smoke test. Go on with it (`make smoke RESUME=<its "
            f"folder>`), or remove it: {clean_command(place)}",
            file=sys.stderr,
        )
        return 1
    left = [each.id for each in questions if not (record and record.is_answered(each.id))]
    asked = chosen(left) if left else ()  # with the deploys that they need again
    files = [str(each.file) for each in stacks_of(asked) if each.name not in there]
    if files and (status := check.run(files, HOME, check.CheckOptions(account=True, region=place.region))):
        print("Nothing was deployed: the account is not ready.", file=sys.stderr)
        return status
    if not place.is_local and not may_spend(asked, place, given.minutes, given.usd, sure=given.yes):
        return 1
    return _run(given, questions, record or Record.begun(place, given.only))


def _run(given: argparse.Namespace, questions: tuple[Question, ...], record: Record) -> int:
    place, stop = record.place, Stop()
    types = {instance_type(each) for each in stacks_of(questions)}
    quotas = quota_values([f"{name} for endpoint usage" for name in types], place.clients()("service-quotas"))
    room = {name.removesuffix(" for endpoint usage"): value for name, value in quotas.items()}
    run = Run(place, record, stop, time.monotonic() + given.minutes * 60, Meter(room), _say)
    write = partial(write_page, record, questions)
    with Interrupts(stop, place) as interrupts:
        ask_all(run, questions, given.usd, write)
        is_gone = in_thread(lambda: remove_and_prove(record, _say))
    write()
    good = sum(1 for each in questions if (answer := record.answer(each.id)) and answer.status == "as expected")
    show(f"\n{record.folder / 'report.md'}: {good} of {len(questions)} answers are as expected.")
    if unanswered := [each.id for each in questions if not record.is_answered(each.id)]:
        local = "LOCAL=1 " if place.is_local else ""
        show(f"Not answered: {', '.join(unanswered)}. To ask them: make smoke {local}RESUME={record.folder}")
    if not is_gone:
        show(f"To remove what is left: {clean_command(place)}")
    return interrupts.status or (0 if is_gone and good == len(questions) else 1)


def _say(line: str) -> None:
    show(f"{time.strftime('%H:%M:%S')} {line}")


if __name__ == "__main__":
    main()
