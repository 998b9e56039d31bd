"""Of jobs."""

from rule_cases import ASYNC, Broken, Kept

LONGEST = 21_600 + 900 + 360  # SageMaker's queue, one attempt, and the margin

BROKEN = [
    Broken(
        "jobs-have-owners",
        "error",
        "jobs.enabled",
        {"api": {"auth": "none"}},
        "true is refused with api.auth: none, which cannot tell whose a job is; use false, or api.auth: iam",
    ),
    Broken(
        "async-needs-jobs",
        "error",
        "jobs.enabled",
        {"hosting": ASYNC, "jobs": {"enabled": False}},
        "use true, or mode: realtime",
    ),
    Broken(
        "deadline-leaves-time",
        "error",
        "jobs.deadline_in_seconds",
        {"hosting": {"mode": "async"}, "jobs": {"deadline_in_seconds": 1259}},
        "1259 leaves no time for an attempt of 900 s; use 1260 or more",
    ),
    Broken(
        "deadline-outlasts-no-queue",
        "error",
        "jobs.deadline_in_seconds",
        {"hosting": ASYNC, "jobs": {"deadline_in_seconds": LONGEST + 1}},
        f"use {LONGEST} or less, or hosting.mode: realtime",
    ),
    Broken(
        "deadline-outlasts-start",
        "warning",
        "jobs.deadline_in_seconds",
        {"hosting": ASYNC, "jobs": {"deadline_in_seconds": 3059}},
        "is given 1800 s; use 3060 or more",
    ),
    Broken(
        "timeout-needs-async",
        "error",
        "jobs.invocation_timeout_in_seconds",
        {"jobs": {"invocation_timeout_in_seconds": 61}},
        "SageMaker ends each call after 60 s; remove it, or use mode: async",
    ),
    Broken(
        "workers-need-realtime",
        "error",
        "jobs.max_concurrency",
        {"hosting": ASYNC, "jobs": {"max_concurrency": 2}},
        "use hosting.scaling.concurrent_requests_per_instance",
    ),
    Broken(
        "protection-needs-retain",
        "error",
        "jobs.on_destroy",
        {"jobs": {"on_destroy": "delete", "deletion_protection": True}},
        "change one of them",
    ),
    Broken(
        "settings-need-jobs",
        "warning",
        "jobs.max_waiting",
        {"jobs": {"enabled": False, "max_waiting": 5}},
        "has no effect with jobs.enabled: false; remove it",
    ),
    Broken(
        "latency-needs-realtime",
        "warning",
        "alarms.latency_in_seconds",
        {"hosting": ASYNC, "alarms": {"latency_in_seconds": 50}},
        "has no effect with hosting.mode: async",
    ),
]

KEPT = [
    Kept("jobs-have-owners", {"api": {"auth": "none"}, "jobs": {"enabled": False}}),
    Kept("async-needs-jobs", {"hosting": ASYNC}),
    Kept("deadline-leaves-time", {"hosting": {"mode": "async"}, "jobs": {"deadline_in_seconds": 1260}}),
    Kept("deadline-outlasts-no-queue", {"hosting": ASYNC, "jobs": {"deadline_in_seconds": LONGEST}}),
    Kept("deadline-outlasts-start", {"hosting": ASYNC, "jobs": {"deadline_in_seconds": 3060}}),
    Kept("timeout-needs-async", {"hosting": ASYNC, "jobs": {"invocation_timeout_in_seconds": 61}}),
    Kept("workers-need-realtime", {"jobs": {"max_concurrency": 2}}),
    Kept("protection-needs-retain", {"jobs": {"deletion_protection": True}}),
    Kept("settings-need-jobs", {"jobs": {"max_waiting": 5}}),
    Kept("latency-needs-realtime", {"alarms": {"latency_in_seconds": 50}}),
]
