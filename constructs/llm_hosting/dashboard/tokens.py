"""The figures that functions emit for each call and job of a service with a dashboard."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch

from ..surroundings import Surroundings
from .panel import Panel, Question, graph, math, of, percentiles, query


def token_metrics(surroundings: Surroundings) -> tuple[cloudwatch.Metric, cloudwatch.Metric]:
    """Return the tokens of prompts and of answers, by calls and jobs."""
    total = cloudwatch.Stats.SUM
    return surroundings.metric("TokensIn", total), surroundings.metric("TokensOut", total)


def stream_panel(surroundings: Surroundings) -> Panel:
    """Return what a caller feels of a stream."""
    first, speed = (surroundings.metric(name, "p50") for name in ("FirstTokenSeconds", "TokensPerSecond"))
    return Panel(
        Question.FAST,
        "Of a stream, a caller feels the time to the first token, a wake included, and the speed after it.",
        [
            graph("Time to first token", *percentiles(first), unit="seconds"),
            graph(
                "Speed of a stream",
                of(speed, "p50", "p50"),
                of(speed, "p10", "p10, the slowest tenth"),
                unit="tokens a second",
            ),
        ],
    )


def token_panels(surroundings: Surroundings, log_groups: Sequence[str], *, names_callers: bool) -> list[Panel]:
    """Return the tokens, and who took them. log_groups: the names of those that hold the figures.

    names_callers: whether the logs hold the hashes of callers.
    """
    prompts, answers = token_metrics(surroundings)
    each_second = math("answers", "answers / PERIOD(answers)", answers=answers)
    made = Panel(
        Question.FAST,
        "The model makes this many tokens a second for all its callers together.",
        [graph("Tokens of answers", each_second, unit="tokens a second")],
    )
    taken = Panel(
        Question.COST,
        "Tokens are counted by the engine; where it counts none, they are estimated by length.",
        [graph("Tokens", of(prompts, "Sum", "prompts"), of(answers, "Sum", "answers"), unit="tokens")],
    )
    if not names_callers:
        return [made, taken, Panel(Question.WHO, "Callers are not shown, because `logs.requests` is `none`.")]
    by_caller = query(
        "Calls and tokens by caller",
        log_groups,
        "filter ispresent(TokensIn) or ispresent(TokensOut)",
        "stats sortsLast(key) as name, count(*) as calls, sum(TokensIn) as prompts, sum(TokensOut) as answers "
        "by caller",
        "sort answers desc",
        "limit 20",
    )
    who = Panel(
        Question.WHO,
        "A caller is shown as the hash that log lines have; the name is that of its key or group.",
        [by_caller],
    )
    return [made, taken, who]
