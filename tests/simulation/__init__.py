"""The shipped job handlers on an AWS in memory: random trials in virtual time, and an exploration of every order.

The services are our own, not moto's: moto has no virtual time, index lag or lost answers, and is too slow for the
hundreds of thousands of calls of a trial.

- `trial` has the settings of one trial; `world` runs it: a `deployment` with its `callers` and `faults`.
- `scheduler` is virtual time: handlers run as tasks, in an order that follows from the seed. Each call to AWS takes
  time and may fail, or end its function.
- `aws/` holds the services, with a method for each operation that handlers call; `aws/client` is botocore's client.
  `functions`, `event_source` and `gateway` call the handlers; `model` answers prompts. `machines` are what runs on
  instances of EC2: a boot, systemd, and the shipped worker.
- `exploration/` runs the same handlers on the same table and bucket, in every order of their calls.
- `invariants/`: `changes` checks every step of trials and exploration, the others check the `history` of a trial.
  `mutants` break each invariant.
- `scorecard` sums up many trials (`make chaos`); `story` prints the history of one job.
"""
