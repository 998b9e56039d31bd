"""`slipway local`: deploys on this machine, in the local cloud."""

from argparse import ArgumentTypeError, Namespace

from local_cloud.real_model import DEFAULT_MODEL
from slipway.cli.arguments import FILE, PLAYGROUND_PORT, port, several_names
from slipway.cli.parser import Verbs, add_verb


def add(verbs: Verbs) -> None:
    verb = add_verb(verbs, "local", "deploy on this machine, answer a request, stay until Ctrl-C", run, "gpt2")
    verb.add_argument("deployments", type=several_names, metavar="deployment", help=f"{FILE}; several: a,b")
    verb.add_argument("--port", type=port, default=4566, help="port on 127.0.0.1 (default 4566)")
    verb.add_argument("--playground-port", type=port, help=PLAYGROUND_PORT)
    speed = "run the cloud's clock this many times as fast, 1 to 1000 (default 1)"
    verb.add_argument("--clock-speed", type=_speed, default=1, metavar="N", help=speed)
    real = f"let a real model answer: a folder, or an id on the Hub (default {DEFAULT_MODEL})"
    verb.add_argument("--real", nargs="?", const=DEFAULT_MODEL, metavar="MODEL", help=real)


def run(given: Namespace) -> int:
    from slipway.local import session

    return session.run(given.deployments, given.port, given.clock_speed, given.real, given.playground_port)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0
    if not 1 <= speed <= 1000:
        raise ArgumentTypeError(f"{text!r} must be a number from 1 to 1000")
    return speed
