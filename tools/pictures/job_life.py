"""The picture of a job's life, made by trying every transition on every row that a job can have."""

from collections.abc import Iterator
from dataclasses import replace

from inference_api.jobs.state import transitions
from inference_api.jobs.state.job import SHOWN, Job, Output
from inference_api.shared.job_times import JobTimes
from tools.pictures.drawing import Drawing

TIMES = JobTimes(deadline=3600, retention=3600, invocation_timeout=60)
OPEN = ("queued", "running")
ATTEMPTS = transitions.MAX_ATTEMPTS
ENDS = {
    "succeeded": ("an answer is found,", "whichever attempt brought it"),
    "failed": ("the model refuses the body, or", "attempts or time are used up"),
    "expired": ("the deadline passes", "and no failure is known"),
    "cancelled": ("by its owner", "DELETE /jobs/{id}"),
}
# What is drawn: an open job can come to each end.
DRAWN = {("queued", "running"), ("running", "queued"), *((each, end) for each in OPEN for end in ENDS)}


def picture() -> str:
    """The states of a job as SVG. Raises ValueError when jobs change in another way than the picture shows."""
    found = changes()
    if found != DRAWN:
        raise ValueError(f"tools/pictures/job_life.py is to be redrawn for {sorted(found ^ DRAWN)}")
    drawing = Drawing(
        970,
        316,
        "The life of a job",
        "A job is queued and running in turns, until it ends in one of four ways for good.",
    )
    drawing.box(106, 44, 454, 232, "frame")
    drawing.text(118, 66, "open", "title", room=100)
    drawing.text(553, 266, "ends by its deadline, whatever is lost or crashes", "quiet", room=430, anchor="end")
    drawing.text(16, 140, "POST /jobs", "code", room=80)
    drawing.line((16, 154), (132, 154), kind="flow", arrow=True)
    for x, state in zip((134, 426), OPEN, strict=True):
        drawing.box(x, 124, 112, 60, "box strong")
        drawing.text(x + 56, 159, state, "title", room=112, anchor="middle")
    drawing.line((246, 142), (424, 142), kind="flow", arrow=True)
    drawing.text(335, 112, "an attempt starts", "quiet", room=176, anchor="middle")
    drawing.text(335, 130, f"{ATTEMPTS} at most", "quiet", room=176, anchor="middle")
    drawing.line((424, 168), (248, 168), kind="flow", arrow=True)
    drawing.text(335, 190, "it did not run,", "quiet", room=176, anchor="middle")
    drawing.text(335, 208, "or another may follow", "quiet", room=176, anchor="middle")
    for y, (state, words) in zip((36, 100, 164, 228), ENDS.items(), strict=True):
        drawing.line((560, y + 24), (606, y + 24), kind="flow", arrow=True)
        drawing.box(608, y, 104, 48)
        drawing.text(660, y + 29, state, "title", room=104, anchor="middle")
        for line, text in enumerate(words):
            drawing.text(724, y + 20 + 18 * line, text, "quiet", room=236)
    drawing.text(608, 300, "an end is final", "quiet", room=200)
    return drawing.svg()


def changes() -> set[tuple[str, str]]:
    """Each change of the status that callers see: from which to which."""
    found: set[tuple[str, str]] = set()
    first = transitions.accept("id", "owner", 0, TIMES)
    known, waiting = {first}, [first]
    while waiting:
        job = waiting.pop()
        for following in _following(job):
            found.add((SHOWN[job.state], SHOWN[following.state]))
            if following not in known:
                known.add(following)
                waiting.append(following)
    return {(before, after) for before, after in found if before != after}


def _following(job: Job) -> Iterator[Job]:
    """Every row that one call can make of a row, at the moments that make a difference."""
    latest = TIMES.latest_start(job.deadline)
    for now in (0, latest, latest + 1, job.deadline):
        changed = [
            transitions.claim(job, now, TIMES),
            transitions.cancel(job, now, TIMES),
            transitions.expire(job, now, TIMES),
        ]
        for attempt in range(1, job.attempts + 1):
            output = Output("key", "version", "etag", 1, "text/plain", attempt, in_table=True)
            changed += [
                transitions.succeed(job, output, now, TIMES),
                transitions.give_back(job, attempt, now, TIMES),
                transitions.fail_attempt(job, attempt, "code", now, TIMES),
                transitions.fail_attempt(job, attempt, "code", now, TIMES, refused=True),
            ]
        # Without what no transition between states looks at, so that the rows are few.
        for each in filter(None, changed):
            yield replace(each, due_at=0, expires_at=0, ended_at=0, output=None, error_attempt=0)
