"""The shipped job handlers on an AWS in memory: random trials in virtual time, and an exploration of every order.

The services are our own and not moto's: moto has no virtual time, index lag or lost answers, and takes milliseconds a
call, where a trial makes hundreds of thousands of calls.

- `trial` has the settings of one trial, `world` runs it: a `deployment` with its `callers` and its `faults`.
- `scheduler` is virtual time. Each call to AWS takes some, and may fail, or its function may die there: handlers run as
  tasks that take turns in an order that the seed decides.
- `aws/` holds the services, with a method for each operation that the handlers call; `aws/client` stands before them as
  botocore's does. `functions`, `event_source` and `gateway` call the handlers; `model` answers the prompts.
- `exploration/` runs the same handlers on the same table and bucket, in every order in which their calls can come.
- `invariants/` holds what must be true: `changes` of every single step, in trials and exploration; the rest of the
  `history` of a trial. `planted_faults` and `mutants` break each of them once.
- `scorecard` sums up many trials (`make chaos`); `story` tells the life of one job in a trial.
"""
