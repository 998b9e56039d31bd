"""One change each to the source of the shipped transitions."""

from life_cycle.mutants import ASYNC, QUEUE, REFUSED, STUCK, UNTOLD, Mutant

BUSY = "I8: the slot of a cancelled job is free while the model works on it"
RESTLESS = "an ended job is looked at exactly as long"


def changed(mode: str, name: str, told: str, old: str, new: str) -> Mutant:
    """`new` stands in place of `old`."""
    return Mutant(mode, name, told, ((old, new),))


OF_CLAIMS = [
    changed(
        ASYNC,
        "claims have no end",
        "more than three attempts",
        "is_open or job.attempts >= MAX_ATTEMPTS or",
        "is_open or",
    ),
    changed(
        ASYNC,
        "claims come too late",
        "I4: an attempt is claimed",
        "job.refused or now > policy.latest_start(job):\n        return None",
        "job.refused:\n        return None",
    ),
    changed(ASYNC, "the lease binds nobody", REFUSED, "(now < job.lease_until or job.marked ==", "(job.marked =="),
    changed(
        ASYNC,
        "confirmed attempts are lost",
        "I9: another attempt",
        "(now < job.lease_until or job.marked == job.attempts)",
        "now < job.lease_until",
    ),
    changed(ASYNC, "an older attempt bars the next", STUCK, " and not newest_has_ended and", " and"),
]
OF_ATTEMPTS = [
    changed(
        ASYNC,
        "what is given back concludes nothing",
        REFUSED,
        "return _conclude(_settle(replace(job, attempts=attempt - 1, lease_until=0), now), now, policy)",
        "return _settle(replace(job, attempts=attempt - 1, lease_until=0), now)",
    ),
    changed(ASYNC, "refusals are forgotten", REFUSED, "refused=job.refused or refused", "refused=refused"),
    changed(ASYNC, "refusals conclude nothing", REFUSED, "if job.refused or job.attempts >=", "if job.attempts >="),
    changed(
        ASYNC,
        "the job fails while an attempt runs",
        "I4: FAILED although an output can still come",
        "not job.is_open or job.may_be_running or not",
        "not job.is_open or not",
    ),
    changed(ASYNC, "the job fails early", STUCK, ">= MAX_ATTEMPTS or now >", ">= MAX_ATTEMPTS - 1 or now >"),
]
OF_ENDS = [
    changed(
        ASYNC,
        "outputs change the end",
        "I2: CANCELLED was not final",
        "    if job.is_open:\n        return replace(_ended(job, SUCCEEDED",
        "    if True:\n        return replace(_ended(job, SUCCEEDED",
    ),
    changed(
        ASYNC,
        "cancelling changes the end",
        "I2: SUCCEEDED was not final",
        'so the slot stays taken."""\n    if not job.is_open:',
        'so the slot stays taken."""\n    if False:',
    ),
    changed(ASYNC, "success keeps the slot", "I8: an ended", "output=output, holds_slot=False)", "output=output)"),
    changed(ASYNC, "cancelling frees the slot", BUSY, "holds_slot=job.may_be_running)", "holds_slot=False)"),
    changed(ASYNC, "cancelling keeps the slot", "I8: a slot is kept", ", holds_slot=job.may_be_running)", ")"),
    changed(ASYNC, "any end frees the slot", BUSY, "return job if job.may_be_running else _rest(", "return _rest("),
    changed(ASYNC, "errors expire", "an error that is known", "FAILED if job.error_code else EXPIRED", "EXPIRED"),
    changed(
        ASYNC,
        "the deadline frees no slot",
        UNTOLD,
        "_rest(replace(job, holds_slot=False)) if job.holds_slot else None",
        "None",
    ),
    changed(ASYNC, "rest with a slot", RESTLESS, "job.announced and not job.holds_slot else", "job.announced else"),
    changed(
        ASYNC,
        "rest before it is told",
        RESTLESS,
        "job.announced and not job.holds_slot else",
        "not job.holds_slot else",
    ),
    changed(ASYNC, "cancelled rows go early", "I5: the row", "job.deadline if state == CANCELLED else now", "now"),
]
OF_QUEUES = [
    changed(QUEUE, "lost messages stay noted", STUCK, "return replace(job, sent=False) if", "return None if"),
    changed(
        QUEUE,
        "sweeper does not look at the lease",  # nor does anybody else
        BUSY,
        "if attempt != job.attempts or looked_at < job.lease_until:",
        "if attempt != job.attempts:",
    ),
]
DYING_TRANSITIONS = OF_QUEUES + OF_CLAIMS + OF_ATTEMPTS + OF_ENDS

COVERED_TRANSITIONS = [
    changed(
        ASYNC,
        "refused jobs are claimed again",
        "a claim after a refusal brings what it may: the job still ends once",
        "MAX_ATTEMPTS or job.refused or now >",
        "MAX_ATTEMPTS or now >",
    ),
    changed(
        ASYNC,
        "the last failure concludes nothing",
        "the deadline fails a job with a known error",
        "job.refused or job.attempts >= MAX_ATTEMPTS or now > policy.latest_start(job):\n        return replace",
        "job.refused:\n        return replace",
    ),
    changed(
        ASYNC,
        "leases outlive what is given back",
        "leases run out",
        "attempts=attempt - 1, lease_until=0",
        "attempts=attempt - 1",
    ),
    changed(
        ASYNC,
        "jobs expire at any time",
        "the sweeper asks only after the deadline",
        "    if now < job.deadline:\n        return None",
        "    if False:\n        return None",
    ),
    changed(
        ASYNC,
        "ended jobs are claimed",
        "the sweeper tends open jobs only, as it has read them",
        "if not job.is_open or job.attempts >=",
        "if job.attempts >=",
    ),
    changed(
        ASYNC,
        "attempts end that were not claimed",
        "notifications of unclaimed attempts are dropped",
        "not 1 <= attempt <= job.attempts or not",
        "not",
    ),
    changed(
        QUEUE,
        "lost attempts are not judged on the row",
        "the sweeper looks at the lease of the row that it has read, and an attempt ends once",
        "if attempt != job.attempts or looked_at < job.lease_until:",
        "if False:",
    ),
    changed(
        QUEUE,
        "retries count as sent",
        "the sweeper counts the queue's messages",
        "replace(job, state=ACCEPTED, sent=False)",
        "replace(job, state=ACCEPTED)",
    ),
]
