"""A seeded simulation in virtual time: the shipped handlers, run on an AWS in memory that fails in every way it can.

`make chaos` runs it at length, `make test` a little of it (tests/chaos). Where to begin reading:

- `trial` says what one trial is made of, `world` lets it happen: a `deployment` with its `callers` and its `faults`.
- `scheduler` is time itself. Every call that a handler makes of AWS takes some, and is where it may fail, die, or be
  overtaken: handlers run as tasks that take turns, one at a time, in an order that the seed decides.
- `aws/` holds the services, with a method for each operation; `aws/client` stands before them as botocore's does.
  `functions`, `event_source` and `gateway` are what calls the handlers; `model` is what answers the prompts.
- `history` is what is left of a trial, `invariants/` what has to hold of it, `scorecard` the sum over many trials.
- `story` tells the life of one job, for whoever has to find out why a promise was broken.
"""
