"""`python -m slipway local`: deploys on this machine, in the local cloud."""

from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from slipway.cli.arguments import FILE, PLAYGROUND_PORT, one_name, port
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    verb = add_verb(verbs, "local", "deploy on this machine, answer a request, stay until Ctrl-C", run, "gpt2")
    verb.add_argument("deployment", type=one_name, help=FILE)
    verb.add_argument("--port", type=port, default=4566, help="port on 127.0.0.1 (default 4566)")
    verb.add_argument("--playground-port", type=port, help=PLAYGROUND_PORT)
    verb.add_argument("--clock-speed", type=_speed, default=1, help="how many times as fast the cloud's clock runs")
    weights = "folder with a Hugging Face model that really answers; for deployments with hosting.mode: ec2"
    verb.add_argument("--weights", type=Path, metavar="PATH", help=weights)


def run(given: Namespace) -> int:
    """Run the verb. Returns the exit status."""
    from slipway.local import session

    return session.run(given.deployment, given.port, given.clock_speed, given.weights, given.playground_port)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0
    if not 1 <= speed <= 1000:
        raise ArgumentTypeError(f"{text!r} is not a speed; use 1 to 1000")
    return speed
