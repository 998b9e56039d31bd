"""A stream of a minute through API Gateway, from an engine that writes token by token."""

from tools.smoke.asking.calls import stream
from tools.smoke.asking.question import Answer, CouldNotAskError, Line, Question
from tools.smoke.asking.stacks import STREAM
from tools.smoke.asking.trial import Trial

_GATEWAY_LIMIT_IN_SECONDS = 29  # of a response that is not streamed
_LONGEST_GAP_IN_SECONDS = 15
_FEWEST_MOMENTS = 20
_PROMPT = "Write all numbers from 1 to 1500 in words, one on each line, and leave none out."


def stream_of_a_minute(trial: Trial) -> Answer:
    """Ask for a long answer, and see when its pieces arrive."""
    body = {"messages": [{"role": "user", "content": _PROMPT}], "max_tokens": 3500}
    seen = stream(trial, "chat/completions", body)
    if seen.is_whole and seen.seconds <= _GATEWAY_LIMIT_IN_SECONDS and not trial.is_local:
        raise CouldNotAskError(f"The model ended too early to tell: {seen}.")
    is_early = trial.is_local or seen.first < seen.seconds / 4
    fewest = 3 if trial.is_local else _FEWEST_MOMENTS
    spread = seen.moments >= fewest and seen.longest_gap < _LONGEST_GAP_IN_SECONDS
    return Answer(str(seen), seen.is_whole and is_early and spread)


QUESTIONS = (
    Question(
        "stream-of-a-minute",
        "Does a stream of a minute arrive whole, and piece by piece?",
        "it does: the first piece at once, the last one beyond the 29 s of other answers",
        stream_of_a_minute,
        Line(
            "docs/architecture.md",
            "The life of a request",
            "| a stream, or OpenAI's routes, by the endpoint | 870 s | 860 s |",
        ),
        minutes=2,
        stack=STREAM,
        local="the model's stand-in writes the whole answer within seconds",
    ),
)
