"""The tables of a report, the same for Markdown, HTML and the terminal."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from slipway.measuring.figures.level import METRICS, Level, levels, open_levels
from slipway.measuring.figures.percentiles import SHOWN
from slipway.measuring.figures.results import Results, Start
from slipway.measuring.figures.shown import NOTHING, dollars, milliseconds, number, seconds, share
from slipway.measuring.figures.slo import bracket, next_rate, parse

STAND_IN = (
    "Figures of the stand-in: a text generator or a small model answers in the local cloud, so they say nothing about "
    "the model, the instance or its price on AWS."
)
_BUSY = 0.5  # cores; from there on a process of Python is late to read what comes
_PARTS = {
    "capacity": "until there is an instance",
    "image": "container image",
    "weights": "weights",
    "load": "loading the model",
    "first_answer": "first answer",
    "first_token": "first token",
}


@dataclass(frozen=True)
class ReportTable:
    """One table. left: how many columns, from the first, hold words; the others hold numbers. note: one sentence
    below it.
    """

    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    left: int = 1


def tables(results: Results) -> list[ReportTable]:
    """The tables that the results have figures for. Each is marked if the figures are the stand-in's."""
    found = levels(results)
    made: list[ReportTable | None] = [
        _published(results, found),
        _latencies(found),
        _rates(results, found),
        _errors(found),
    ]
    made += [_objective(results), _start(results), _run(results)]
    mark = " (stand-in)" if results.stand_in else ""
    return [replace(table, title=table.title + mark) for table in made if table and table.rows]


def name_of(results: Results) -> str:
    """Model, engine, type and degree."""
    return f"{results.model}, {results.engine} {results.version}, {results.instance_type}, degree {results.degree}"


def place(results: Results) -> str:
    """The place of the measurement, in words."""
    return "local cloud, stand-in" if results.stand_in else f"AWS, {results.region or 'region not known'}"


def remarks(results: Results) -> Iterator[str]:
    """Return sentences that help to read the figures correctly."""
    found = levels(results)
    if results.interrupted:
        open_ones = sum(load.unfinished for load in results.loads)
        rest = f", without {open_ones} requests that were still open" if open_ones else ""
        yield f"Interrupted: {results.interrupted}. The figures are those until then{rest}."
    errors = sum((Counter(level.errors) for level in found), Counter[str]())
    if errors:
        codes = ", ".join(f"{code}: {count:,}" for code, count in errors.most_common())
        asked = sum(len(level.requests) for level in found)
        yield f"{errors.total():,} of {asked:,} requests failed ({codes}); latencies and rates are of the others."
    if results.instances:
        before, after = results.instances
        yield f"The number of instances went from {before} to {after}, so rates and prices mix several numbers of them."
    busy = [level.name for level in found if any((load.client_cores or 0) > _BUSY for load in level.rounds)]
    if busy:
        yield f"The measuring process itself was busy at {', '.join(busy)}: its own delays are in these times."


def usd_per_million(results: Results, rate: float | None) -> float | None:
    """USD for a million tokens at this rate, by the price of all instances for the whole time."""
    if not rate or results.usd_per_hour is None:
        return None
    return results.usd_per_hour / 3600 / rate * 1_000_000


def _published(results: Results, found: list[Level]) -> ReportTable:
    load_time = seconds(results.start.parts.get("load")) if results.start else NOTHING
    asked = results.answer_tokens or results.prompt_tokens  # vectors have only tokens of prompts
    rows = tuple(
        (
            name_of(results),
            level.name,
            f"{results.batch} x {_tokens((level.tokens_of_a_request or 0) / results.batch or asked)}",
            load_time,
            *(milliseconds(level.percentile("total", each)) for each in SHOWN),
            number(level.published_token_rate),
            str(sum(level.errors.values())),
        )
        for level in found
    )
    times = (f"P{each} (ms)" for each in SHOWN)
    heading = ("Model, engine, type, degree", "Load", "Batch x tokens", "Time to load (s)", *times)
    note = "Tokens/s of a request: batch x output tokens / P50."
    notes = " ".join(filter(None, (note, _few(found), _uncounted(found))))
    return ReportTable("Result", (*heading, "Tokens/s of a request", "Errors"), rows, notes, left=2)


def _tokens(of_a_sequence: float | None) -> str:
    return NOTHING if of_a_sequence is None else f"{round(of_a_sequence, 1):,g}"


def _few(found: list[Level]) -> str:
    if any(len(level.answered) < 100 for level in found):
        return "A P99 of fewer than 100 answers is nearly its slowest."
    return ""


def _uncounted(found: list[Level]) -> str:
    answers = [answer for level in found if level.asked_tokens for answer in level.answered]
    missing = sum(answer.answer_tokens is None for answer in answers)
    if not missing:
        return ""
    return (
        f"Output tokens of {missing:,} of {len(answers):,} answers were not counted by the server: "
        "they are taken to be as many as were asked for, the most that there can be."
    )


def _latencies(found: list[Level]) -> ReportTable:
    rows = tuple(
        (
            level.name,
            METRICS[metric],
            str(len(times)),
            *(milliseconds(level.percentile(metric, each)) for each in SHOWN),
        )
        for level in found
        for metric in METRICS
        if (times := level.times(metric))
    )
    jobs = [level for level in found if level.times("queued") or level.times("delivery")]
    attempts = sum(max((answer.attempts or 1) - 1, 0) for level in jobs for answer in level.answered)
    note = f"Jobs that needed a further attempt: {attempts} attempts in all." if attempts else ""
    return ReportTable("Latency", ("Load", "Time", "Answers", *(f"P{each} (ms)" for each in SHOWN)), rows, note, left=2)


def _rates(results: Results, found: list[Level]) -> ReportTable:
    rows = tuple(
        (
            level.name,
            number(level.request_rate),
            number(level.prompt_token_rate),
            number(level.token_rate),
            dollars(usd_per_million(results, level.token_rate)),
            dollars(usd_per_million(results, all_tokens_rate(level))),
        )
        for level in found
        if level.answered
    )
    heading = ("Load", "Answers/s", "Tokens in/s", "Tokens out/s", "USD per million out", "USD per million in + out")
    return ReportTable("Rate and price", heading, rows, _price_note(results))


def all_tokens_rate(level: Level) -> float | None:
    """Return tokens per second, counting both prompts and answers."""
    read, written = level.prompt_token_rate, level.token_rate
    return None if read is None or written is None else read + written


def _price_note(results: Results) -> str:
    if results.usd_per_hour is None:
        return "Without a price: the catalog has none for this type."
    price = f"{dollars(results.usd_per_hour)} USD an hour by the catalog, for all instances and the whole time"
    note = f"Price: {price}, shared by the tokens of that hour at this load. *Out*: output tokens bear all of it."
    return (
        f"{note} The price is real, but the rate is the stand-in's: this is only an example."
        if results.stand_in
        else note
    )


def _errors(found: list[Level]) -> ReportTable:
    rows = tuple(
        (level.name, code, f"{count:,} of {len(level.requests):,}", share(count / len(level.requests)))
        for level in found
        for code, count in level.errors.items()
    )
    throttled = any("429" in level.errors for level in found)
    note = "429: a limit of the API or of its key (api.throttle, api.keys), not of the model." if throttled else ""
    return ReportTable("Errors", ("Load", "Code", "Requests", "Share"), rows, note, left=2)


def _objective(results: Results) -> ReportTable | None:
    """Make the table with the verdict on each rate. A failed request counts as infinitely late."""
    if not results.slo:
        return None
    slo = parse(results.slo)
    heading = ("Load", *(limit.text for limit in slo.limits), "Holds")
    rows = tuple(
        (
            level.name,
            *(_against(limit.measured(level), is_share=limit.metric == "errors") for limit in slo.limits),
            "yes" if slo.holds(level) else "no",
        )
        for level in open_levels(results)
    )
    return ReportTable("Service level objective", heading, rows, objective_sentence(results))


def _against(measured: float | None, *, is_share: bool) -> str:
    if measured is None:
        return NOTHING
    if measured == float("inf"):
        return "failed"
    return share(measured) if is_share else f"{milliseconds(measured)} ms"


def objective_sentence(results: Results) -> str:
    """The result of the search; empty without an objective."""
    if not results.slo:
        return ""
    slo = parse(results.slo)
    held, broken = bracket(slo, open_levels(results))
    if held is None:
        return f"{results.slo} held at no rate that was measured."
    unsure = "" if next_rate(slo, results) is None else " The search was not finished: the rate is uncertain."
    end = f"it did not at {broken.name}" if broken else "no rate that was measured broke it"
    return f"{results.slo} holds at {held.name}; {end}.{unsure}"


def _start(results: Results) -> ReportTable | None:
    if results.start is None:
        return None
    title = "Time from zero" if results.start.kind == "zero" else "Start of the deployment"
    return ReportTable(title, ("Part", "Seconds"), start_rows(results.start))


def start_rows(start: Start) -> tuple[tuple[str, str], ...]:
    """Each known part with its seconds, and their sum; empty if no part is known."""
    rows = tuple((_PARTS.get(name, name), seconds(each)) for name, each in start.parts.items())
    return (*rows, ("all of it", seconds(sum(start.parts.values())))) if rows else ()


def _run(results: Results) -> ReportTable:
    return ReportTable("What was measured", ("", ""), tuple(_facts(results)), left=2)


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    yield "deployment", results.deployment
    yield "model", f"{results.model}{f' at {results.commit[:12]}' if results.commit else ''}"
    yield "engine", f"{results.engine} {results.version}"
    yield "instance", f"{results.instance_type}, tensor parallel degree {results.degree}"
    yield "where", place(results)
    yield "route", results.route
    yield "prompts", _prompts(results)
    if results.context:
        yield "context", f"{results.context:,} tokens"
    yield "started", results.started_at
    yield from results.versions.items()
    if results.interrupted:
        yield "interrupted", results.interrupted


def _prompts(results: Results) -> str:
    lengths = ((results.prompt_tokens, "tokens in"), (results.answer_tokens, "tokens out"))
    asked = [f"{tokens:,} {way}" for tokens, way in lengths if tokens is not None]
    batch = f"batch {results.batch}" if results.batch > 1 else ""
    return ", ".join(part for part in (results.prompts, *asked, batch, f"seed {results.seed}") if part)
