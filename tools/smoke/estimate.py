"""Shows the questions with their minutes and price, and asks whether the money may be spent."""

import sys
from collections.abc import Sequence

from tools.smoke.asking.place import Place
from tools.smoke.asking.question import Question
from tools.smoke.money import minutes_of, price_of, price_of_lane


def lanes_of(questions: Sequence[Question]) -> list[list[Question]]:
    """The questions of each stack; a question without a stack is alone."""
    lanes: dict[str, list[Question]] = {}
    for each in questions:
        lanes.setdefault(each.stack.name if each.stack else each.id, []).append(each)
    return list(lanes.values())


def listing(questions: Sequence[Question]) -> str:
    """A line for each question, by lane, and the sums."""
    lines = []
    for lane in lanes_of(questions):
        name = lane[0].stack.name if lane[0].stack else "its own resources"
        lines.append(f"{name}: {minutes_of(lane):.0f} minutes, {price_of_lane(lane):.2f} USD")
        lines += [f"  {each.id:34} {each.minutes:4.0f} min {price_of(each):5.2f} USD  {each.title}" for each in lane]
    return "\n".join([*lines, "", summary(questions)])


def summary(questions: Sequence[Question]) -> str:
    lanes = lanes_of(questions)
    longest = max(map(minutes_of, lanes), default=0)
    usd = sum(map(price_of_lane, lanes))
    return f"{len(questions)} questions: about {longest:.0f} minutes side by side, about {usd:.2f} USD."


def may_spend(questions: Sequence[Question], place: Place, minutes: int, usd: float, *, sure: bool) -> bool:
    """Show the cost and ask for consent. minutes, usd: the limits. sure: consent was given on the command line."""
    print(
        f"{place}. {summary(questions)}\n"
        f"Everything is removed after {minutes} minutes, or before more than {usd:.2f} USD may be spent. The removal\n"
        "takes up to half an hour. The prices are third parties' for us-east-1, never a bill. If this command is\n"
        "killed, run `make smoke CLEAN=1`."
    )
    if sure:
        return True
    if not sys.stdin.isatty():
        print("Standard input is not a terminal, so nobody can be asked; add --yes to spend it.", file=sys.stderr)
        return False
    return input(f"Type {usd:.2f} to spend up to that: ").strip() == f"{usd:.2f}"
